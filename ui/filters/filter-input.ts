/** How the box looks and what it is called, before its list is there and afterwards. `/` goes to what is `data-filter`. */
export const FILTER_INPUT = {
  "data-filter": true,
  "aria-label": "Add a filter",
  placeholder: "Filter, or a request id…",
  className:
    "h-8 w-full rounded-control border border-line-strong bg-surface pr-8 pl-8 text-sm text-ink placeholder:text-ink-faint",
} as const;

/** What stands in the box, and what of it is marked: from `start` up to `end`, which is where one types. */
export interface Typed {
  readonly text: string;
  readonly start: number;
  readonly end: number;
}

/** How the box looks and what it is called, before its list is there and afterwards. `/` goes to what is `data-filter`. */
export const FILTER_INPUT = {
  "data-filter": true,
  "aria-label": "Add a filter",
  placeholder: "Filter…",
  className:
    "h-8 w-full rounded-control border border-line-strong bg-surface pr-8 pl-8 text-sm text-ink placeholder:text-ink-faint",
} as const;

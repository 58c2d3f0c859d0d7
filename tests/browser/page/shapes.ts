/** What the functions in the page answer; this file alone is read on both sides, so it knows nothing of the DOM. */
export interface InPage {
  /** Fulfilled when what is under way in the page (reports, observers, layout) has been delivered. */
  settle(): Promise<void>;
  /** Waits until every animation and transition that has an end has come to it. */
  stillness(): Promise<void>;
  findOverflow(): Overflow;
  readVitals(): Vitals;
  /** Begins a walk by Tab: remembers what must be reached, in the whole page or inside the selector. */
  beginTabWalk(within: string | null): void;
  /** Judges where the focus is now, and how the stop before it looks without. */
  stepTabWalk(): Promise<TabStep>;
  /** Elements that Tab has not reached. */
  endTabWalk(): readonly string[];
}

/** A main-world global of every page that a visitor opens. */
export const IN_PAGE_NAME = "__lockportHarness";
/** The function by which the page tells of policy violations. */
export const REPORT_NAME = "__lockportReport";

export interface Overflow {
  readonly viewportWidthPx: number;
  readonly contentWidthPx: number;
  /** The distance that the page could be scrolled sideways. */
  readonly scrolledPx: number;
  /** The innermost elements that reach beyond the viewport without a box around them that scrolls or cuts. */
  readonly elements: readonly string[];
}

export interface Vitals {
  /** Largest session window of layout shifts that no input caused. */
  readonly cls: number;
  readonly shifts: readonly LayoutShift[];
  /** Null: nothing was painted yet. */
  readonly lcpMs: number | null;
  readonly longTasks: readonly LongTask[];
}

export interface LayoutShift {
  readonly value: number;
  readonly atMs: number;
  readonly elements: readonly string[];
}

export interface LongTask {
  readonly atMs: number;
  readonly durationMs: number;
}

export interface TabStep {
  /** Null: nothing has the focus. */
  readonly stop: string | null;
  readonly isFirst: boolean;
  /** It had the focus before in this walk. */
  readonly isKnown: boolean;
  readonly problems: readonly string[];
}

/** The surface of a list that opens below a control. */
export const POPUP_CLASS =
  "min-w-(--anchor-width) max-w-(--available-width) rounded-card border border-line bg-raised text-sm text-ink shadow-raised outline-hidden transition-opacity duration-100 data-ending-style:opacity-0 data-starting-style:opacity-0";

/** A line of such a list. */
export const OPTION_CLASS =
  "flex min-h-8 cursor-default items-center gap-2 rounded-control px-2 py-1 outline-hidden select-none data-disabled:text-ink-faint data-highlighted:bg-hover";

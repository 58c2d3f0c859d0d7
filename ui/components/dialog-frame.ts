/** Dims the page behind a modal surface. */
export const BACKDROP_CLASS =
  "fixed inset-0 z-30 bg-backdrop transition-opacity duration-150 data-ending-style:opacity-0 data-starting-style:opacity-0";

/** Holds a dialog in the middle, and scrolls when it is taller than the window. */
export const VIEWPORT_CLASS = "fixed inset-0 z-30 flex overflow-y-auto p-3 sm:p-6";

/** The surface of a dialog. */
export const DIALOG_CLASS =
  "relative m-auto flex w-full min-w-0 flex-col rounded-card border border-line bg-raised text-sm text-ink shadow-raised outline-hidden transition-[opacity,scale] duration-150 data-ending-style:scale-98 data-ending-style:opacity-0 data-starting-style:scale-98 data-starting-style:opacity-0";

/** The row of buttons at its end. */
export const FOOTER_CLASS = "flex flex-wrap items-center justify-end gap-2 border-t border-line px-5 py-3";

/** The button at its corner. */
export const CLOSE_CLASS =
  "flex size-8 shrink-0 items-center justify-center rounded-control text-ink-soft hover:bg-hover hover:text-ink focus-visible:outline-offset-0";

/**
 * Gives the focus of a surface that closes to `target`, by hand: left to itself, a dialog goes on from what cannot be reached by
 * Tab, such as the page, to what is first in it. A reader who has gone on by keys meanwhile stays where they are. True leaves
 * it to the surface.
 */
export function giveFocusBack(target: HTMLElement | null): boolean {
  if (hasGoneOn()) return false;
  target?.focus({ preventScroll: true });
  return target === null;
}

function hasGoneOn(): boolean {
  const { activeElement } = document;
  return (
    activeElement?.closest("body, [role=dialog], [role=alertdialog]") === document.body &&
    activeElement !== document.body
  );
}

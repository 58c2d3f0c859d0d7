import { useEffect, useEffectEvent } from "react";

/** What keeps its keys to itself while it is open. What is on its way out is not; a surface beside the page is not either. */
const POPUPS =
  ":is([role=dialog]:not([aria-modal=false]),[role=alertdialog],[role=menu],[role=listbox]):not([data-closed])";
const FIELDS = "input, textarea, select, [role=combobox], [contenteditable=true]";

/**
 * Calls `onKey` for each key that is pressed anywhere on the page, but not for those that are typed into a field, are meant for
 * an open popup, have a modifier or were taken already. The key is taken when `onKey` returns true.
 */
export function usePageKeys(onKey: (event: KeyboardEvent) => boolean): void {
  const take = useEffectEvent((event: KeyboardEvent) => {
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.target instanceof Element && event.target.closest(FIELDS) !== null) return;
    if (document.querySelector(POPUPS) === null && onKey(event)) event.preventDefault();
  });
  useEffect(() => {
    document.addEventListener("keydown", take);
    return () => document.removeEventListener("keydown", take);
  }, []);
}

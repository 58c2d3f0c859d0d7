import { useNavigate } from "@tanstack/react-router";
import { useEffect, useRef } from "react";
import type { NavigationItem } from "./navigation.tsx";

/** After `g`, how long the second key is waited for. */
const SEQUENCE_MS_MAX = 1_500;

/** Is on its way out: keys are meant for the page already. */
const CLOSED = "[data-closed]";
/** What keeps its keys to itself; a passing message is a dialog too, and is not modal. */
const OVERLAYS = `:is([role=dialog],[role=alertdialog]):not([aria-modal=false],${CLOSED})`;

export interface ShortcutDeeds {
  readonly onHelp: () => void;
  readonly onPalette: () => void;
}

/** The palette's keys as they are written here. */
export const PALETTE_KEY = /Mac|iPhone|iPad/.test(navigator.userAgent) ? "⌘K" : "Ctrl K";

/**
 * Keys that work on every page: ⌘K or Ctrl K opens the palette, `/` goes to the filter of the page (the element marked `data-filter`), `g` and a letter
 * open a page, `?` shows what there is. Typing in a field, and an open dialog, keep theirs.
 */
export function useShortcuts(pages: readonly NavigationItem[], { onHelp, onPalette }: ShortcutDeeds): void {
  const navigate = useNavigate();
  const startedAt = useRef(-Infinity);
  useEffect(() => {
    const onKeyDown = (event: KeyboardEvent) => {
      if (event.defaultPrevented || event.altKey) return;
      // Also from within a field, as everywhere; the browser's own search box gives way.
      if (isPaletteKey(event) && document.querySelector(OVERLAYS) === null) {
        event.preventDefault();
        onPalette();
      }
      if (event.ctrlKey || event.metaKey) return;
      if (isTyping(event.target) || document.querySelector(OVERLAYS) !== null) return;
      const inSequence = event.timeStamp - startedAt.current < SEQUENCE_MS_MAX;
      startedAt.current = -Infinity;
      if (inSequence) {
        const pressed = event.key.toLowerCase();
        const page = pages.find(({ key, formerKey }) => key === pressed || formerKey === pressed);
        if (page === undefined) return;
        event.preventDefault();
        void navigate({ to: page.to });
      } else if (event.key === "g") {
        event.preventDefault();
        startedAt.current = event.timeStamp;
      } else if (event.key === "?") {
        event.preventDefault();
        onHelp();
      } else if (event.key === "/") {
        const filter = document.querySelector("[data-filter]");
        if (!(filter instanceof HTMLElement)) return;
        event.preventDefault();
        filter.focus();
      }
    };
    document.addEventListener("keydown", onKeyDown);
    return () => document.removeEventListener("keydown", onKeyDown);
  }, [navigate, pages, onHelp, onPalette]);
}

interface Shortcut {
  /** Pressed one after the other. */
  readonly keys: readonly string[];
  readonly does: string;
}

export interface ShortcutGroup {
  readonly title: string;
  readonly shortcuts: readonly Shortcut[];
}

/** What works on every page; the shell adds the pages themselves. */
const SHORTCUTS = [
  {
    title: "On a page",
    shortcuts: [
      { keys: ["/"], does: "Focus the filter" },
      { keys: ["?"], does: "Show keyboard shortcuts" },
      { keys: ["Esc"], does: "Close the panel or dialog" },
    ],
  },
  {
    title: "In a table or a chart",
    shortcuts: [
      { keys: ["↑", "↓"], does: "Move between rows" },
      { keys: ["←", "→"], does: "Move along a chart" },
      { keys: ["Enter"], does: "Open the row, or narrow the window to the bar" },
      { keys: ["j", "k"], does: "Next and previous request, while one is open" },
    ],
  },
] as const satisfies readonly ShortcutGroup[];

/** What the help shows: the pages that this person has, then what works on each. */
export function toShortcutGroups(pages: readonly NavigationItem[]): readonly ShortcutGroup[] {
  const goTo = pages.map(({ key, label }) => ({ keys: ["g", key], does: label }));
  const search = { keys: [PALETTE_KEY], does: "Search pages, names and actions" };
  return [{ title: "Go to", shortcuts: [search, ...goTo] }, ...SHORTCUTS];
}

function isPaletteKey({ key, ctrlKey, metaKey, shiftKey }: KeyboardEvent): boolean {
  return key.toLowerCase() === "k" && ctrlKey !== metaKey && !shiftKey;
}

function isTyping(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement) || target.closest(CLOSED) !== null) return false;
  return (
    target.isContentEditable || target.matches("input, textarea, select, [role=combobox], [role=listbox]")
  );
}

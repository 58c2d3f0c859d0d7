import { useSyncExternalStore } from "react";

export const THEMES = ["system", "light", "dark"] as const;
export type Theme = (typeof THEMES)[number];

export const THEME_LABELS: { readonly [theme in Theme]: string } = {
  system: "System",
  light: "Light",
  dark: "Dark",
};
export const THEME_ICONS = { system: "system", light: "sun", dark: "moon" } as const;

/** The script that runs before the first paint reads it as well (`ui/theme-script.ts`). */
const STORAGE_KEY = "lockport.theme";
const CHANGED = "lockport:theme";

/** The chosen theme, and how to choose another; the choice stays in this browser. */
export function useTheme(): readonly [Theme, (theme: Theme) => void] {
  return [useSyncExternalStore(subscribe, readTheme), writeTheme];
}

function readTheme(): Theme {
  const stored = read();
  return THEMES.find((theme) => theme === stored) ?? "system";
}

function writeTheme(theme: Theme): void {
  const root = document.documentElement;
  if (theme === "system") delete root.dataset["theme"];
  else root.dataset["theme"] = theme;
  try {
    if (theme === "system") localStorage.removeItem(STORAGE_KEY);
    else localStorage.setItem(STORAGE_KEY, theme);
  } catch {
    // Storage may be forbidden: the theme then lasts as long as the page.
  }
  globalThis.dispatchEvent(new Event(CHANGED));
}

function read(): string | null {
  try {
    return localStorage.getItem(STORAGE_KEY) ?? document.documentElement.dataset["theme"] ?? null;
  } catch {
    return document.documentElement.dataset["theme"] ?? null;
  }
}

function subscribe(onChange: () => void): () => void {
  globalThis.addEventListener("storage", onChange);
  globalThis.addEventListener(CHANGED, onChange);
  return () => {
    globalThis.removeEventListener("storage", onChange);
    globalThis.removeEventListener(CHANGED, onChange);
  };
}

import { storedChoice } from "../text/stored-choice.ts";

export const THEMES = ["system", "light", "dark"] as const;
export type Theme = (typeof THEMES)[number];

export const THEME_LABELS: { readonly [theme in Theme]: string } = {
  system: "System",
  light: "Light",
  dark: "Dark",
};
export const THEME_ICONS = { system: "system", light: "sun", dark: "moon" } as const;

/** The script that runs before the first paint reads it as well (`ui/theme-script.ts`). */
const choice = storedChoice("lockport.theme");

/** The chosen theme, and how to choose another; the choice stays in this browser. */
export function useTheme(): readonly [Theme, (theme: Theme) => void] {
  const stored = choice.use();
  return [THEMES.find((theme) => theme === stored) ?? "system", writeTheme];
}

function writeTheme(theme: Theme): void {
  const root = document.documentElement;
  if (theme === "system") delete root.dataset["theme"];
  else root.dataset["theme"] = theme;
  choice.write(theme === "system" ? null : theme);
}

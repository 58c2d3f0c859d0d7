/** Runs before the first paint, built apart: the theme that was chosen in `ui/shell/theme.ts`. The system's is left to the style sheet. */
try {
  const theme = localStorage.getItem("lockport.theme");
  if (theme === "light" || theme === "dark") document.documentElement.dataset["theme"] = theme;
} catch {
  // Storage may be forbidden: the system's theme is shown.
}

/**
 * Runs before the first paint, built apart: the theme that was chosen in `ui/shell/theme.ts` (the system's is left to the style
 * sheet), and whether the address is that of the sign-in, which stands without the frame of `ui/index.html`.
 */
if (location.pathname === "/sign-in") document.documentElement.dataset["bare"] = "";
try {
  const theme = localStorage.getItem("lockport.theme");
  if (theme === "light" || theme === "dark") document.documentElement.dataset["theme"] = theme;
} catch {
  // Storage may be forbidden: the system's theme is shown.
}

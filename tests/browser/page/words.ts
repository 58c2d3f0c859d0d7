const NAME_LENGTH_MAX = 40;

/** An element as a person would call it: `button "Copy"`. */
export function describeElement(element: Element): string {
  const kind = element.getAttribute("role") ?? element.tagName.toLowerCase();
  const name =
    element.getAttribute("aria-label") ||
    element.textContent?.trim().replaceAll(/\s+/g, " ") ||
    element.getAttribute("placeholder") ||
    element.getAttribute("name");
  const called = name ? ` "${name.slice(0, NAME_LENGTH_MAX)}"` : "";
  const classes = typeof element.className === "string" ? element.className.trim().split(/\s+/) : [];
  const marks = [element.id && `#${element.id}`, ...classes.slice(0, 3).map((one) => one && `.${one}`)];
  return `${kind}${called}${called === "" ? marks.join("") : element.id && ` #${element.id}`}`;
}

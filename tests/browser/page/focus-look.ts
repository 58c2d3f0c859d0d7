/** How an element and what stands around it look: a ring may be drawn on a label, a wrapper or a neighbour. */
export type FocusLook = ReadonlyMap<Element, string>;

/** A colour that lets everything through. */
const CLEAR = /rgba\([^)]*, 0\)|\/ 0\)|^transparent$/;

/** How everything looks that is not there, as a link that shows itself with the focus alone. */
const UNSEEN = "unseen";

const ANCESTORS_MAX = 3;
const NEIGHBOURS_MAX = 12;
/** Beside outline and shadow, which need care. */
const PROPERTIES = [
  "border-top-color",
  "border-top-width",
  "border-bottom-color",
  "border-bottom-width",
  "background-color",
  "background-image",
  "color",
  "fill",
  "stroke",
  "stroke-width",
  "text-decoration-line",
  "text-decoration-color",
  "text-decoration-thickness",
  "opacity",
  "transform",
  "clip-path",
  "top",
  "left",
  "visibility",
  "display",
] as const;

export function readFocusLook(element: Element): FocusLook {
  return new Map(neighboursOf(element).map((one) => [one, toLook(one)]));
}

/**
 * Whether anything that can be seen looks other than it did in `focused`, now that the focus is at `next`. What `next`
 * is part of tells nothing: it may have changed for the sake of the new focus. What had the focus itself always tells, also
 * when the focus went on into it, as into a region that scrolls.
 */
export function hasFaded(focused: FocusLook, next: Element | null): boolean {
  const [owner] = focused.keys();
  for (const [element, look] of focused) {
    if (next !== null && element !== owner && (element.contains(next) || next.contains(element))) continue;
    if (!element.isConnected || (look !== UNSEEN && toLook(element) !== look)) return true;
  }
  return false;
}

/** It takes up room that is painted; a native control under its own drawing does not. */
export function isSeen(element: Element): boolean {
  const { width, height } = element.getBoundingClientRect();
  const { opacity, clipPath } = getComputedStyle(element);
  return width > 2 && height > 2 && Number(opacity) > 0.1 && clipPath !== "inset(50%)";
}

function neighboursOf(element: Element): readonly Element[] {
  const around = new Set<Element>([element]);
  if (element instanceof HTMLInputElement) for (const label of element.labels ?? []) around.add(label);
  for (const one of [...element.children].slice(0, NEIGHBOURS_MAX)) around.add(one);
  for (const one of [...(element.parentElement?.children ?? [])].slice(0, NEIGHBOURS_MAX)) around.add(one);
  let ancestor = element.parentElement;
  for (let level = 0; level < ANCESTORS_MAX && ancestor !== null && ancestor !== document.body; level += 1) {
    around.add(ancestor);
    ancestor = ancestor.parentElement;
  }
  return [...around];
}

function toLook(element: Element): string {
  if (!isSeen(element)) return UNSEEN;
  return [null, "::before", "::after"]
    .map((pseudo) => {
      const style = getComputedStyle(element, pseudo);
      if (pseudo !== null && style.content === "none") return "";
      const look = PROPERTIES.map((name) => style.getPropertyValue(name));
      return [toOutline(style), toShadows(style), ...look].join(" ");
    })
    .join(" | ");
}

/** An outline that is not drawn has a width, and one that nobody sees a style: that is how rings are taken away. */
function toOutline({ outlineStyle, outlineWidth, outlineColor, outlineOffset }: CSSStyleDeclaration): string {
  const isDrawn = outlineStyle !== "none" && Number.parseFloat(outlineWidth) > 0 && !CLEAR.test(outlineColor);
  return isDrawn ? [outlineStyle, outlineWidth, outlineColor, outlineOffset].join(" ") : "";
}

function toShadows({ boxShadow }: CSSStyleDeclaration): string {
  const shadows = boxShadow.split(/,(?![^(]*\))/).filter((shadow) => !CLEAR.test(shadow));
  return shadows.filter((shadow) => / -?(?!0px)[0-9.]+px/.test(shadow)).join(",");
}

import type { Overflow } from "./shapes.ts";
import { describeElement } from "./words.ts";

/** Rounding at other pixel ratios moves an edge by less than this. */
const SLACK_PX = 1;
const NAMED_MAX = 10;

/** What makes the page wider than its viewport, or is cut off at its edge where nobody can scroll to it. */
export function findOverflow(): Overflow {
  const root = document.documentElement;
  const viewportWidthPx = root.clientWidth;
  const outside = new Set([...document.body.querySelectorAll("*")].filter((one) => sticksOut(one)));
  const innermost = [...outside].filter((one) => ![...one.children].some((child) => outside.has(child)));
  return {
    viewportWidthPx,
    contentWidthPx: Math.max(root.scrollWidth, document.body.scrollWidth),
    scrolledPx: scrollSideways(),
    elements: innermost.slice(0, NAMED_MAX).map((one) => {
      const { left, right } = one.getBoundingClientRect();
      return `${describeElement(one)} from ${Math.round(left)} to ${Math.round(right)} px`;
    }),
  };
}

function scrollSideways(): number {
  const { scrollX, scrollY } = window;
  window.scrollTo({ left: 100_000, top: scrollY, behavior: "instant" });
  const scrolledPx = window.scrollX;
  window.scrollTo({ left: scrollX, top: scrollY, behavior: "instant" });
  return scrolledPx;
}

function sticksOut(element: Element): boolean {
  const { left, right, width, height } = element.getBoundingClientRect();
  // One pixel and less: text for screen readers alone.
  if (width <= 1 || height <= 1) return false;
  if (left >= -SLACK_PX && right <= document.documentElement.clientWidth + SLACK_PX) return false;
  if (element.parentElement?.closest("svg") || element.closest("[inert], [aria-hidden=true]")) return false;
  if (!element.checkVisibility({ opacityProperty: true, visibilityProperty: true })) return false;
  return !isHeld(element);
}

/** A box inside the viewport around it scrolls or cuts it. */
function isHeld(element: Element): boolean {
  for (let inner = element, box = toHolder(inner); box !== null; inner = box, box = toHolder(inner)) {
    const { left, right } = box.getBoundingClientRect();
    const fits = left >= -SLACK_PX && right <= document.documentElement.clientWidth + SLACK_PX;
    if (fits && getComputedStyle(box).overflowX !== "visible") return true;
  }
  return false;
}

/** The next box outwards that could cut this one off; the body does not count, where it would hide what is lost. */
function toHolder(element: Element): Element | null {
  const { position } = getComputedStyle(element);
  if (position === "fixed") return null;
  const box =
    position === "absolute" && element instanceof HTMLElement ? element.offsetParent : element.parentElement;
  return box === null || box === document.body || box === document.documentElement ? null : box;
}

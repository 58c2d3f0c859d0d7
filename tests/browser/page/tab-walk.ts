import { hasFaded, isSeen, readFocusLook, type FocusLook } from "./focus-look.ts";
import type { TabStep } from "./shapes.ts";
import { finishTransitions } from "./stillness.ts";
import { describeElement } from "./words.ts";

const FOCUSABLE =
  "a[href], area[href], button, input, select, textarea, summary, iframe, audio[controls], video[controls], [contenteditable], [tabindex]";
/** A dialog's own stops, which send the focus on. */
const GUARD = "[data-base-ui-focus-guard], [data-floating-ui-focus-guard]";

interface Walk {
  readonly within: Element | null;
  readonly wanted: readonly Element[];
  readonly seen: Element[];
  previous: { readonly element: Element; readonly look: FocusLook } | null;
}

let walk: Walk = { within: null, wanted: [], seen: [], previous: null };

export function beginTabWalk(selector: string | null): void {
  const within = selector === null ? null : document.querySelector(selector);
  if (selector !== null && within === null) throw new Error(`nothing matches ${selector}`);
  const wanted = [...(within ?? document).querySelectorAll<HTMLElement>(FOCUSABLE)].filter(isTabbable);
  walk = { within, wanted, seen: [], previous: null };
}

export async function stepTabWalk(): Promise<TabStep> {
  // The browser scrolls the new stop into view with the next frame.
  await new Promise((resolve) => requestAnimationFrame(resolve));
  finishTransitions();
  const problems: string[] = [];
  const element = findFocus();
  const { previous, within, seen } = walk;
  if (previous !== null && previous.element !== element && !hasFaded(previous.look, element)) {
    problems.push(`${describeElement(previous.element)} looks the same with the focus and without it`);
  }
  walk.previous = element === null ? null : { element, look: readFocusLook(element) };
  if (element === null) return { stop: null, isFirst: false, isKnown: false, problems };

  const stop = describeElement(element);
  if (within !== null && !within.contains(element))
    problems.push(`the focus went out of ${describeElement(within)}, to ${stop}`);
  if (!isInSight(element)) problems.push(`${stop} has the focus where nobody can see it`);
  const isKnown = seen.includes(element);
  const isFirst = seen[0] === element;
  if (!isKnown) seen.push(element);
  return { stop, isFirst, isKnown, problems };
}

export function endTabWalk(): readonly string[] {
  const isReached = (element: Element) =>
    walk.seen.includes(element) || !element.isConnected || isRadioOfReachedGroup(element);
  return walk.wanted.filter((element) => !isReached(element)).map(describeElement);
}

function findFocus(): Element | null {
  let active = document.activeElement;
  while (active?.shadowRoot?.activeElement) active = active.shadowRoot.activeElement;
  return active === null || active === document.body || active === document.documentElement ? null : active;
}

function isTabbable(element: HTMLElement): boolean {
  if (element.tabIndex < 0 || element.matches(":disabled") || element.matches(GUARD)) return false;
  if (element.closest("[inert]") !== null) return false;
  // An element whose details are closed, or whose box is none, is not visible either.
  return element.checkVisibility({ visibilityProperty: true });
}

/** Tab enters a group of radio buttons once; the arrow keys go round in it. */
function isRadioOfReachedGroup(element: Element): boolean {
  if (!(element instanceof HTMLInputElement) || element.type !== "radio") return false;
  const isMate = (other: Element) =>
    other instanceof HTMLInputElement &&
    other.type === "radio" &&
    other.name === element.name &&
    other.form === element.form;
  return element.name !== "" && walk.seen.some(isMate);
}

/** At least one point of it, or of what is drawn in its place, lies in the viewport with nothing above it. */
function isInSight(element: Element): boolean {
  const labels = element instanceof HTMLInputElement ? [...(element.labels ?? [])] : [];
  const standIns = [...labels, ...(element.parentElement === null ? [] : [element.parentElement])];
  return (isSeen(element) ? [element] : standIns).some((one) =>
    [...one.getClientRects()].some((box) => isUncovered(one, box)),
  );
}

function isUncovered(element: Element, box: DOMRect): boolean {
  const [insetX, insetY] = [Math.min(4, box.width / 3), Math.min(4, box.height / 3)];
  const points: readonly (readonly [number, number])[] = [
    [box.left + box.width / 2, box.top + box.height / 2],
    [box.left + insetX, box.top + insetY],
    [box.right - insetX, box.bottom - insetY],
  ];
  return points.some(([x, y]) => {
    const hit = document.elementFromPoint(x, y);
    if (hit === null) return false;
    if (element.contains(hit) || hit.closest("label")?.control === element) return true;
    // What takes no pointer lets it through to what lies around it.
    return getComputedStyle(element).pointerEvents === "none" && hit.contains(element);
  });
}

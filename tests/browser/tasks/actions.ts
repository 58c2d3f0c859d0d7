import type { Page } from "playwright-core";

/** The function that the page calls for each action. */
const BINDING = "noteTaskAction";

/**
 * Counts what the browser itself is told: each press of a mouse or finger is one, and each press of a key, but for those that
 * only move on (Tab) or change another key. Text that is put into a field (`fill`) presses no key, and counts none.
 */
const LISTEN = `(() => {
  const silent = new Set(["Tab", "Shift", "Control", "Alt", "Meta"]);
  const nameOf = (target) =>
    target instanceof Element
      ? (target.closest("a,button,input,[role],label")?.getAttribute("aria-label") ?? target.textContent ?? target.tagName).trim().slice(0, 60)
      : "the page";
  addEventListener("pointerdown", (event) => event.isTrusted && window.${BINDING}("click " + nameOf(event.target)), true);
  addEventListener("keydown", (event) => event.isTrusted && !event.repeat && !silent.has(event.key) && window.${BINDING}("press " + event.key), true);
})()`;

const counted = new WeakMap<Page, string[]>();

/**
 * Does a task on a page that is open, and fails when it took more actions than a person may need for it. Returns them in
 * their order. A task without an action is none: then the count would hold whatever the page does.
 */
export async function doWithin(
  page: Page,
  actionsMax: number,
  task: () => Promise<void>,
): Promise<readonly string[]> {
  const actions = counted.get(page) ?? (await listen(page));
  actions.length = 0;
  await task();
  if (actions.length === 0) throw new Error("The task took no action: nothing was counted.");
  if (actions.length > actionsMax) {
    const list = actions.map((action, index) => `  ${index + 1}. ${action}`).join("\n");
    throw new Error(`The task took ${actions.length} actions, and may take ${actionsMax}:\n${list}`);
  }
  return [...actions];
}

async function listen(page: Page): Promise<string[]> {
  const actions: string[] = [];
  counted.set(page, actions);
  await page.exposeBinding(BINDING, (_, action: string) => void actions.push(action));
  // This document, and those that a reload brings.
  await page.addInitScript({ content: LISTEN });
  await page.evaluate(LISTEN);
  return actions;
}

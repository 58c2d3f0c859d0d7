import type { Page } from "playwright-core";

const COPIED_MS_MAX = 2000;

/**
 * What the action puts on the clipboard, read as a person would: pasted into a text field elsewhere. The action gets
 * a clipboard without anything of earlier tests on it. Throws when it copies nothing.
 */
export async function copiedBy(page: Page, action: () => Promise<unknown>): Promise<string> {
  const browser = page.context().browser();
  if (browser === null) throw new Error("the page's browser is gone");
  // A profile of its own: neither what the page may do nor what it is watched for plays a part.
  const context = await browser.newContext();
  try {
    const desk = await context.newPage();
    await desk.setContent("<textarea></textarea>");
    const field = desk.locator("textarea");
    const before = `nothing was copied ${Bun.randomUUIDv7()}`;
    await field.fill(before);
    await field.press("Control+A");
    await field.press("Control+C");
    await action();
    const deadline = performance.now() + COPIED_MS_MAX;
    for (;;) {
      await field.fill("");
      await field.press("Control+V");
      const text = await field.inputValue();
      if (text !== before && text !== "") return text;
      if (performance.now() > deadline) throw new Error("nothing was copied");
    }
  } finally {
    await context.close();
  }
}

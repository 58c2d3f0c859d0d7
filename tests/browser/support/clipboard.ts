import type { Browser, Page } from "playwright-core";

const COPIED_MS_MAX = 2000;

/**
 * What the action puts on the clipboard, read as a person would: pasted into a text field elsewhere. The action gets
 * a clipboard without anything of earlier tests on it. Throws when it copies nothing. A browser has one clipboard for all
 * its profiles, and each file of tests a browser of its own.
 */
export async function copiedBy(page: Page, action: () => Promise<unknown>): Promise<string> {
  const browser = page.context().browser();
  if (browser === null) throw new Error("the page's browser is gone");
  const field = (await openDesk(browser)).locator("textarea");
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
}

const desks = new WeakMap<Browser, Promise<Page>>();

/** The page for pasting has a profile of its own, out of reach of what the tested page may do and is watched for. It ends with the browser. */
function openDesk(browser: Browser): Promise<Page> {
  let desk = desks.get(browser);
  if (desk === undefined) {
    desk = browser.newContext().then(async (context) => {
      const page = await context.newPage();
      await page.setContent("<textarea></textarea>");
      return page;
    });
    desks.set(browser, desk);
  }
  return desk;
}

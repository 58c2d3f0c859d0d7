import { beforeEach, expect, test } from "bun:test";
import type { Locator, Page } from "playwright-core";
import { checkAccessibility } from "./support/axe.ts";
import { describeInBrowser, useBrowser } from "./support/browser.ts";
import { openAtRest } from "./support/rest.ts";
import { shoot } from "./support/screenshots.ts";
import type { Site } from "./support/site.ts";
import { inBothThemes } from "./support/themes.ts";
import type { Renewal } from "./support/visitor.ts";

const browser = useBrowser();

const FIRST_START = {};
let site: Site;
beforeEach(async () => {
  site = await browser.sharedSite(FIRST_START);
});

async function visit(path: string, options: Renewal = {}): Promise<Page> {
  const visitor = await browser.sharedVisitor(site, options);
  await openAtRest(visitor.page, path);
  return visitor.page;
}

/** The files of this name stay away until they are let go. */
async function holdBack(page: Page, part: string): Promise<() => void> {
  const arrival = Promise.withResolvers<void>();
  await page.route(`**/assets/${part}-*.js`, async (route) => {
    await arrival.promise;
    await route.continue();
  });
  return arrival.resolve;
}

const button = (page: Page, name: string | RegExp) => page.getByRole("button", { name }).first();
const busy = (target: Locator) => target.and(target.page().locator("[aria-busy=true]"));
const quiet = (target: Locator) => target.and(target.page().locator(":not([aria-busy])"));

/** What is pressed, the file that it waits for, and what it opens. */
const STAND_INS = [
  ["a menu of the bar", "menus", /^Theme:/, (page: Page) => page.getByRole("menu")],
  ["the account", "menus", /^Account:/, (page: Page) => page.getByRole("menu")],
  ["the window", "window-popover", /^Window:/, (page: Page) => page.getByRole("dialog", { name: "Window" })],
  [
    "the help",
    "overlays",
    /^Keyboard shortcuts/,
    (page: Page) => page.getByRole("dialog", { name: "Keyboard shortcuts" }),
  ],
] as const;

describeInBrowser("a button whose part is still on its way", () => {
  test.each(STAND_INS)("says that it waits, and moves nothing: %s", async (_, part, name, toOpened) => {
    const page = await visit("/errors");
    const letGo = await holdBack(page, part);
    const pressed = button(page, name);
    const before = await pressed.boundingBox();
    await pressed.click();
    await busy(pressed).waitFor();
    expect(await pressed.locator(".spinner").count()).toBe(1);
    expect(await pressed.boundingBox()).toEqual(before);
    await inBothThemes(page, async () => {
      await checkAccessibility(page);
      await shoot(page, `waiting-${part}`);
    });
    letGo();
    await toOpened(page).waitFor();
    expect(await page.locator("main [aria-busy=true], aside [aria-busy=true]").count()).toBe(0);
  });

  test("says so no longer once Esc was pressed, and opens nothing", async () => {
    const page = await visit("/errors");
    const letGo = await holdBack(page, "menus");
    const theme = button(page, /^Theme:/);
    await theme.press("Enter");
    await busy(theme).waitFor();
    await page.keyboard.press("Escape");
    await quiet(theme).waitFor();
    const [arrived] = await Promise.all([page.waitForResponse(/menus/), Promise.resolve(letGo())]);
    await arrived.finished();
    expect(await page.getByRole("menu").count()).toBe(0);
  });

  test("is the box of the filters, too, whose icon turns in its place", async () => {
    const page = await visit("/errors");
    const letGo = await holdBack(page, "filter-combobox");
    const box = page.getByRole("combobox", { name: "Add a filter" });
    const before = await box.boundingBox();
    await box.click();
    await busy(box).waitFor();
    expect(await box.boundingBox()).toEqual(before);
    await checkAccessibility(page);
    await shoot(page, "waiting-filter");
    letGo();
    await page.getByRole("listbox").waitFor();
    await quiet(box).waitFor();
  });

  test("is the menu of a small window", async () => {
    const page = await visit("/errors", { viewport: { width: 360, height: 740 } });
    const letGo = await holdBack(page, "overlays");
    const menu = button(page, "Open the menu");
    await menu.click();
    await busy(menu).waitFor();
    letGo();
    await page.getByRole("dialog", { name: "Menu" }).waitFor();
  });
});

describeInBrowser("a menu that is opened for the first time", () => {
  test.each([
    ["Enter", /System/],
    ["Space", /System/],
    ["ArrowDown", /System/],
    ["ArrowUp", /Dark/],
  ])(
    "by %s stands on its first line, or its last one by ArrowUp, as it does the second time",
    async (key, name) => {
      const page = await visit("/keys");
      const theme = button(page, /^Theme:/);
      const line = page.getByRole("menuitemradio", { name }).and(page.locator(":focus[data-highlighted]"));
      for (let opened = 0; opened < 2; opened += 1) {
        await theme.press(key);
        await line.waitFor();
        await page.keyboard.press("Escape");
        await page.getByRole("menu").waitFor({ state: "detached" });
        await theme.and(page.locator(":focus")).waitFor();
      }
    },
  );

  test("by the mouse stands on nothing that is not pointed at", async () => {
    const page = await visit("/keys");
    await button(page, /^Account:/).click();
    await page.getByRole("menu").waitFor();
    expect(await page.locator("[role=menuitem][data-highlighted]").count()).toBe(0);
  });
});

describeInBrowser("the box of the filters", () => {
  test("keeps the caret where it was in what was typed while its list was on the way", async () => {
    const page = await visit("/errors");
    const letGo = await holdBack(page, "filter-combobox");
    const box = page.getByRole("combobox", { name: "Add a filter" });
    await box.focus();
    await page.keyboard.type("upstr error");
    for (let left = 0; left < " error".length; left += 1) await page.keyboard.press("ArrowLeft");
    letGo();
    await page.getByRole("listbox").waitFor();
    await page.keyboard.type("eam");
    await page.getByRole("option", { name: "upstream error", exact: true }).waitFor();
    expect(await box.inputValue()).toBe("upstream error");
  });
});

describeInBrowser("the keys of a page", () => {
  test("work at once after Esc has closed a dialog, also from a field in it, and the focus stays where they lead", async () => {
    const page = await visit("/keys");
    // One press right after the other: the dialog is still on its way out.
    const pressAfterEsc = (keys: readonly string[]) =>
      page.evaluate(async (pressed) => {
        for (const key of ["Escape", ...pressed]) {
          const init = { key, bubbles: true, cancelable: true };
          document.activeElement?.dispatchEvent(new KeyboardEvent("keydown", init));
          await new Promise((resolve) => setTimeout(resolve));
        }
      }, keys);
    const dialog = page.getByRole("dialog", { name: "Create a key" });
    await page.getByRole("button", { name: "Create a key" }).click();
    await page.getByRole("textbox", { name: "Label" }).and(page.locator(":focus")).waitFor();
    await pressAfterEsc(["g", "r"]);
    await page.getByRole("heading", { level: 1, name: "Requests" }).waitFor();
    await dialog.waitFor({ state: "detached" });
    expect(await page.locator("#main:focus").count()).toBe(1);

    await page.keyboard.press("?");
    const help = page.getByRole("dialog", { name: "Keyboard shortcuts" });
    await help
      .locator(":focus")
      .or(help.and(page.locator(":focus")))
      .first()
      .waitFor();
    await pressAfterEsc(["/"]);
    await help.waitFor({ state: "detached" });
    await page.getByRole("combobox", { name: "Add a filter" }).and(page.locator(":focus")).waitFor();
  });
});

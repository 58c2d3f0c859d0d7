import { beforeEach, expect, test } from "bun:test";
import type { Page } from "playwright-core";
import { checkAccessibility } from "./support/axe.ts";
import { describeInBrowser, useBrowser } from "./support/browser.ts";
import { rest } from "./support/rest.ts";
import { signInAsAdmin } from "./support/sign-in.ts";
import type { Site } from "./support/site.ts";
import { waitForFocus, waitForValue } from "./support/waiting.ts";

const browser = useBrowser();

const FIRST_START = {};
let site: Site;
beforeEach(async () => {
  site = await browser.sharedSite(FIRST_START);
});

/** The steps of a new installation are a file of their own, which comes after the page. */
const STEPS = "**/assets/checklist-*.js";
/** The text that that file draws. */
const STEPS_TEXT = "Set up Lockport";
const MESSAGES = "**/assets/toast-region-*.js";
const THEME_MENU = "**/assets/menus-*.js";
const FILTER_LIST = "**/assets/filter-combobox-*.js";
const FACETS = "**/stats/requests/facets*";
const OVERLAYS = "**/assets/overlays-*.js";

/** What that address answers waits until it is let go. */
async function holdBack(page: Page, address: string): Promise<() => Promise<void>> {
  const arrival = Promise.withResolvers<void>();
  await page.route(address, async (route) => {
    await arrival.promise;
    await route.continue();
  });
  return async () => {
    const arrived = page.waitForResponse(address);
    arrival.resolve();
    await (await arrived).finished();
    await rest(page);
  };
}

describeInBrowser("a part of a page that cannot be loaded", () => {
  test("says so, leaves the page where it is, and comes when it is tried again", async () => {
    const visitor = await browser.sharedVisitor(site);
    const { page } = visitor;
    await page.route(STEPS, (route) => route.abort());
    let loads = 0;
    page.on("domcontentloaded", () => (loads += 1));
    visitor.expect(/^request: GET .*checklist.* failed/);
    visitor.expect(/^console: .*This part of the page could not be loaded/s);
    await page.goto("/");
    await page.getByRole("heading", { name: "This page could not be shown" }).waitFor();
    expect(await page.getByText(STEPS_TEXT).count()).toBe(0);
    expect(await page.getByRole("main").count()).toBe(1);
    await page.unroute(STEPS);
    await page.getByRole("button", { name: "Try again" }).click();
    await page.getByText(STEPS_TEXT).first().waitFor();
    await page.getByRole("heading", { level: 1, name: "Overview" }).waitFor();
    expect(loads).toBe(1);
  });
});

describeInBrowser("the place of messages", () => {
  test("that cannot be loaded takes nothing else with it, and a later message is shown", async () => {
    site = await browser.newSite();
    const visitor = await browser.newVisitor({ baseUrl: site.url });
    const { page } = visitor;
    await signInAsAdmin(visitor, site);
    await page.route(MESSAGES, (route) => route.abort());
    visitor.expect(/^request: GET .*toast-region.* failed/);
    visitor.expect(/^page error: .*This part of the page could not be loaded/s);
    await page.goto("/people");
    const add = async (name: string) => {
      await page.getByRole("button", { name: "Add person or service" }).click();
      await page.getByRole("textbox", { name: "Name" }).fill(name);
      await page.getByRole("button", { name: "Add", exact: true }).click();
    };
    await Promise.all([
      page.waitForEvent("requestfailed", (request) => request.url().includes("toast-region")),
      add("first.person"),
    ]);
    const panel = page.getByRole("dialog", { name: "first.person" });
    await panel.waitFor();
    expect(await page.getByText("first.person added").count()).toBe(0);
    await page.keyboard.press("Escape");
    await panel.waitFor({ state: "detached" });
    await page.getByRole("heading", { level: 1, name: "People & keys" }).waitFor();
    await page.unroute(MESSAGES);
    await add("second.person");
    await page.getByText("second.person added").waitFor();
  });
});

describeInBrowser("what opens from a button or a box", () => {
  test("that cannot be loaded says so and leaves the button the focus, and opens when it is tried again", async () => {
    const visitor = await browser.sharedVisitor(site);
    const { page } = visitor;
    visitor.expect(/^request: GET .*menus.* failed/);
    await page.goto("/keys");
    await page.route(THEME_MENU, (route) => route.abort());
    const button = page.getByRole("button", { name: "Theme: System" });
    await button.focus();
    await page.keyboard.press("Enter");
    const told = page.getByRole("alert").filter({ hasText: "This part of the page could not be loaded" });
    await told.waitFor();
    await waitForFocus(button);
    expect(await page.getByRole("menu").count()).toBe(0);
    await page.getByRole("heading", { level: 1, name: "My keys" }).waitFor();
    await page.unroute(THEME_MENU);
    await told.getByRole("button", { name: "Try again" }).click();
    await page.getByRole("menuitemradio", { name: "Dark" }).waitFor();
    await told.waitFor({ state: "detached" });
  });

  test("opens at the first press, closes at the next and by Esc, and the button has the focus again", async () => {
    const visitor = await browser.sharedVisitor(site);
    const { page } = visitor;
    await page.goto("/usage");
    const button = page.getByRole("button", { name: /^Window:/ });
    const popover = page.getByRole("dialog", { name: "Window" });
    await button.and(page.getByRole("button", { expanded: false })).waitFor();
    await button.click();
    await popover.waitFor();
    await button.and(page.getByRole("button", { expanded: true })).waitFor();
    await button.click();
    await popover.waitFor({ state: "detached" });
    await button.press("Enter");
    await popover.waitFor();
    await page.keyboard.press("Escape");
    await popover.waitFor({ state: "detached" });
    await waitForFocus(button);
  });

  test("keeps what is typed while its list is on the way, and the focus, and then offers the first match to Enter", async () => {
    const visitor = await browser.sharedVisitor(site);
    const { page } = visitor;
    const letGo = await holdBack(page, FILTER_LIST);
    await page.goto("/errors");
    const box = page.getByRole("combobox", { name: "Add a filter" });
    await box.waitFor();
    await page.keyboard.press("/");
    await page.keyboard.type("upstream e");
    await waitForValue(box, "upstream e");
    await letGo();
    await page.getByRole("option", { name: "upstream error" }).waitFor();
    await waitForValue(box, "upstream e");
    await waitForFocus(box);
    await page.keyboard.press("Enter");
    await page.waitForURL(/outcome=upstream_error/);
    await waitForValue(box, "");
  });

  test("keeps what is typed at the very moment when its list comes, behind what was typed before", async () => {
    const visitor = await browser.sharedVisitor(site);
    const { page } = visitor;
    const letGo = await holdBack(page, FILTER_LIST);
    await page.goto("/errors");
    const box = page.getByRole("combobox", { name: "Add a filter" });
    await box.waitFor();
    await page.keyboard.press("/");
    await page.keyboard.type("upstream");
    await box.evaluate((before) => {
      new MutationObserver((_, observer) => {
        const after = document.querySelector("input[data-filter]");
        if (after === before || !(after instanceof HTMLInputElement)) return;
        observer.disconnect();
        after.setRangeText(" e", after.value.length, after.value.length, "end");
        after.dispatchEvent(new InputEvent("input", { bubbles: true, inputType: "insertText" }));
      }).observe(document.body, { childList: true, subtree: true });
    });
    await letGo();
    await page.getByRole("option", { name: "upstream error" }).waitFor();
    await waitForValue(box, "upstream e");
  });

  test("offers nothing that is only guessed before it is known what there is, nor what nothing has: Enter adds no filter", async () => {
    const visitor = await browser.sharedVisitor(site);
    const { page } = visitor;
    const letGo = await holdBack(page, FACETS);
    await page.goto("/errors");
    await page.getByRole("combobox", { name: "Add a filter" }).waitFor();
    await page.keyboard.press("/");
    await page.keyboard.type("curl");
    await page.getByText("Loading suggestions…").waitFor();
    expect(await page.getByRole("option").count()).toBe(0);
    await page.keyboard.press("Enter");
    await letGo();
    await page.getByText("No match").waitFor();
    await page.keyboard.press("Enter");
    expect(new URL(page.url()).search).toBe("");
  });

  test("does not open once somebody has pressed Esc or gone on to something else, and opens at the next press", async () => {
    const visitor = await browser.sharedVisitor(site);
    const { page } = visitor;
    const letGo = await holdBack(page, THEME_MENU);
    await page.goto("/errors");
    const button = page.getByRole("button", { name: "Theme: System" });
    await button.press("Enter");
    await page.keyboard.press("Escape");
    await letGo();
    expect(await page.getByRole("menu").count()).toBe(0);
    await waitForFocus(button);
    await page.keyboard.press("Enter");
    await page.getByRole("menuitemradio", { name: "Dark" }).waitFor();
    await page.keyboard.press("Escape");

    const letListGo = await holdBack(page, FILTER_LIST);
    const box = page.getByRole("combobox", { name: "Add a filter" });
    await page.keyboard.press("/");
    await page.keyboard.type("upstream");
    await page.keyboard.press("Tab");
    await letListGo();
    expect(await page.getByRole("listbox").count()).toBe(0);
    await waitForValue(box, "upstream");
    await box.press("End");
    await page.keyboard.type(" e");
    await page.getByRole("option", { name: "upstream error" }).waitFor();
    await waitForValue(box, "upstream e");
  });

  test("that could not be loaded is told of until that is dismissed", async () => {
    const visitor = await browser.sharedVisitor(site);
    const { page } = visitor;
    visitor.expect(/^request: GET .*menus.* failed/);
    await page.goto("/keys");
    await page.route(THEME_MENU, (route) => route.abort());
    await page.getByRole("button", { name: "Theme: System" }).click();
    const told = page.getByRole("alert");
    await told.waitFor();
    await checkAccessibility(page);
    await told.getByRole("button", { name: "Dismiss" }).click();
    await told.waitFor({ state: "detached" });
    expect(await page.getByRole("menu").count()).toBe(0);
  });
});

describeInBrowser("the menu of a small window and the help for the keyboard", () => {
  test("that cannot be loaded say so where it is seen, and open at the next press", async () => {
    const visitor = await browser.sharedVisitor(site, { viewport: { width: 360, height: 740 } });
    const { page } = visitor;
    visitor.expect(/^request: GET .*overlays.* failed/);
    await page.goto("/keys");
    await page.route(OVERLAYS, (route) => route.abort());
    const opener = page.getByRole("button", { name: "Open the menu" });
    await opener.click();
    const told = page.getByRole("alert").filter({ hasText: "This part of the page could not be loaded" });
    await told.waitFor();
    expect(
      await told.evaluate((element) => element.getBoundingClientRect().bottom <= innerHeight),
    ).toBeTrue();
    await page.unroute(OVERLAYS);
    await opener.click();
    await page.getByRole("dialog", { name: "Menu" }).waitFor();
    await told.waitFor({ state: "detached" });
    await page.keyboard.press("Escape");
    await page.getByRole("dialog", { name: "Menu" }).waitFor({ state: "detached" });
    await page.keyboard.press("?");
    await page.getByRole("dialog", { name: "Keyboard shortcuts" }).waitFor();
  });
});

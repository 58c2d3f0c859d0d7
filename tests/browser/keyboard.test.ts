import { afterAll, beforeAll, beforeEach, expect, test } from "bun:test";
import type { Locator, Page } from "playwright-core";
import { startModelServer, type ModelServer } from "../../contrib/demo/model-server.ts";
import { checkAccessibility } from "./support/axe.ts";
import { describeInBrowser, useBrowser } from "./support/browser.ts";
import { copiedBy } from "./support/clipboard.ts";
import { openAtRest } from "./support/rest.ts";
import { runInShell } from "./support/shell.ts";
import { signInAsAdmin } from "./support/sign-in.ts";
import type { Site } from "./support/site.ts";
import { waitForFocus, waitForValue } from "./support/waiting.ts";

const browser = useBrowser();

let provider: ModelServer;
beforeAll(async () => {
  provider = await startModelServer({ port: 0 });
});
afterAll(() => provider.stop());

const TABS_MAX = 80;

const hasFocus = (target: Locator) => target.evaluate((element) => element === document.activeElement);

/** From where the focus is, by Tab alone. */
async function tabTo(page: Page, target: Locator): Promise<void> {
  await target.waitFor();
  for (let pressed = 0; !(await hasFocus(target)); pressed += 1) {
    if (pressed === TABS_MAX) throw new Error(`${TABS_MAX} times Tab, and never at ${target.toString()}`);
    await page.keyboard.press("Tab");
  }
}

async function press(page: Page, target: Locator, key = "Enter"): Promise<void> {
  await tabTo(page, target);
  await page.keyboard.press(key);
}

async function type(page: Page, target: Locator, text: string): Promise<void> {
  await tabTo(page, target);
  await page.keyboard.type(text);
}

const button = (page: Page, name: string | RegExp) =>
  page.getByRole("button", { name, exact: typeof name === "string" });
const field = (page: Page, name: string | RegExp) =>
  page.getByRole("textbox", { name, exact: typeof name === "string" });

describeInBrowser("the keyboard alone", () => {
  test("leads from the sign-in to the first request, and opens it", async () => {
    const site = await browser.newSite();
    const { page } = await browser.newVisitor({ baseUrl: site.url });
    await page.goto("/");
    await type(page, field(page, "Administrator password"), site.adminPassword);
    await page.keyboard.press("Enter");
    await press(page, page.getByRole("link", { name: "Start" }));
    await page.getByRole("heading", { level: 1, name: "Setup" }).waitFor();

    await press(page, button(page, /^Other/), "Space");
    await type(page, field(page, "Name"), "demo");
    await type(page, field(page, "Base URL"), provider.baseUrl);
    await page.keyboard.press("Enter");
    await waitForFocus(page.getByRole("heading", { name: "Models" }));
    await press(page, page.getByRole("checkbox", { name: "Add demo-model-1" }), "Space");
    const prices = button(page, "More prices of demo-model-1");
    await press(page, prices);
    await type(page, field(page, "Input tokens"), "2");
    await page.keyboard.press("Escape");
    await waitForFocus(prices);
    await waitForValue(field(page, /^Input price of demo-model-1/), "2");
    await press(page, button(page, "Add 1 model"));
    await waitForFocus(page.getByRole("heading", { name: "Key" }));
    await type(page, field(page, "Label"), "keys only");
    await page.keyboard.press("Enter");
    await field(page, "Key").waitFor();
    await waitForFocus(page.getByRole("heading", { name: "First request" }));
    const copy = button(page, /^Copy key/);
    await tabTo(page, copy);
    const key = await copiedBy(page, () => page.keyboard.press("Enter"));

    const answer = await runInShell(
      `curl -sS '${site.url}/v1/chat/completions' -H "authorization: Bearer $LOCKPORT_KEY" \
        -H 'content-type: application/json' -d '{"model":"demo-model-1","messages":[{"role":"user","content":"hi"}]}'`,
      { LOCKPORT_KEY: key },
    );
    expect(answer).toContain("Hello!");
    await page.getByText(/^Your first request: /).waitFor();
    await page.keyboard.press("g");
    await page.keyboard.press("r");
    await page.getByRole("heading", { level: 1, name: "Requests" }).waitFor();
    await page.keyboard.press("/");
    await waitForFocus(page.getByRole("combobox", { name: "Add a filter" }));
    await page.keyboard.type("demo-model");
    await page.getByRole("option").first().waitFor();
    await page.keyboard.press("Enter");
    await page.waitForURL(/model=demo-model-1/);
    await page.keyboard.press("Escape");
    await page.keyboard.press("Tab");
    const row = page.locator("[data-row-open='0']");
    await press(page, row);
    const panel = page.getByRole("dialog", { name: "demo-model-1" });
    await panel.getByText(/^Content is never stored/).waitFor();
    await page.keyboard.press("Escape");
    await panel.waitFor({ state: "detached" });
    await waitForFocus(row);
  });

  test("leaves a list of suggestions by Tab for something that can be seen and read", async () => {
    const site = await browser.newSite({ demo: { days: 3 } });
    const visitor = await browser.newVisitor({ baseUrl: site.url });
    await signInAsAdmin(visitor, site);
    const { page } = visitor;
    for (const [path, name] of [
      ["/requests", "Add a filter"],
      ["/playground", "Model"],
      ["/models", "Model"],
    ] as const) {
      await openAtRest(page, path);
      const combobox = page.getByRole("combobox", { name, exact: true });
      await combobox.focus();
      await page.keyboard.press("ArrowDown");
      await page.getByRole("listbox").waitFor();
      await page.keyboard.press("Tab");
      await page.getByRole("listbox").waitFor({ state: "detached" });
      await page.locator("main:not([aria-hidden=true]) :focus").waitFor();
      expect(await page.locator("[aria-hidden=true] :focus, [inert] :focus").count()).toBe(0);
      expect(
        await page.locator("main[aria-hidden=true], main [aria-hidden=true] [role=region]").count(),
      ).toBe(0);
    }
  });
});

/** Surfaces of a page: what opens them, and what then has the focus inside. */
const SURFACES: readonly (readonly [
  path: string,
  opener: (page: Page) => Locator,
  surface: (page: Page) => Locator,
])[] = [
  ["/", (page) => button(page, /^Window/), (page) => page.getByRole("dialog", { name: "Window" })],
  ["/", (page) => button(page, /^Theme:/), (page) => page.getByRole("menu")],
  ["/", (page) => button(page, /^Account:/), (page) => page.getByRole("menu")],
  [
    "/",
    (page) => button(page, "Keyboard shortcuts"),
    (page) => page.getByRole("dialog", { name: "Keyboard shortcuts" }),
  ],
  [
    "/models",
    (page) => button(page, "How to call smart"),
    (page) => page.getByRole("dialog", { name: "How to call smart" }),
  ],
  [
    "/keys",
    (page) => button(page, "Create a key"),
    (page) => page.getByRole("dialog", { name: "Create a key" }),
  ],
  ["/keys", (page) => page.getByRole("combobox", { name: "Client" }), (page) => page.getByRole("listbox")],
  [
    "/relay-tokens",
    (page) => button(page, "Create a relay token"),
    (page) => page.getByRole("dialog").first(),
  ],
  [
    "/providers",
    (page) => button(page, "Add provider"),
    (page) => page.getByRole("dialog", { name: "Add provider" }),
  ],
  [
    "/providers",
    (page) => page.getByRole("switch", { name: "openai enabled" }),
    (page) => page.getByRole("alertdialog"),
  ],
  [
    "/providers",
    (page) => button(page, "Settings of openai"),
    (page) => page.getByRole("dialog", { name: "openai" }),
  ],
  ["/models", (page) => button(page, "Add model"), (page) => page.getByRole("dialog", { name: "Add model" })],
  ["/models", (page) => button(page, "Change smart"), (page) => page.getByRole("dialog", { name: "smart" })],
  ["/people", (page) => button(page, "Add person or service"), (page) => page.getByRole("dialog").first()],
  [
    "/people",
    (page) => button(page, "Details of linus"),
    (page) => page.getByRole("dialog", { name: "linus" }),
  ],
  ["/limits", (page) => button(page, "New limit"), (page) => page.getByRole("dialog", { name: "New limit" })],
  [
    "/models/prices",
    (page) => button(page, "Load prices"),
    (page) => page.getByRole("dialog", { name: "Load prices" }),
  ],
  [
    "/models/repricing",
    (page) => button(page, "Re-price…").first(),
    (page) => page.getByRole("dialog", { name: "Re-price" }),
  ],
  [
    "/models/prices",
    (page) => button(page, /^Set price for/).first(),
    (page) => page.getByRole("dialog", { name: "Set price" }),
  ],
];

describeInBrowser("what opens above a page", () => {
  let filled: Site;
  beforeEach(async () => {
    filled = await browser.newSite({ demo: { days: 3 } });
  });

  test("by Enter takes the focus, keeps the page's keys out, closes by Esc and gives the focus back", async () => {
    const visitor = await browser.newVisitor({ baseUrl: filled.url });
    await signInAsAdmin(visitor, filled);
    const { page } = visitor;
    let at = "";
    for (const [path, toOpener, toSurface] of SURFACES) {
      if (path !== at) await openAtRest(page, path);
      at = path;
      const [opener, surface] = [toOpener(page), toSurface(page)];
      await opener.focus();
      await page.keyboard.press(
        path === "/providers" && (await opener.getAttribute("role")) === "switch" ? "Space" : "Enter",
      );
      await surface.waitFor();
      await surface
        .locator(":focus")
        .or(surface.and(page.locator(":focus")))
        .first()
        .waitFor();
      // No sequence of the page works behind it.
      if ((await surface.locator("input:focus, textarea:focus").count()) === 0) {
        await page.keyboard.press("g");
        await page.keyboard.press("u");
      }
      await page.keyboard.press("Escape");
      await surface.waitFor({ state: "detached" });
      await waitForFocus(opener);
      expect(new URL(page.url()).pathname).toBe(path);
    }
  });

  test("by its key is the help, which lists every page with the key that opens it", async () => {
    const visitor = await browser.newVisitor({ baseUrl: filled.url });
    await signInAsAdmin(visitor, filled);
    const { page } = visitor;
    await openAtRest(page, "/models");
    await page.keyboard.press("?");
    const help = page.getByRole("dialog", { name: "Keyboard shortcuts" });
    const text = (await help.innerText()).replaceAll(/\s+/g, " ");
    await page.keyboard.press("Escape");
    await help.waitFor({ state: "detached" });
    const links = page.getByRole("navigation", { name: "Pages" }).getByRole("link");
    for (const name of await links.allTextContents()) expect(text).toContain(name);
    // Those of administrators, which no other test opens this way.
    for (const [key, path] of [
      ["v", "/providers"],
      ["c", "/models"],
      ["h", "/people"],
      ["l", "/limits"],
      ["i", "/models/prices"],
      ["n", "/models/repricing"],
      ["t", "/relay-tokens"],
    ] as const) {
      await page.keyboard.press("g");
      await page.keyboard.press(key);
      await page.waitForURL((url) => url.pathname === path);
      await page.locator("#main:focus").waitFor();
    }
  });

  test("by Ctrl K is a palette, from a field as well, which finds pages, names and actions, and nothing beside an open dialog", async () => {
    const visitor = await browser.newVisitor({ baseUrl: filled.url });
    await signInAsAdmin(visitor, filled);
    const { page } = visitor;
    await openAtRest(page, "/requests");
    const palette = page.getByRole("dialog", { name: "Go to or do" });
    const choose = async (text: string, option: string) => {
      await page.keyboard.press("Control+k");
      await palette.waitFor();
      await page.keyboard.type(text);
      await palette.getByRole("option", { name: option }).and(page.locator("[data-highlighted]")).waitFor();
      await page.keyboard.press("Enter");
      await palette.waitFor({ state: "detached" });
    };
    await page.keyboard.press("/");
    await page.keyboard.press("Control+k");
    await palette.getByRole("option", { name: "People & keys" }).waitFor();
    await checkAccessibility(page);
    await page.keyboard.type("no such thing");
    await palette.getByText("No match").waitFor();
    await page.keyboard.press("Escape");
    await palette.waitFor({ state: "detached" });
    expect(new URL(page.url()).pathname).toBe("/requests");
    await choose("linus", "linus");
    await page.waitForURL(({ pathname, searchParams }) => pathname === "/people" && searchParams.has("open"));
    await page.getByRole("dialog", { name: "linus" }).waitFor();
    // A panel keeps its keys to itself.
    await page.keyboard.press("Control+k");
    expect(await palette.count()).toBe(0);
    await page.keyboard.press("Escape");
    await page.getByRole("dialog", { name: "linus" }).waitFor({ state: "detached" });
    await choose("failed req", "Failed requests of the last 24 hours");
    await page.waitForURL("**/requests?outcome=failed&range=24h");
    await page.locator("#main:focus").waitFor();
    await choose("Theme: Dark", "Theme: Dark");
    await page.locator("html[data-theme=dark]").waitFor();
    // And an address that no page has keeps the way to the others.
    await page.goto("/no/such/page");
    await page.getByRole("heading", { name: "Page not found" }).waitFor();
    await page.getByRole("navigation", { name: "Pages" }).getByRole("link", { name: "Requests" }).click();
    await page.waitForURL("**/requests");
  });

  test("by Ctrl K loses no letter that is typed before the next frame is drawn", async () => {
    const visitor = await browser.newVisitor({ baseUrl: filled.url });
    await signInAsAdmin(visitor, filled);
    const { page } = visitor;
    await openAtRest(page, "/keys");
    const palette = page.getByRole("dialog", { name: "Go to or do" });
    await page.evaluate("window.frame = requestAnimationFrame; window.requestAnimationFrame = () => 0");
    try {
      await page.keyboard.press("Control+k");
      await palette.waitFor();
      await page.keyboard.type("linus");
      await waitForValue(palette.getByRole("combobox"), "linus");
      await palette.getByRole("option", { name: "linus" }).waitFor();
    } finally {
      await page.evaluate("window.requestAnimationFrame = window.frame");
    }
  });

  test("g and a letter after another one is nothing, and neither is a letter with Control", async () => {
    const visitor = await browser.newVisitor({ baseUrl: filled.url });
    await signInAsAdmin(visitor, filled);
    const { page } = visitor;
    await openAtRest(page, "/keys");
    const opened: string[] = [];
    page.on("framenavigated", (frame) => opened.push(new URL(frame.url()).pathname));
    await page.keyboard.press("g");
    await page.keyboard.press("x");
    await page.keyboard.press("o");
    await page.keyboard.press("Control+g");
    await page.keyboard.press("o");
    await page.keyboard.press("g");
    await page.keyboard.press("m");
    await page.waitForURL((url) => url.pathname === "/models");
    expect(new Set(opened)).toEqual(new Set(["/models"]));
  });
});

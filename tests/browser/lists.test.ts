import { beforeEach, expect, test } from "bun:test";
import type { Page } from "playwright-core";
import { checkAccessibility } from "./support/axe.ts";
import { describeInBrowser, useBrowser } from "./support/browser.ts";
import { tabThrough, type TabWalkOptions } from "./support/keyboard.ts";
import { openAtRest, rest } from "./support/rest.ts";
import { shoot } from "./support/screenshots.ts";
import type { Site } from "./support/site.ts";
import { eventually } from "./support/waiting.ts";

const browser = useBrowser();

const DEMO = { demo: { days: 3 } } as const;
let site: Site;
/** Own keys and relay tokens of the admin, whom the demonstration gives none. */
let isFilled = false;
beforeEach(async () => {
  site = await browser.sharedSite(DEMO);
  if (isFilled) return;
  const { page } = await browser.sharedVisitor(site);
  await page.goto("/keys");
  for (const path of ["/my/keys", "/my/relay-tokens"]) {
    for (const label of ["laptop", "build box"]) {
      const made = await page.request.post(path, { data: { label }, headers: { origin: site.url } });
      expect(made.status()).toBe(201);
    }
  }
  isFilled = true;
});

const press = (name: string) => (page: Page) =>
  page.getByRole("button", { name, exact: true }).first().press("Enter");

interface List {
  readonly path: string;
  /** Its link in the navigation. */
  readonly link: string;
  readonly noun: string;
  /** The route that answers with the rows. */
  readonly route: string;
  /** A row, and letters of it that no other row has. */
  readonly row: RegExp;
  readonly letters: string;
  /** The button that opens a row; a list without panels has none. */
  readonly opener?: string;
}

const LISTS: readonly List[] = [
  {
    path: "/people",
    link: "People & keys",
    noun: "person or service",
    route: "/admin/v1/principals",
    row: /linus/,
    letters: "LINUS",
    opener: "Details of linus",
  },
  {
    path: "/limits",
    link: "Budgets & limits",
    noun: "limit",
    route: "/admin/v1/limits",
    row: /opus: month/,
    letters: "$60.00 a",
    opener: "Details of opus: month",
  },
  {
    path: "/providers",
    link: "Providers",
    noun: "provider",
    route: "/admin/v1/providers",
    row: /openrouter/,
    letters: "OpenRouter.example",
    opener: "Settings of openrouter",
  },
  {
    path: "/models",
    link: "Models",
    noun: "model",
    route: "/admin/v1/models",
    row: /evals\/judge/,
    letters: "JUDGE",
    opener: "Change evals/judge",
  },
  { path: "/keys", link: "My keys", noun: "key", route: "/my/keys", row: /laptop/, letters: "LAP" },
  {
    path: "/relay-tokens",
    link: "Relay tokens",
    noun: "relay token",
    route: "/my/relay-tokens",
    row: /build box/,
    letters: "box",
  },
];

const rows = (page: Page) => page.locator("main tbody tr");

describeInBrowser("a list", () => {
  test.each(LISTS)(
    "at $path is found by letters that are one step of history, and cleared where nothing matches",
    async ({ path, link, noun, row, letters }) => {
      const { page } = await browser.sharedVisitor(site);
      await openAtRest(page, "/usage");
      await page
        .getByRole("navigation", { name: "Pages" })
        .getByRole("link", { name: link, exact: true })
        .click();
      await page.getByRole("row", { name: row }).waitFor();
      const all = await rows(page).count();
      expect(all).toBeGreaterThan(1);
      await page.keyboard.press("/");
      await page.keyboard.type(letters);
      const showsOne = () =>
        eventually(async () => {
          expect(await rows(page).count()).toBe(1);
          expect(await page.getByRole("row", { name: row }).count()).toBe(1);
        });
      await page.waitForURL((url) => url.pathname === path && url.searchParams.get("q") === letters);
      await showsOne();
      await page.reload();
      await showsOne();
      await page.getByRole("searchbox").fill("nothing of this name");
      await page.getByText(`No ${noun} matches`).waitFor();
      await page.getByRole("button", { name: "Clear filters" }).click();
      await page.waitForURL((url) => url.search === "");
      await eventually(async () => expect(await rows(page).count()).toBe(all));
      await page.goBack();
      await page.waitForURL((url) => url.pathname === "/usage");
    },
  );

  test.each(LISTS)(
    "at $path that cannot be had says why, claims no emptiness, and is there when it is asked for again",
    async ({ path, route, row }) => {
      const visitor = await browser.sharedVisitor(site);
      const { page } = visitor;
      visitor.expect(/answered 503/);
      const error = {
        code: "reports_busy",
        message: "Ask again in a moment.",
        type: "server_error",
        param: null,
      };
      await page.route(
        (url) => url.pathname === route,
        (asked) => asked.fulfill({ status: 503, json: { error } }),
      );
      await page.goto(path);
      const notice = page.getByRole("alert").filter({ hasText: "reports_busy" });
      await notice.getByText("Ask again in a moment.").waitFor();
      await page.getByText("Could not be loaded").waitFor();
      await page.unrouteAll();
      await notice.getByRole("button", { name: "Try again" }).click();
      await page.getByRole("row", { name: row }).waitFor();
      await notice.waitFor({ state: "detached" });
    },
  );

  test.each(LISTS.filter(({ opener }) => opener !== undefined))(
    "at $path opens a row by an address, gives the focus back to it, and says that a row is gone",
    async ({ path, noun, opener = "" }) => {
      const { page } = await browser.sharedVisitor(site);
      await openAtRest(page, path);
      await press(opener)(page);
      await page.getByRole("dialog").waitFor();
      const address = page.url();
      expect(new URL(address).searchParams.has("open")).toBe(true);
      await page.keyboard.press("Escape");
      await page.getByRole("dialog").waitFor({ state: "detached" });
      await page.locator(`[aria-label="${opener}"]:focus`).waitFor();
      await page.goto(address);
      await page.getByRole("dialog").waitFor();
      await page.keyboard.press("Escape");
      await page.getByRole("dialog").waitFor({ state: "detached" });
      await page.locator(`[aria-label="${opener}"]:focus`).waitFor();
      await page.goto(`${path}?open=nothing`);
      await page.getByText(`This ${noun} does not exist`).waitFor();
      await page.getByRole("button", { name: "Show the list" }).click();
      await page.waitForURL((url) => url.search === "");
    },
  );
});

type Surface = readonly [
  path: string,
  open?: (page: Page) => Promise<unknown>,
  /** Where Tab stays; a panel beside the page lets it go through both. */
  walk?: TabWalkOptions,
];

/** Each page with what opens above it, by letters in its address where it would be long. */
const SURFACES: readonly Surface[] = [
  ["/people?q=linus", press("Details of linus")],
  ["/people?tab=keys&q=ada"],
  ["/limits", press("Details of opus: month")],
  ["/limits", press("New limit")],
  ["/providers?q=openai", press("Settings of openai")],
  ["/providers", press("Add provider")],
  ["/models?q=gpt-5", press("Change gpt-5")],
  ["/models/prices?q=gpt-5", press("Load prices")],
  ["/keys", press("Create a key")],
  ["/relay-tokens", press("Create a relay token")],
  ["/audit?action=key.create"],
  ["/errors?ok=1&heat=share"],
  ["/requests?model=smart", (page) => page.locator("[data-row-open='0']").press("Enter"), {}],
];

describeInBrowser("a page and what opens above it", () => {
  test.each(
    SURFACES.flatMap(([path, open, walk = { within: "[role=dialog]" }]) =>
      (["light", "dark"] as const).map((theme) => ({ path, open, walk, theme })),
    ),
  )(
    "$path has no accessibility fault and is walked through by Tab in the $theme theme",
    async ({ path, open, walk, theme }) => {
      const { page } = await browser.sharedVisitor(site, { theme });
      await openAtRest(page, path);
      await checkAccessibility(page, theme);
      await tabThrough(page);
      await shoot(page, `list-${theme}-${path}`);
      if (open === undefined) return;
      await open(page);
      await rest(page);
      for (const folded of await page.locator("[role=dialog] summary").all()) await folded.click();
      await checkAccessibility(page, theme);
      await tabThrough(page, walk);
      await shoot(page, `list-open-${theme}-${path}`);
    },
  );
});

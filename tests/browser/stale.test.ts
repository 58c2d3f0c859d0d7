import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "bun:test";
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { openBuiltPage } from "#boot/page/page-assets.ts";
import type { AssetTable } from "#http/page/assets.ts";
import { writeBuiltPage } from "../../contrib/build/cache.ts";
import { buildPage, type PageOptions } from "../../contrib/build/page.ts";
import { startHarness, type Harness } from "../http/support.ts";
import { makeFolder } from "../support/folder.ts";
import { describeInBrowser, useBrowser } from "./support/browser.ts";
import type { Visitor } from "./support/visitor.ts";

const root = join(import.meta.dir, "../..");
const browser = useBrowser();

let folder: ReturnType<typeof makeFolder>;
let harness: Harness;
/** The build that is served now. */
let table: AssetTable;

beforeAll(async () => {
  harness = await startHarness({
    openAssets: async () => ({
      getPage: () => table.getPage(),
      findAsset: (path) => table.findAsset(path),
      getStylesheets: () => table.getStylesheets(),
    }),
  });
});
afterAll(() => harness.stop());
beforeEach(() => {
  folder = makeFolder();
  symlinkSync(join(root, "node_modules"), join(folder.path, "node_modules"));
});
afterEach(() => folder.remove());

/** A page with a part that is loaded when it is asked for; `word` makes it another build. */
async function build(word: string, mode: PageOptions["mode"] = "production"): Promise<AssetTable> {
  const path = join(folder.path, word);
  const sources = {
    "index.html": `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>${word}</title>
<meta name="viewport" content="width=device-width"><link rel="icon" href="data:,">
<script src="./theme-script.ts"></script><link rel="stylesheet" href="./styles.css">
<script type="module" src="./main.tsx"></script></head>
<body><main><h1>${word}</h1><button id="show">Show</button><button id="uncaught">Uncaught</button><button id="ahead">Ahead</button><p></p></main></body></html>`,
    "theme-script.ts": `import ${JSON.stringify(join(root, "ui/theme-script.ts"))};`,
    "styles.css": "p { color: #123456; }",
    "later.tsx": `export const said: string = "the part of ${word}";`,
    "main.tsx": `import { importPart, reloadIfStale, reloadOnceWhenStale } from ${JSON.stringify(join(root, "ui/stale.ts"))};
      reloadOnceWhenStale();
      const load = () => importPart(() => import("./later.tsx"));
      const say = (text: string) => { document.querySelector("p")!.textContent = text; };
      const on = (id: string, act: () => unknown) => { document.querySelector(id)!.addEventListener("click", act); };
      on("#show", () => load().then(({ said }) => say(said), (failure) => { say(failure.message); void reloadIfStale(); }));
      on("#uncaught", () => void import("./later.tsx").then(({ said }) => say(said)));
      on("#ahead", () => load().then(() => say("got ahead"), () => say("not to be had")));`,
  };
  mkdirSync(path);
  for (const [name, text] of Object.entries(sources)) writeFileSync(join(path, name), text);
  const built = join(folder.path, `${word}.json`);
  writeBuiltPage(await buildPage({ folder: path, mode }), built);
  return openBuiltPage(built)!;
}

/** A build without the part that is loaded later. */
function withoutPart(whole: AssetTable): AssetTable {
  return { ...whole, findAsset: (path) => (path.includes("later") ? null : whole.findAsset(path)) };
}

async function visit(): Promise<{ visitor: Visitor; loads: () => number }> {
  const visitor = await browser.newVisitor({ baseUrl: harness.url });
  let loads = 0;
  visitor.page.on("domcontentloaded", () => (loads += 1));
  await visitor.page.goto("/");
  return { visitor, loads: () => loads };
}

/** Drawn, and its script has run. */
async function shows({ page }: Visitor, word: string): Promise<void> {
  await page.getByRole("heading", { name: word }).waitFor();
  await page.waitForLoadState();
}

describeInBrowser("a page that stayed open while the server was upgraded", () => {
  for (const [element, how] of [
    ["#show", "and whoever wants it says so"],
    ["#uncaught", "and nobody catches that"],
  ] as const) {
    test(`is loaded anew when it opens a part that is gone, once, and then has the part: ${how}`, async () => {
      table = await build("before");
      const { visitor, loads } = await visit();
      table = await build("after");
      visitor.expect(/^request: GET .*later.* answered 404$/);
      if (element === "#uncaught") visitor.expect(/^page error: /);
      await visitor.page.locator(element).click();
      await shows(visitor, "after");
      await visitor.page.locator(element).click();
      await visitor.page.getByText("the part of after").waitFor();
      expect(loads()).toBe(2);
    });
  }

  test("stays as it is when the part was only wanted in advance", async () => {
    table = await build("before");
    const { visitor, loads } = await visit();
    table = await build("after");
    visitor.expect(/^request: GET .*later.* answered 404$/);
    await visitor.page.locator("#ahead").click();
    await visitor.page.getByText("not to be had").waitFor();
    expect(loads()).toBe(1);
    await visitor.page.locator("#show").click();
    await shows(visitor, "after");
    expect(loads()).toBe(2);
  });

  test("is loaded anew no second time when the part is missing from the new build as well", async () => {
    table = await build("before");
    const { visitor, loads } = await visit();
    table = withoutPart(await build("after"));
    visitor.expect(/^request: GET .*later.* answered 404$/);
    await visitor.page.locator("#show").click();
    await shows(visitor, "after");
    await visitor.page.locator("#show").click();
    await visitor.page.getByText("This part of the page could not be loaded").waitFor();
    expect(loads()).toBe(2);
  });

  test("goes to and fro between two builds once at most, where two versions answer at one address", async () => {
    const [one, other] = [withoutPart(await build("one")), withoutPart(await build("other"))];
    table = one;
    const { visitor, loads } = await visit();
    visitor.expect(/^request: GET .*later.* answered 404$/);
    table = other;
    await visitor.page.locator("#show").click();
    await shows(visitor, "other");
    table = one;
    await visitor.page.locator("#show").click();
    await shows(visitor, "one");
    table = other;
    await visitor.page.locator("#show").click();
    await visitor.page.getByText("This part of the page could not be loaded").waitFor();
    expect(loads()).toBe(3);
  });

  test("stays as it is, and says so, when a part is missing from the build that is shown", async () => {
    table = withoutPart(await build("same"));
    const { visitor, loads } = await visit();
    visitor.expect(/^request: GET .*later.* answered 404$/);
    await visitor.page.locator("#show").click();
    await visitor.page.getByText("This part of the page could not be loaded").waitFor();
    expect(loads()).toBe(1);
  });

  test("stays as it is when the server cannot be reached", async () => {
    table = await build("alone");
    const { visitor, loads } = await visit();
    await visitor.context.setOffline(true);
    visitor.expect(/^request: GET .* failed: net::ERR_INTERNET_DISCONNECTED$/);
    await visitor.page.locator("#show").click();
    await visitor.page.getByText("This part of the page could not be loaded").waitFor();
    expect(loads()).toBe(1);
    await visitor.context.setOffline(false);
  });
});

describeInBrowser("the theme script", () => {
  test.each([
    ["dark", "dark"],
    ["light", "light"],
    ["system", null],
    ["<b>", null],
  ])("turns the chosen theme %s into data-theme %p", async (stored, theme) => {
    table = await build("theme");
    const visitor = await browser.newVisitor({ baseUrl: harness.url });
    await visitor.page.goto("/");
    await visitor.page.evaluate((value) => localStorage.setItem("lockport.theme", value), stored);
    await visitor.page.reload();
    expect(await visitor.page.locator("html").getAttribute("data-theme")).toBe(theme);
  });
});

describeInBrowser("a page in development", () => {
  test("is loaded anew when another build of it is served, and stays while it is the same", async () => {
    table = await build("first", "development");
    const { visitor, loads } = await visit();
    const asked = () => visitor.page.waitForResponse((response) => response.url() === `${harness.url}/`);
    await asked();
    await asked();
    expect(loads()).toBe(1);
    table = await build("second", "development");
    await shows(visitor, "second");
    expect(loads()).toBe(2);
  });
});

import { beforeEach, expect, test } from "bun:test";
import type { Locator, Page } from "playwright-core";
import { callApi } from "../support/installation.ts";
import { until } from "../support/waiting.ts";
import { checkAccessibility } from "./support/axe.ts";
import { describeInBrowser, useBrowser } from "./support/browser.ts";
import { readDownload } from "./support/download.ts";
import { checkFitsSmall } from "./support/layout.ts";
import { openAtRest } from "./support/rest.ts";
import { shoot } from "./support/screenshots.ts";
import { makeLoginLink, signInAsAdmin } from "./support/sign-in.ts";
import type { Site } from "./support/site.ts";

const browser = useBrowser();
const USAGE = { prompt_tokens: 1000, completion_tokens: 200 };
const MONTH = new Date().toISOString().slice(0, 7);

let site: Site;

async function ask(method: string, path: string, body?: unknown): Promise<any> {
  const response = await callApi(site.url, await site.adminKey(), method, path, body);
  expect(response.ok).toBe(true);
  return JSON.parse(await response.text());
}

/** Shown in both themes, on a wide window and on a phone, once SCREENSHOTS says where. */
async function shootAll(page: Page, name: string): Promise<void> {
  for (const colorScheme of ["light", "dark"] as const) {
    await page.emulateMedia({ colorScheme });
    for (const width of [1440, 390]) {
      await page.setViewportSize({ width, height: 900 });
      await shoot(page, `${name}-${width}-${colorScheme}`, { fullPage: true });
      await checkAccessibility(page);
    }
  }
  await page.emulateMedia({ colorScheme: "light" });
  await page.setViewportSize({ width: 1440, height: 900 });
}

/** By the texts of its cells, one behind the other. */
const row = (table: Locator, text: string) => table.getByRole("row").filter({ hasText: text });
const changes = (page: Page) => page.getByRole("region", { name: "Changes" });

/** Makes, applies or takes back a re-pricing, and waits until it rests. */
async function reprice(path: string, body: object = {}): Promise<string> {
  const { id } = await ask("POST", `/admin/v1/repricing${path}`, body);
  let state = "";
  await until(
    async () => {
      const view = await ask("GET", `/admin/v1/repricing/${id}`);
      ({ state } = view);
      return view.total !== null && state !== "running" && state !== "reverting";
    },
    () => state,
  );
  return id;
}

describeInBrowser("a statement", () => {
  beforeEach(async () => {
    site = await browser.newSite({
      upstream: {
        script: (asked) =>
          asked.reply({ body: JSON.stringify({ choices: [{ message: { content: "hi" } }], usage: USAGE }) }),
        models: { fast: "vendor/fast" },
        pricing: { input_tokens: 1, output_tokens: 5 },
      },
    });
  });

  const use = () => ask("POST", "/v1/chat/completions", { model: "fast", messages: [] });

  test("has its month by person and key with its hash, and saves the same as CSV", async () => {
    await use();
    const visitor = await browser.newVisitor({ baseUrl: site.url });
    await signInAsAdmin(visitor, site);
    const { page } = visitor;
    await openAtRest(page, "/statement");
    const { hash } = await ask("GET", "/stats/statement");
    await page.getByText(hash).filter({ visible: true }).waitFor();
    const people = page.getByRole("region", { name: "By person" });
    await row(people, "admin100$0.002").waitFor();
    await row(page.getByRole("region", { name: "By key" }), "first admin key100$0.002").waitFor();
    expect(await page.getByRole("region", { name: "By tag" }).count()).toBe(0);
    const [download] = await Promise.all([
      page.waitForEvent("download"),
      page.getByRole("button", { name: "CSV", exact: true }).click(),
    ]);
    expect(download.suggestedFilename()).toBe(`lockport-statement_${MONTH}_UTC.csv`);
    expect((await readDownload(download)).trimEnd()).toEndWith(`${MONTH},total,,,1,0,0,0.002,${hash}`);

    // A month without use has a hash as well, stands in the address, and is no error.
    await page.getByRole("combobox", { name: "Month" }).click();
    await page.getByRole("option").nth(1).click();
    await page.getByText("Nothing was used in this month").waitFor();
    expect(new URL(page.url()).searchParams.get("month")).toMatch(/^\d{4}-\d{2}$/);
    expect(await page.getByText(hash).filter({ visible: true }).count()).toBe(0);
  });

  test("says what a re-pricing changed since it was last opened in this browser, and what was added since", async () => {
    await use();
    const visitor = await browser.newVisitor({ baseUrl: site.url });
    await signInAsAdmin(visitor, site);
    const { page } = visitor;
    await openAtRest(page, "/statement");
    await page.getByText("First opened in this browser").waitFor();
    await openAtRest(page, "/statement");
    await page.getByText("Unchanged since it was last opened").waitFor();
    expect(await changes(page).count()).toBe(0);

    const pricing = { input_tokens: 2, output_tokens: 5 };
    await reprice("", { since: MONTH + "-01", prices: { fast: { pricing } }, dry_run: false });
    await openAtRest(page, "/statement");
    await page.getByText("The same number of requests. 1 re-pricing since then, the last applied").waitFor();
    await row(changes(page), "Total––$0.002$0.003+$0.001").waitFor();
    await row(changes(page), "Person admin––$0.002$0.003+$0.001").waitFor();
    await shootAll(page, "statement-changed");
    await checkFitsSmall(page);
    // Another month and back is no other opening.
    await page.getByRole("combobox", { name: "Month" }).click();
    await page.getByRole("option").nth(1).click();
    await page.getByText("Nothing was used in this month").waitFor();
    await page.goBack();
    await row(changes(page), "Total––$0.002$0.003+$0.001").waitFor();

    await use();
    await openAtRest(page, "/statement");
    await page.getByText("1 request more. No re-pricing since then.").waitFor();
    await row(changes(page), "Total+1–$0.003$0.005+$0.002").waitFor();
  });

  test("is a member's own: neither figures nor changes of others are in it", async () => {
    await use();
    const { id } = await ask("POST", "/admin/v1/principals", { name: "mia" });
    expect(id).toBeString();
    const visitor = await browser.newVisitor({ baseUrl: site.url });
    const { page } = visitor;
    await page.goto(await makeLoginLink(site, "mia"));
    await page.getByRole("link", { name: "Statement" }).click();
    await page.getByText("One month of your own use").waitFor();
    await page.getByText("Nothing was used in this month").waitFor();
    expect(await page.getByText("admin").count()).toBe(0);
    // What an admin keeps of the team in this browser is under another name.
    const names = await page.evaluate<string[]>("Object.keys(localStorage)");
    expect(names.filter((name) => name.startsWith("lockport.statements"))).toEqual([
      "lockport.statements.own.mia",
    ]);
  });
});

const DEMO = { demo: { days: 20 } } as const;

describeInBrowser("a statement on paper", () => {
  test("has no navigation and no button, and month and hash on each sheet", async () => {
    site = await browser.sharedSite(DEMO);
    const { page } = await browser.sharedVisitor(site);
    await openAtRest(page, "/statement");
    await page.getByRole("region", { name: "By person" }).waitFor();
    await shootAll(page, "statement");
    const { hash } = await ask("GET", "/stats/statement");
    expect(await page.getByText("Statement of").isVisible()).toBe(false);
    await page.emulateMedia({ media: "print", colorScheme: "dark" });
    await page.getByText("Statement of").waitFor();
    await page.getByText(hash).filter({ visible: true }).waitFor();
    expect(await page.getByRole("navigation").count()).toBe(0);
    for (const name of ["Print", "CSV", "Copy hash"])
      expect(await page.getByRole("button", { name, exact: true }).count()).toBe(0);
    // Ink on white paper, whatever the screen is.
    expect(await page.evaluate<string>("getComputedStyle(document.documentElement).colorScheme")).toBe(
      "light",
    );
    const isCut = (name: string) =>
      `[...document.querySelectorAll('${name}')].some((one) => getComputedStyle(one).overflowX === "auto")`;
    expect(await page.evaluate<boolean>(isCut('[role="region"]'))).toBe(false);
    await shoot(page, "statement-print", { fullPage: true });
    const path = process.env["SCREENSHOTS"];
    await page.emulateMedia({ media: null, colorScheme: "light" });
    if (path !== undefined) await page.pdf({ path: `${path}/statement.pdf`, preferCSSPageSize: true });
  });
});

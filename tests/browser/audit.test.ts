import { beforeEach, expect, test } from "bun:test";
import type { Page } from "playwright-core";
import { describeInBrowser, useBrowser } from "./support/browser.ts";
import { signInAsAdmin } from "./support/sign-in.ts";
import type { Site } from "./support/site.ts";
import type { Renewal, Visitor } from "./support/visitor.ts";
import { eventually } from "./support/waiting.ts";

const browser = useBrowser();

const FIRST_START = {};
let site: Site;
/** The one that the tests which change nothing share. */
let filled: Site | null = null;

async function lookAtShared(): Promise<void> {
  site = await browser.sharedSite(FIRST_START);
  if (filled !== site) await fill();
  filled = site;
}

async function startOwn(): Promise<void> {
  site = await browser.newSite();
  await fill();
}

async function fill(): Promise<void> {
  const key = await site.adminKey();
  for (const [method, path, body] of [
    ["POST", "/admin/v1/providers", { name: "acme", base_url: "http://127.0.0.1:9/v1" }],
    ["POST", "/admin/v1/models", { alias: "team/fast", provider: "acme", upstream_name: "m" }],
    ["PATCH", "/admin/v1/models/team%2Ffast", { hidden: true }],
    ["POST", "/admin/v1/principals", { name: "robin", role: "member" }],
  ] as const) {
    await ask(key, method, path, body);
  }
}

async function ask(key: string, method: string, path: string, body?: unknown): Promise<any> {
  const response = await fetch(site.url + path, {
    method,
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  expect(response.ok).toBe(true);
  return await response.json();
}

async function readRobin(key: string, id: string): Promise<any> {
  const { principals } = await ask(key, "GET", "/admin/v1/principals");
  return principals.find((principal: any) => principal.id === id);
}

async function open(path = "/audit", options: Renewal = {}): Promise<Visitor> {
  const isShared = site === filled;
  const visitor = isShared
    ? await browser.sharedVisitor(site, options)
    : await browser.newVisitor({ baseUrl: site.url, ...options });
  if (!isShared) await signInAsAdmin(visitor, site);
  await visitor.page.goto(path);
  await visitor.page.locator("main ol li").first().waitFor();
  return visitor;
}

async function showsEvents(page: Page, count: number): Promise<void> {
  await eventually(async () => expect(await page.locator("main ol li").count()).toBe(count));
}

/** More than the page asks for by itself without a filter. */
const OLD_EVENTS = 600;

describeInBrowser("the audit", () => {
  beforeEach(lookAtShared);

  test("lists who changed what, newest first, under UTC days, and says what it leaves out", async () => {
    const { page } = await open();
    await page.getByRole("link", { name: "robin" }).waitFor();
    const items = await page.locator("main ol li").allTextContents();
    expect(items.map((text) => /(?:principal|model|provider)\.(?:create|update)/.exec(text)?.[0])).toEqual([
      "principal.create",
      "model.update",
      "model.create",
      "provider.create",
    ]);
    await page
      .getByRole("heading", { level: 2, name: /^\d{4}-\d\d-\d\d UTC$/ })
      .first()
      .waitFor();
    await page.getByText("or a command on the server").waitFor();
  });

  test("is filtered by action, actor and target in its address, and back to all by one press", async () => {
    const { page } = await open();
    await page.getByRole("combobox", { name: "Action" }).click();
    await page.getByRole("option", { name: "model.update" }).click();
    await page.waitForURL(/\?action=model.update$/);
    await showsEvents(page, 1);
    const target = page.getByRole("searchbox", { name: "Find" });
    await target.pressSequentially("nothing");
    await page.getByText("No event matches").waitFor();
    await page.waitForURL((url) => url.searchParams.get("target") === "nothing");
    expect(await target.inputValue()).toBe("nothing");
    await page.reload();
    await page.getByText("No event matches").waitFor();
    await page.getByRole("button", { name: "Clear filters" }).click();
    await page.getByText("provider.create").waitFor();
    await page.waitForURL((url) => url.search === "");
  });

  test("leads to what was changed", async () => {
    const { page } = await open();
    await page.getByRole("link", { name: "acme" }).click();
    await page.waitForURL(/\/providers\?open=acme$/);
  });
});

describeInBrowser("the audit of what is done meanwhile", () => {
  beforeEach(startOwn);

  test("finds people and keys by the names that they have, and leads to them while they are there", async () => {
    const key = await site.adminKey();
    const created = await ask(key, "POST", "/admin/v1/keys", { principal: "robin", label: "laptop" });
    const passing = await ask(key, "POST", "/admin/v1/principals", { name: "passing" });
    await ask(key, "DELETE", `/admin/v1/principals/${passing.id}`);
    const { page } = await open("/audit?target=robin");
    const links = page.locator("main ol").getByRole("link");
    await eventually(async () => {
      expect((await links.allTextContents()).toSorted()).toEqual(["laptop of robin", "robin"]);
    });
    const target = page.getByRole("searchbox", { name: "Find" });
    await target.fill(passing.id);
    await page.getByText("principal.delete").waitFor();
    expect(await links.count()).toBe(0);
    await target.fill(created.id);
    await links.filter({ hasText: "laptop of robin" }).click();
    await page.getByRole("dialog", { name: "robin" }).waitFor();
  });

  test("says what each change was before and after, and takes it back after a question that says the same", async () => {
    const key = await site.adminKey();
    const { principals } = await ask(key, "GET", "/admin/v1/principals");
    const { id } = principals.find(({ name }: any) => name === "robin");
    await ask(key, "PATCH", `/admin/v1/principals/${id}`, { role: "admin", tags: ["team:a"] });
    const body = { name: "all", subject: {}, measure: "cost", amount: 50, window: "month" };
    const limit = await ask(key, "POST", "/admin/v1/limits", body);
    await ask(key, "DELETE", `/admin/v1/limits/${limit.id}`);
    const { page } = await open();
    const robin = page.locator("main ol li").filter({ hasText: "principal.update" });
    await robin.getByRole("button", { name: "role member → admin, tags none → team:a" }).click();
    await robin.getByRole("row", { name: "role member admin" }).waitFor();
    await robin.getByRole("button", { name: "Undo" }).click();
    const question = page.getByRole("alertdialog", { name: "Undo the change of robin?" });
    await question.getByText("role admin → member, tags team:a → none.").waitFor();
    expect((await readRobin(key, id)).role).toBe("admin");
    await question.getByRole("button", { name: "Undo change" }).click();
    await page.getByText("Change of robin undone").waitFor();
    expect(await readRobin(key, id)).toMatchObject({ role: "member", name: "robin" });
    await robin.filter({ hasText: "role admin → member" }).waitFor();
    await robin.filter({ hasText: "No undo: These fields were changed again since." }).waitFor();

    const gone = page.locator("main ol li").filter({ hasText: "limit.delete" });
    await gone.getByText("all", { exact: true }).waitFor();
    await gone.getByRole("button", { name: /amount 50/ }).click();
    await gone.getByRole("button", { name: "Create again" }).click();
    await page.getByRole("alertdialog").getByRole("button", { name: "Create again" }).click();
    await page.getByText("all created again").waitFor();
    expect((await ask(key, "GET", "/admin/v1/limits")).limits).toMatchObject([body]);
  });

  test("takes a price and a name of a model back together, and never a credential", async () => {
    const key = await site.adminKey();
    await ask(key, "PATCH", "/admin/v1/models/team%2Ffast", { pricing: { input_tokens: 1 } });
    await ask(key, "PATCH", "/admin/v1/models/team%2Ffast", { alias: "dear", pricing: { input_tokens: 3 } });
    await ask(key, "PATCH", "/admin/v1/providers/acme", { api_key: "sk-of-acme" });
    const { page } = await open("/audit?target=input+tokens+%241.00");
    await page.getByRole("button", { name: "alias team/fast → dear, input tokens $1.00 → $3.00" }).click();
    await page.getByRole("button", { name: "Undo" }).click();
    await page.getByRole("alertdialog").getByRole("button", { name: "Undo change" }).click();
    await page.getByText("Change of dear undone").waitFor();
    const { models } = await ask(key, "GET", "/admin/v1/models");
    expect(models).toMatchObject([{ alias: "team/fast", pricing: { input_tokens: 1 } }]);

    await page.getByRole("searchbox", { name: "Find" }).fill("credential");
    await page.getByText("No event matches").waitFor();
    await page.getByRole("searchbox", { name: "Find" }).fill("api_key");
    await page
      .getByRole("button", { name: "api key none → set" })
      .or(page.getByRole("button", { name: "api key set" }))
      .click();
    await page.getByText("set (never told)").waitFor();
    expect(await page.getByRole("button", { name: "Undo" }).count()).toBe(0);
    expect(await page.locator("body").textContent()).not.toContain("sk-of-acme");
  });

  test("takes back what a feed set, and what it added, in one step that says which prices it changes", async () => {
    const key = await site.adminKey();
    const load = (version: string, prices: object, rest: object = {}) =>
      ask(key, "POST", "/admin/v1/pricing", {
        version,
        entries: Object.entries(prices).map(([unit, price]) =>
          Object.assign({ model: "team/fast", unit, price_per_million: price }, rest),
        ),
      });
    const readPrices = async () => {
      const { models } = await ask(key, "GET", "/admin/v1/models");
      return models[0].pricing;
    };
    await load("right", { input_tokens: 1 });
    await load("wrong", { input_tokens: 100, output_tokens: 200 });
    const { page } = await open("/audit?target=wrong");
    const wrong = page.locator("main ol li").filter({ hasText: "wrong" });
    await wrong.getByRole("button", { name: /input tokens \$1\.00 → \$100\.00/ }).click();
    await wrong.getByRole("button", { name: "Undo" }).click();
    const question = page.getByRole("alertdialog", { name: "Undo the change of wrong?" });
    await question
      .getByText("team/fast input tokens $100.00 → $1.00, team/fast output tokens $200.00 → none")
      .waitFor();
    await question.getByText("No requests in the last 30 days.").waitFor();
    expect(await readPrices()).toEqual({ input_tokens: 100, output_tokens: 200 });
    // Another one sets a price while the question is read: it is not written over.
    await load("newest", { output_tokens: 7 });
    await question.getByRole("button", { name: "Undo change" }).click();
    await wrong.getByText("No undo: These prices were changed again since.").waitFor();
    expect(await readPrices()).toEqual({ input_tokens: 100, output_tokens: 7 });
    await load("wrong again", { output_tokens: 200 });
    await page.goto("/audit?target=wrong");
    const first = page.locator("main ol li").filter({ hasText: "input tokens $1.00" });
    await first.getByRole("button", { name: /\$100\.00/ }).click();
    await first.getByRole("button", { name: "Undo" }).click();
    await question.getByRole("button", { name: "Undo change" }).click();
    await page.getByText("Change of wrong undone").waitFor();
    expect(await readPrices()).toEqual({ input_tokens: 1 });
    await first.getByText("No undo: These prices were changed again since.").waitFor();

    await load("later", { input_tokens: 5 }, { effective_from: "2999-01-01" });
    await page.goto("/audit?target=later");
    await page.getByRole("button", { name: /prices to come/ }).click();
    await page.getByText("No undo: Prices to come are taken back at their model.").waitFor();
  });

  test("names an actor whose principal is gone", async () => {
    const key = await site.adminKey();
    const gone = await ask(key, "POST", "/admin/v1/principals", { name: "gone", role: "admin" });
    const { key: goneKey } = await ask(key, "POST", "/admin/v1/keys", { principal: "gone" });
    await ask(goneKey, "PATCH", "/admin/v1/models/team%2Ffast", { hidden: false });
    await ask(key, "DELETE", `/admin/v1/principals/${gone.id}`);
    const { page } = await open();
    await page.getByRole("combobox", { name: "Actor" }).click();
    await page.getByRole("option", { name: "(deleted principal)" }).click();
    await page.waitForURL(/actor=/);
    await showsEvents(page, 1);
  });

  test("looks through older events for what a filter asks, and says how far back it went", async () => {
    const key = await site.adminKey();
    await ask(key, "POST", "/admin/v1/principals", { name: "needle" });
    for (let made = 0; made < OLD_EVENTS; made += 100) {
      await Promise.all(
        Array.from({ length: 100 }, () =>
          ask(key, "POST", "/admin/v1/pricing", { version: "again", entries: [] }),
        ),
      );
    }
    const { page } = await open("/audit?target=needle");
    await page.getByRole("link", { name: "needle" }).waitFor();
    const status = page.getByRole("status").filter({ hasText: "match" });
    await status.filter({ hasText: /^1 of the newest \d{3} events match, back to .* UTC\.$/ }).waitFor();
    await page.goto("/audit");
    await page
      .getByRole("status")
      .filter({ hasText: /^The newest 250 events, of \d{3}, back to/ })
      .waitFor();
    await page.getByRole("button", { name: "Load older events" }).click();
    await page
      .getByRole("status")
      .filter({ hasText: /^The newest 500 events/ })
      .waitFor();
    await showsEvents(page, 500);
  });

  test("is found by letters of the target that are one step of history together", async () => {
    await lookAtShared();
    const { page } = await browser.sharedVisitor(site);
    await page.goto("/usage");
    await page.getByRole("navigation", { name: "Pages" }).getByRole("link", { name: "Audit" }).click();
    await page.getByRole("searchbox", { name: "Find" }).pressSequentially("acme");
    await page.waitForURL(/[?]target=acme$/);
    await page.goBack();
    await page.waitForURL(/[/]usage$/);
  });
});

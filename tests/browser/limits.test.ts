import { beforeEach, expect, test } from "bun:test";
import type { Page } from "playwright-core";
import { describeInBrowser, useBrowser } from "./support/browser.ts";
import { addPeople, type LimitedPeople, PRICED_LAB } from "./support/limited-people.ts";
import { openAtRest, rest } from "./support/rest.ts";
import { shoot } from "./support/screenshots.ts";
import { signInAsAdmin } from "./support/sign-in.ts";
import type { Site } from "./support/site.ts";
import type { Visitor, VisitorOptions } from "./support/visitor.ts";
import { eventually, waitForFocus } from "./support/waiting.ts";

const browser = useBrowser();

let site: Site;
let people: LimitedPeople;
beforeEach(async () => {
  site = await browser.newSite(PRICED_LAB);
  people = await addPeople(site);
});

const ask: LimitedPeople["ask"] = (...asked) => people.ask(...asked);
const send: LimitedPeople["send"] = (tags) => people.send(tags);

async function open(path = "/limits", options: Partial<VisitorOptions> = {}): Promise<Visitor> {
  const visitor = await browser.newVisitor({ baseUrl: site.url, ...options });
  await signInAsAdmin(visitor, site);
  await openAtRest(visitor.page, path);
  return visitor;
}

const form = (page: Page) => page.getByRole("dialog", { name: "New limit" });
const panel = (page: Page, name: string) => page.getByRole("dialog", { name, exact: true });
const row = (page: Page, name: string) =>
  page.getByRole("row", { name: new RegExp(`Details of ${name}|^${name}`) });

async function startMaking(page: Page, recipe: string): Promise<void> {
  await page.getByRole("button", { name: "New limit" }).click();
  await form(page).getByRole("button", { name: recipe }).click();
}

async function make(page: Page): Promise<void> {
  await form(page).getByRole("button", { name: "Create" }).click();
  await form(page).waitFor({ state: "detached" });
}

async function readLimits(): Promise<any[]> {
  return (await ask("GET", "/admin/v1/limits")).limits;
}

/** What is typed after a recipe was chosen, what the form then says, and what is made. */
const RECIPES: readonly (readonly [
  recipe: string,
  fill: (page: Page) => Promise<unknown>,
  meaning: string,
  change: string,
  limit: object,
])[] = [
  [
    "Each person $50 a month",
    async () => undefined,
    "Each person: $50.00 a month. Requests beyond it are refused until the first of the next month, 00:00 UTC.",
    "Makes 1 limit, for each of 3 people and services, and those added later: admin, robin, sasha.",
    { subject: {}, each: "principal", measure: "cost", amount: 50, window: "month", action: "refuse" },
  ],
  [
    "A team $500 a month",
    (page) => page.getByRole("textbox", { name: "Tag" }).fill("team:search"),
    "team:search in total: $500.00 a month. Requests beyond it are refused until the first of the next month, 00:00 UTC.",
    "Makes 1 limit, for requests with team:search. As a fixed tag no one has it.",
    { subject: { tag: "team:search" }, measure: "cost", amount: 500, window: "month", unpriced: "allow" },
  ],
  [
    "20 requests a day for each person",
    async () => undefined,
    "Each person: 20 requests a day. Requests beyond it are refused until midnight UTC.",
    "Makes 1 limit, for each of 3 people and services, and those added later: admin, robin, sasha.",
    { subject: {}, each: "principal", measure: "requests", amount: 20, window: "day", action: "refuse" },
  ],
  [
    "60 requests a minute for a key",
    async (page) => {
      await page.getByRole("combobox", { name: "Key" }).fill("laptop");
      await page.getByRole("option", { name: /^robin: laptop \*\*\*/ }).click();
    },
    "Key laptop of robin: 60 requests a minute. Requests beyond it are refused until enough of the last 60 seconds has passed.",
    "Makes 1 limit, for this one alone.",
    { measure: "requests", amount: 60, window: "minute" },
  ],
  [
    "2 concurrent for a model",
    async (page) => {
      await page.getByRole("combobox", { name: "Model", exact: true }).fill("team");
      await page.getByRole("option", { name: "team/slow" }).click();
    },
    "Everyone · team/slow in total: 2 concurrent. Requests beyond it are refused until one ends.",
    "Makes 1 limit, for 3 people and services together.",
    { subject: { model: "team/slow" }, measure: "concurrent", amount: 2 },
  ],
  [
    "Warn at $100 a month",
    async () => undefined,
    "Everyone in total: $100.00 a month. Requests beyond it pass, with a warning in their headers.",
    "Makes 1 limit, for 3 people and services together.",
    { subject: {}, measure: "cost", amount: 100, window: "month", action: "warn" },
  ],
];

describeInBrowser("a limit", () => {
  test("is made from each recipe, says beforehand what it will mean and then what its window holds", async () => {
    expect(await send("team:search")).toBe(200);
    const { page } = await open();
    const known = new Set<string>();
    for (const [recipe, fill, meaning, change, limit] of RECIPES) {
      await startMaking(page, recipe);
      await fill(page);
      await form(page).getByText(meaning, { exact: true }).waitFor();
      await form(page).getByText(change, { exact: true }).waitFor();
      await make(page);
      const made = (await readLimits()).find(({ id }: { id: string }) => !known.has(id));
      known.add(made.id);
      expect(made).toMatchObject(limit);
      await panel(page, made.name).waitFor();
      if (recipe.startsWith("A team")) {
        await page.getByText("The window already holds $2.50 of $500.00.").first().waitFor();
        await panel(page, made.name).getByText("$497.50 left").waitFor();
      }
      await rest(page);
      await page.keyboard.press("Escape");
      await panel(page, made.name).waitFor({ state: "detached" });
    }
    const limits = await readLimits();
    expect(limits).toHaveLength(RECIPES.length);
    expect(limits.map(({ name }: { name: string }) => name)).toEqual([
      "Each person: monthly budget",
      "Each person: requests a day",
      "Everyone · team/slow: concurrent requests",
      "Everyone: monthly budget, warning",
      "Key laptop of robin: requests a minute",
      "team:search: monthly budget",
    ]);
    expect(limits[4].subject.key).toMatch(/^[0-9a-f-]{36}$/);
    await rest(page);
    await shoot(page, "limits-recipes");
  });

  test("that cannot be is refused at its field, and nothing that was typed is lost, also by a press outside", async () => {
    await ask("POST", "/admin/v1/limits", {
      name: "taken",
      subject: {},
      measure: "requests",
      amount: 9,
      window: "day",
    });
    const visitor = await open();
    visitor.expect(/404/);
    visitor.expect(/409/);
    const { page } = visitor;
    await page.getByRole("button", { name: "New limit" }).click();
    const button = form(page).getByRole("button", { name: "Create" });
    await button.click();
    await waitForFocus(form(page).getByRole("textbox", { name: "Amount" }));
    await form(page).getByText("Fill in this field").first().waitFor();
    await form(page).getByRole("combobox", { name: "Applies to" }).click();
    await page.getByRole("option", { name: "One person or service" }).click();
    const person = form(page).getByRole("combobox", { name: "Person or service" });
    await person.fill("zoe");
    await person.press("Tab");
    await form(page).getByRole("textbox", { name: "Amount" }).fill("12.5");
    await button.click();
    await form(page).getByRole("alert").getByText("principal_not_found").waitFor();
    await eventually(async () => expect(await person.getAttribute("aria-invalid")).toBe("true"));
    await person.fill("robin");
    await person.press("Tab");
    const name = form(page).getByRole("textbox", { name: "Name" });
    await name.fill("taken");
    await page.mouse.click(2, 2);
    await page.getByRole("button", { name: "Keep editing" }).click();
    expect(await name.inputValue()).toBe("taken");
    await button.click();
    await form(page).getByRole("alert").getByText("limit_exists").waitFor();
    await eventually(async () => expect(await name.getAttribute("aria-invalid")).toBe("true"));
    expect(await form(page).getByRole("textbox", { name: "Amount" }).inputValue()).toBe("12.5");
    await name.fill("robin: month");
    await make(page);
    expect((await readLimits()).find(({ name: made }) => made === "robin: month")).toMatchObject({
      name: "robin: month",
      subject: { principal: "robin" },
      measure: "cost",
      amount: 12.5,
      window: "month",
    });
  });

  test("is in a table that does not scroll sideways in a window of 1024, as monthly budgets are", async () => {
    const all = { subject: {}, action: "warn" };
    const long = "a budget with a long name of its own";
    await ask("POST", "/admin/v1/limits", {
      ...all,
      name: long,
      measure: "cost",
      amount: 250,
      window: "month",
    });
    const tokens = { measure: "tokens", amount: 3_000_000, window: "day" };
    await ask("POST", "/admin/v1/limits", { ...all, name: "tokens of a day", ...tokens });
    const { page } = await open("/limits", { viewport: { width: 1024, height: 900 } });
    for (const name of ["Monthly budgets", "Other limits"]) {
      const region = page.getByRole("region", { name, exact: true });
      await region.locator("tbody tr[data-index]").first().waitFor();
      const [inside, seen] = await region.evaluate((box) => [box.scrollWidth, box.clientWidth]);
      expect({ name, inside }).toEqual({ name, inside: seen });
    }
  });

  test("refuses, tells who is closest, lets pass what its change allows, and says what its end changes", async () => {
    await ask("POST", "/admin/v1/limits", {
      name: "one in all",
      subject: {},
      each: "principal",
      measure: "requests",
      amount: 1,
      window: "total",
    });
    expect(await send()).toBe(200);
    expect(await send()).toBe(429);
    const { page } = await open();
    await eventually(async () => {
      const line = (await row(page, "one in all").innerText()).replaceAll(/\s+/g, " ");
      expect(line).toMatch(/^Each person one in all 1 request in total 1 of 1 requests used up Never 1$/);
    });
    const meter = page.getByRole("meter", { name: "Used of one in all by robin" });
    expect(await meter.getAttribute("aria-valuetext")).toBe("1 of 1 requests, 100%");

    await row(page, "one in all").click();
    const details = panel(page, "one in all");
    await details.getByRole("list", { name: "Highest use" }).getByText("robin").waitFor();
    await details.getByText("none left").waitFor();
    await details.getByRole("textbox", { name: "Amount" }).fill("3");
    await details.getByRole("button", { name: "Save changes" }).click();
    await page.getByText("The highest use in the window is 1 of 3 requests.").first().waitFor();
    expect(await send()).toBe(200);
    expect(await send()).toBe(200);
    expect(await send()).toBe(429);

    await page.reload();
    await details.getByRole("button", { name: "Delete limit" }).click();
    const question = page.getByRole("alertdialog", { name: "Delete one in all?" });
    await question
      .getByText("It refuses requests now (1 at the amount). They pass from the next request on.")
      .waitFor();
    await question.getByRole("button", { name: "Delete limit" }).click();
    await details.waitFor({ state: "detached" });
    await page.getByRole("heading", { name: "Other limits" }).waitFor({ state: "detached" });
    expect(await send()).toBe(200);
  });

  test("that a template finds there already is changed and not made twice, and says who it refuses at once", async () => {
    expect(await send()).toBe(200);
    const { page } = await open();
    await page.getByRole("button", { name: "Each person $50 a month" }).click();
    await make(page);
    await panel(page, "Each person: monthly budget").getByText("about").waitFor();
    await rest(page);
    await page.keyboard.press("Escape");
    await page.getByRole("button", { name: "Each person $50 a month" }).click();
    await form(page).getByRole("textbox", { name: "Amount" }).fill("2");
    await form(page)
      .getByText(/^Changes 1 limit, “Each person: monthly budget” \(now \$50\.00\), for each of 3 people/)
      .waitFor();
    await form(page)
      .getByText("Used up already, and refused from the next request on: robin ($2.50).", { exact: true })
      .waitFor();
    expect(await send()).toBe(200);
    await form(page).getByRole("button", { name: "Change" }).click();
    await page.getByText("Each person: monthly budget saved").waitFor();
    expect(await readLimits()).toMatchObject([{ each: "principal", amount: 2, used: 5 }]);
    expect(await send()).toBe(429);
    // robin has used it up today, and sasha nothing of the same amount.
    const today = new Date().toLocaleDateString("en-GB", { day: "numeric", month: "short", timeZone: "UTC" });
    await rest(page);
    await page.keyboard.press("Escape");
    await row(page, "robin").getByText(today, { exact: true }).waitFor();
    await row(page, "robin").getByText("used up", { exact: true }).waitFor();
    expect(await row(page, "sasha").getByText("used up").count()).toBe(0);
  });

  test("of a month is set in the table itself, which tells what it would change, and is taken back by one press", async () => {
    await ask("POST", "/admin/v1/limits", {
      name: "all",
      subject: {},
      measure: "cost",
      amount: 4,
      window: "month",
    });
    expect(await send("team:search")).toBe(200);
    const { page } = await open();
    const cell = (words: string) => page.getByRole("button", { name: `Budget of robin: ${words}.` });
    const field = page.getByRole("textbox", { name: "Budget of robin, in dollars a month" });
    await cell("none").click();
    await field.fill("2");
    const note = page.getByLabel("What this budget of robin would mean");
    await note.getByText("Makes 1 limit, for robin.").waitFor();
    await note
      .getByText("Used up already ($2.50 this month): robin is refused from the next request on.")
      .waitFor();
    await page.keyboard.press("Escape");
    await cell("none").waitFor();
    expect(await readLimits()).toHaveLength(1);
    await cell("none").click();
    await field.fill("20");
    await page.keyboard.press("Enter");
    await page.getByText("robin: monthly budget created").waitFor();
    await cell("$20.00").waitFor();
    await eventually(async () =>
      expect(await page.evaluate(() => document.activeElement?.getAttribute("aria-label"))).toBe(
        "Budget of robin: $20.00. Change",
      ),
    );
    await cell("$20.00").click();
    await field.fill("30");
    await page
      .getByLabel("What this budget of robin would mean")
      .getByText("Changes 1 limit, “robin: monthly budget” (now $20.00), for robin.")
      .waitFor();
    await page.keyboard.press("Enter");
    await cell("$30.00").waitFor();
    await page.getByRole("button", { name: "Undo" }).first().click();
    await cell("$20.00").waitFor();
    expect(await readLimits()).toMatchObject([
      { name: "all", amount: 4 },
      { name: "robin: monthly budget", amount: 20, subject: { principal: "robin" } },
    ]);
  });

  test("that several share tells when it was used up and who spent it, and leads to the report of it", async () => {
    await ask("POST", "/admin/v1/limits", {
      name: "search team",
      subject: { tag: "team:search" },
      measure: "cost",
      amount: 2,
      window: "month",
    });
    expect(await send("team:search")).toBe(200);
    expect(await send("team:other")).toBe(200);
    const { page } = await open();
    await row(page, "search team").getByText("100% by robin").waitFor();
    await row(page, "search team").click();
    const spent = panel(page, "search team").getByRole("list", { name: "Spent by" });
    await spent.getByText("$2.50").waitFor();
    expect(await spent.getByRole("listitem").count()).toBe(1);
    await panel(page, "search team").getByRole("link", { name: "Open in Overview" }).click();
    await page.waitForURL(
      (url) =>
        url.pathname === "/" && url.searchParams.get("by") === "principal" && url.search.includes("search"),
    );
    await page.getByRole("rowheader", { name: "robin" }).waitFor();
    await page.getByText("$2.50").first().waitFor();
  });

  test("that is switched off goes on counting and says so", async () => {
    await ask("POST", "/admin/v1/limits", {
      name: "idle",
      subject: { principal: "robin" },
      measure: "cost",
      amount: 2,
      window: "month",
    });
    expect(await send()).toBe(200);
    const { page } = await open();
    await row(page, "idle").click();
    await panel(page, "idle").getByRole("switch", { name: "Enabled" }).click();
    await panel(page, "idle").getByRole("button", { name: "Save changes" }).click();
    await panel(page, "idle").getByText("off", { exact: true }).waitFor();
    expect(await send()).toBe(200);
    await page.keyboard.press("Escape");
    await row(page, "idle").getByText("off", { exact: true }).waitFor();
  });

  test("of which more than ten are told apart shows them all on demand, a page at a time", async () => {
    for (let index = 0; index < 12; index += 1) expect(await send(`team:t${index}`)).toBe(200);
    const { id } = await ask("POST", "/admin/v1/limits", {
      name: "teams",
      subject: {},
      each: "tag:team",
      measure: "cost",
      amount: 10,
      window: "month",
    });
    const { page } = await open(`/limits?open=${id}`);
    const list = panel(page, "teams").getByRole("list", { name: "Highest use" });
    await eventually(async () => expect(await list.getByRole("listitem").count()).toBe(10));
    await panel(page, "teams").getByRole("button", { name: "Show all" }).click();
    await eventually(async () => expect(await list.getByRole("listitem").count()).toBe(12));
    await panel(page, "teams").getByText("12 of 12").waitFor();
  });
});

describeInBrowser("the audit", () => {
  test("calls a limit by its name and leads to it while it is there", async () => {
    const draft = { subject: {}, measure: "concurrent", amount: 5 };
    await ask("POST", "/admin/v1/limits", { name: "five at once", ...draft });
    const gone = await ask("POST", "/admin/v1/limits", { name: "gone", ...draft });
    await ask("DELETE", `/admin/v1/limits/${gone.id}`);
    const { page } = await open("/audit?target=");
    // Its name outlives it, and leads nowhere.
    await page.getByText("gone", { exact: true }).first().waitFor();
    expect(await page.getByRole("link", { name: "gone", exact: true }).count()).toBe(0);
    await page.getByRole("link", { name: "five at once" }).click();
    await panel(page, "five at once").waitFor();
  });
});

import { afterAll, beforeAll, expect, test } from "bun:test";
import { utcDay, utcMonday, utcMonth } from "d3-time";
import type { Page } from "playwright-core";
import { startModelServer, type ModelServer } from "../../../contrib/demo/model-server.ts";
import { formatCount, formatMoney } from "../../../ui/text/format.ts";
import { describeInBrowser, useBrowser } from "../support/browser.ts";
import { readCsv } from "../support/csv.ts";
import { readDownload } from "../support/download.ts";
import { openAtRest } from "../support/rest.ts";
import { shoot } from "../support/screenshots.ts";
import { makeLoginLink, signInAsAdmin } from "../support/sign-in.ts";
import type { Site } from "../support/site.ts";
import { eventually } from "../support/waiting.ts";
import { doWithin } from "./actions.ts";
import { call, chooseWindow, goTo, makeUsed, sendHello } from "./tasks.ts";

const browser = useBrowser();
/** Kinds of errors that Errors lists before it is asked for all. */
const KINDS_FIRST = 6;

let provider: ModelServer;
beforeAll(async () => {
  provider = await startModelServer({ port: 0, chatModels: ["gpt-4o-mini"] });
});
afterAll(() => provider.stop());

const TWO_WEEKS = { demo: { days: 14, seed: 1 } };
/** All of this month, and half of the one before at least. */
const LAST_MONTH = { demo: { days: 46, seed: 1 } };

async function begin(demo = TWO_WEEKS): Promise<{ readonly site: Site; readonly page: Page }> {
  const site = await browser.sharedSite(demo);
  const visitor = await browser.newVisitor({ baseUrl: site.url });
  await signInAsAdmin(visitor, site);
  await openAtRest(visitor.page, "/");
  return { site, page: visitor.page };
}

interface Used {
  readonly value: string;
  readonly requests: number;
  readonly cost: number | null;
  readonly cost_per_request: number | null;
}

/** The largest cost first. */
async function breakDown(site: Site, by: string, query: string): Promise<readonly Used[]> {
  const { rows } = await call(site, "GET", `/stats/breakdown?by=${by}&limit=50&${query}`);
  return rows.toSorted((left: Used, right: Used) => (right.cost ?? -1) - (left.cost ?? -1));
}

const toWindow = (since: Date, until: Date) => `since=${since.toISOString()}&until=${until.toISOString()}`;

describeInBrowser("an answer, from the overview", () => {
  test("2: who spent most last week, and on which model, takes three presses", async () => {
    const { site, page } = await begin();
    const monday = utcMonday(new Date());
    const week = toWindow(utcMonday.offset(monday, -1), monday);
    const [spender] = await breakDown(site, "principal", week);
    const [model] = await breakDown(site, "model", `${week}&principal=${spender?.value}`);
    await doWithin(page, 3, async () => {
      await chooseWindow(page, "Last week");
      await page.getByRole("button", { name: "Person", exact: true }).click();
      const table = page.getByRole("table", { name: "Usage by person" });
      await eventually(async () => {
        const row = table.getByRole("row").nth(1);
        expect(
          await row
            .getByRole("rowheader")
            .getByTitle(spender?.value ?? "", { exact: true })
            .count(),
        ).toBe(1);
        const cells = await row.getByRole("cell").allInnerTexts();
        expect(cells[0]?.replace(/ \+\d+$/, "")).toBe(model?.value ?? "");
        // A plus tells of units that have no price.
        expect(cells.map((cell) => cell.replace(/\+$/, ""))).toContain(formatMoney(spender?.cost ?? null));
      });
    });
  });

  test("3: what a request to each of two models costs takes four presses", async () => {
    const { site, page } = await begin();
    // The overview's own window holds all that the demonstration has.
    const used = await breakDown(site, "model", "");
    const [first, second] = used.toSorted((left, right) => right.requests - left.requests);
    expect(first?.cost_per_request).not.toBe(second?.cost_per_request);
    const names = [first?.value ?? "", second?.value ?? ""];
    await doWithin(page, 4, async () => {
      await page.getByRole("combobox", { name: "Add a filter" }).click();
      for (const name of names) {
        await page
          .getByRole("group", { name: /^Model( · |$)/ })
          .getByRole("option")
          .filter({ has: page.getByTitle(name, { exact: true }) })
          .click();
      }
      const compared = page.getByRole("region", { name: "Comparison" });
      await eventually(async () => {
        expect(await compared.getByRole("columnheader").allTextContents()).toEqual(names);
        const costs = compared.getByRole("row", { name: /^Cost per request/ }).getByRole("cell");
        expect(await costs.allTextContents()).toEqual(
          [first, second].map((model) => formatMoney(model?.cost_per_request ?? null)),
        );
      });
    });
  });

  test("4: why requests failed yesterday, with kind, count and status, takes three presses", async () => {
    const { site, page } = await begin();
    const today = utcDay(new Date());
    const yesterday = toWindow(utcDay.offset(today, -1), today);
    const { breakdown } = await call(site, "GET", `/stats/errors?${yesterday}`);
    const failed = breakdown.filter(({ outcome }: any) =>
      ["upstream_error", "unreachable"].includes(outcome),
    );
    const byKind = Map.groupBy(failed, ({ error_kind: kind }: any): string => kind);
    const counts = [...byKind]
      .map(([kind, rows]) => [kind, rows.reduce((sum, { requests }: any) => sum + requests, 0)] as const)
      .toSorted(([, left], [, right]) => right - left);
    // The list shows as many kinds at first; of those that are as rare as the first that is not shown any may be in it.
    const rare = counts[KINDS_FIRST]?.[1] ?? 0;
    const leading = counts.filter(([, count]) => count > rare);
    expect(leading.length).toBeGreaterThan(0);
    await doWithin(page, 3, async () => {
      await goTo(page, "Errors");
      await chooseWindow(page, "Yesterday");
      for (const [kind, count] of leading) {
        const cause = page.getByRole("listitem").filter({ has: page.getByText(kind, { exact: true }) });
        await cause.getByText(new RegExp(`^${formatCount(count)} requests?`)).waitFor();
      }
      const routes = page.getByRole("region", { name: "Errors by route", exact: true });
      for (const status of new Set<string>(failed.map(({ status_code: code }: any) => String(code)))) {
        await routes.getByText(status, { exact: true }).first().waitFor();
      }
    });
  });

  test("5: the request with an id takes two presses, whatever the window", async () => {
    const { site, page } = await begin();
    const { requests } = await call(site, "GET", "/stats/requests?limit=1&order=oldest");
    const [{ id, principal }] = requests;
    await doWithin(page, 2, async () => {
      const box = page.getByRole("combobox", { name: "Add a filter" });
      await box.click();
      await box.fill(id);
      await page.getByRole("option", { name: `Open ${id}` }).waitFor();
      await page.keyboard.press("Enter");
      const detail = page.getByRole("dialog");
      await detail.getByText(id, { exact: true }).waitFor();
      await detail.getByText(principal, { exact: true }).first().waitFor();
    });
  });

  test("13: why a request was refused, by the id of its error message, takes two presses", async () => {
    const { site, page } = await begin();
    const response = await fetch(`${site.url}/v1/chat/completions`, {
      method: "POST",
      headers: { authorization: `Bearer ${await site.adminKey()}`, "content-type": "application/json" },
      body: '{"model":"misspelled","messages":[]}',
    });
    const { proxy }: any = await response.json();
    const showsReason = async () => {
      const detail = page.getByRole("dialog", { name: "Refused request" });
      for (const text of [
        proxy.request_id,
        "model_not_found",
        "The model `misspelled` is not served here.",
        "Check its name under Models.",
      ])
        await detail.getByText(text).waitFor();
    };
    await doWithin(page, 2, async () => {
      await page.keyboard.press("Control+k");
      await page.getByRole("combobox", { name: "Page, model, person, key or action" }).fill(proxy.request_id);
      await page.getByRole("option", { name: `Open the request ${proxy.request_id}` }).waitFor();
      await page.keyboard.press("Enter");
      await showsReason();
    });
    await shoot(page, "refused-request");
    await page.goto("/requests");
    await doWithin(page, 2, async () => {
      const box = page.getByRole("combobox", { name: "Add a filter" });
      await box.click();
      await box.fill(proxy.request_id);
      await page.getByRole("option", { name: /refused: model_not_found$/ }).waitFor();
      await page.keyboard.press("Enter");
      await showsReason();
    });
  });

  test("16: who made a model dearer, when and from which price, takes two presses", async () => {
    const site = await browser.newSite();
    await makeUsed(site, provider, { input_tokens: 1 });
    await call(site, "POST", "/admin/v1/principals", { name: "ada", role: "admin" });
    const { key } = await call(site, "POST", "/admin/v1/keys", { principal: "ada" });
    await call(site, "PATCH", "/admin/v1/models/fast", { pricing: { input_tokens: 4 } }, key);
    const visitor = await browser.newVisitor({ baseUrl: site.url });
    await signInAsAdmin(visitor, site);
    await openAtRest(visitor.page, "/");
    const { page } = visitor;
    await doWithin(page, 2, async () => {
      await goTo(page, "Audit");
      await page.getByRole("searchbox", { name: "Find" }).fill("fast");
      const row = page.getByRole("listitem").filter({ hasText: "model.update" });
      await row.filter({ hasText: "ada" }).getByText("input tokens $1.00 → $4.00").waitFor();
      expect(await row.count()).toBe(1);
    });
  });

  test("18: last month's CSV by person takes three presses, and has the figures that are shown", async () => {
    const { site, page } = await begin(LAST_MONTH);
    const month = toWindow(utcMonth.offset(utcMonth(new Date()), -1), utcMonth(new Date()));
    const people = await breakDown(site, "principal", month);
    expect(people.length).toBeGreaterThan(3);
    await doWithin(page, 3, async () => {
      await page.keyboard.press("Control+k");
      await page.getByRole("combobox", { name: "Page, model, person, key or action" }).fill("last month");
      await page.getByRole("option", { name: "Usage by person, last month" }).waitFor();
      await page.keyboard.press("Enter");
      await page.getByRole("table", { name: "Usage by person" }).waitFor();
      const [download] = await Promise.all([
        page.waitForEvent("download"),
        page.getByRole("button", { name: "As shown", exact: true }).click(),
      ]);
      expect(download.suggestedFilename()).toMatch(
        /^lockport-usage-by-person_\d{4}-\d\d-01_\d{4}-\d\d-01_UTC\.csv$/,
      );
      const [head = [], ...rows] = readCsv(await readDownload(download));
      for (const name of ["failed", "cancelled", "unpriced", "cached_input_tokens", "duration_p50_ms"])
        expect(head).toContain(name);
      const figures = rows.map((row) => [row[0], row[head.indexOf("requests")]]);
      expect(Object.fromEntries(figures)).toEqual(
        Object.fromEntries(people.map(({ value, requests }) => [value, String(requests)])),
      );
    });
  });

  test("10: what a member spent this month, and on what, takes two presses", async () => {
    const site = await browser.newSite();
    await call(site, "POST", "/admin/v1/principals", { name: "robin" });
    const { key } = await call(site, "POST", "/admin/v1/keys", { principal: "robin" });
    await makeUsed(site, provider, { input_tokens: 1000, output_tokens: 1000 });
    await sendHello(site, key);
    const month = toWindow(utcMonth(new Date()), new Date());
    const [used] = await breakDown(site, "model", `${month}&principal=robin`);
    const spent = formatMoney(used?.cost ?? null);
    expect(spent).toStartWith("$0.0");
    const { page } = await browser.newVisitor({ baseUrl: site.url });
    await page.goto(await makeLoginLink(site, "robin"));
    await page.getByRole("heading", { level: 1, name: "Overview" }).waitFor();
    await doWithin(page, 2, async () => {
      await goTo(page, "My usage");
      await page.getByRole("button", { name: "This month", exact: true }).click();
      await page.waitForURL(/range=this-month/);
      const cost = page.getByRole("group", { name: "Cost", exact: true });
      await cost.getByText(spent, { exact: true }).waitFor();
      const models = page.getByRole("table", { name: "Your usage by model" });
      const row = models.getByRole("row", { name: /fast/ });
      await row.getByText(spent, { exact: true }).first().waitFor();
      expect(await models.getByRole("rowheader").allTextContents()).toEqual(["fast"]);
    });
  });

  test("15: why this week cost more or less than the last one takes two presses", async () => {
    const { page } = await begin();
    const monday = utcMonday(new Date());
    await doWithin(page, 2, async () => {
      await page
        .getByRole("group", { name: "Cost", exact: true })
        .getByRole("button", { name: "Why?" })
        .click();
      const dialog = page.getByRole("dialog", { name: "Why did the cost change?" });
      const asked = `/stats/cost-change?since=${encodeURIComponent(monday.toISOString())}`;
      const answered = page.waitForResponse((response) => response.url().includes(asked));
      await dialog.getByRole("button", { name: "This week", exact: true }).click();
      const { total, models } = JSON.parse(await (await answered).text());
      const terms = dialog.getByRole("table", { name: "What the difference is made of" });
      const inSigns = (amount: number) => `${amount > 0 ? "+" : ""}${formatMoney(amount)}`;
      await terms
        .getByRole("row", { name: /^Difference/ })
        .getByText(inSigns(total.difference), { exact: true })
        .waitFor();
      for (const [label, term] of [
        ["Volume", "volume"],
        ["Mix of models", "models"],
        ["Tokens a request", "tokens"],
        ["Cache", "cache"],
        ["Price", "price"],
      ] as const)
        expect(
          await terms
            .getByRole("row", { name: new RegExp(`^${label}`) })
            .getByRole("cell")
            .last()
            .innerText(),
        ).toBe(inSigns(total.terms[term]));
      const changed = models.filter(({ difference }: any) => difference !== 0).slice(0, 6);
      expect(changed.length).toBeGreaterThan(0);
      const list = dialog.getByRole("table", { name: "Models whose cost changed most" });
      expect(await list.getByRole("rowheader").allInnerTexts()).toEqual(
        changed.map(({ model }: any) => model),
      );
    });
    await page.keyboard.press("Escape");
    await page.getByRole("dialog").waitFor({ state: "detached" });
  });

  test("17: two models are compared on one question in four presses", async () => {
    const site = await browser.newSite();
    await makeUsed(site, provider, { input_tokens: 1000, output_tokens: 1000 });
    const other = { alias: "slow", provider: "lab", upstream_name: "gpt-4o-mini" };
    await call(site, "POST", "/admin/v1/models", {
      ...other,
      pricing: { input_tokens: 1, output_tokens: 1 },
    });
    const visitor = await browser.newVisitor({ baseUrl: site.url });
    await signInAsAdmin(visitor, site);
    const { page } = visitor;
    await openAtRest(page, "/");
    await doWithin(page, 4, async () => {
      await goTo(page, "Playground");
      await page.getByRole("button", { name: "Compare with another model" }).click();
      await page.getByRole("textbox", { name: "Message", exact: true }).fill("Hello?");
      await page.getByRole("button", { name: "Send" }).click();
      const costs = page.locator("dl div", { has: page.getByText("Cost", { exact: true }) });
      await costs
        .getByText(/^\$0\.\d+$/)
        .nth(1)
        .waitFor();
      const shown = page.getByRole("region", { name: "Conversation" });
      expect(await shown.getByRole("heading", { level: 2 }).allTextContents()).toEqual([
        "You",
        "fast",
        "slow",
      ]);
    });
  });
});

import { beforeEach, expect, test } from "bun:test";
import type { Locator, Page } from "playwright-core";
import { callApi } from "../support/installation.ts";
import { checkAccessibility } from "./support/axe.ts";
import { describeInBrowser, useBrowser } from "./support/browser.ts";
import { copiedBy } from "./support/clipboard.ts";
import { tabThrough } from "./support/keyboard.ts";
import { rest } from "./support/rest.ts";
import { makeLoginLink, signInAsAdmin, signInBySso } from "./support/sign-in.ts";
import type { Site } from "./support/site.ts";
import { inBothThemes } from "./support/themes.ts";
import type { Visitor, VisitorOptions } from "./support/visitor.ts";
import { eventually } from "./support/waiting.ts";

const browser = useBrowser();

const DEMO = { demo: { days: 14, seed: 1 } } as const;
let site: Site;

interface Listed {
  readonly id: string;
  readonly hidden: boolean;
  readonly alias_of: string | null;
  readonly capabilities: readonly string[];
  readonly pricing: Readonly<Record<string, number>>;
}

async function chooseCapability(page: Page, name: string): Promise<void> {
  await page.getByRole("combobox", { name: "Capability" }).click();
  await page.getByRole("option", { name, exact: true }).click();
}

async function listed(): Promise<readonly Listed[]> {
  const path = "/v1/models?include_pricing=1&include_hidden=1";
  const response = await callApi(site.url, await site.adminKey(), "GET", path);
  return JSON.parse(await response.text()).data;
}

async function find(what: string, matches: (model: Listed) => boolean): Promise<Listed> {
  const found = (await listed()).find(matches);
  if (found === undefined) throw new Error(`no model ${what}`);
  return found;
}

async function visit(path: string, options: Partial<VisitorOptions> = {}): Promise<Visitor> {
  const visitor = await browser.newVisitor({ baseUrl: site.url, ...options });
  await visitor.page.goto(await makeLoginLink(site, "linus"));
  await visitor.page.getByRole("heading", { level: 1, name: "Overview" }).waitFor();
  await visitor.page.goto(path);
  await rows(visitor.page).first().waitFor();
  return visitor;
}

function rows(page: Page): Locator {
  return page.getByRole("region", { name: "Models", exact: true }).locator("tbody tr[data-index]");
}

/** By the button that opens it, which has its name. */
function rowOf(page: Page, id: string): Locator {
  return rows(page).filter({ has: page.locator(`[data-row-id="${id}"]`) });
}

async function shownIds(page: Page): Promise<readonly (string | null)[]> {
  return await rows(page)
    .locator("[data-row-open]")
    .evaluateAll((buttons) => buttons.map((button) => button.getAttribute("data-row-id")));
}

async function showsOnly(page: Page, expected: readonly string[]): Promise<void> {
  await eventually(async () => expect(await shownIds(page)).toEqual([...expected]));
}

describeInBrowser("the models of a member", () => {
  beforeEach(async () => {
    site = await browser.sharedSite(DEMO);
  });

  test("lists what the server lists, and hidden models on request alone", async () => {
    const models = await listed();
    const open = models.filter(({ hidden }) => !hidden).map(({ id }) => id);
    expect(open.length).toBeLessThan(models.length);
    const { page } = await visit("/models");
    await showsOnly(page, open);
    await page.getByRole("switch", { name: "Show hidden" }).click();
    await page.waitForURL((url) => url.searchParams.get("hidden") === "1");
    await showsOnly(
      page,
      models.map(({ id }) => id),
    );
    const hidden = models.find((model) => model.hidden);
    await rowOf(page, hidden?.id ?? "")
      .getByText("hidden", { exact: true })
      .waitFor();
  });

  test("finds by text and capability, which stay in the address, and clears them when nothing is left", async () => {
    const open = (await listed()).filter(({ hidden }) => !hidden);
    const { page } = await visit("/models");
    await page.keyboard.press("/");
    await page.keyboard.type("GPT-5");
    await page.waitForURL((url) => url.searchParams.get("q") === "GPT-5");
    // Also what is a name for one of them.
    const gpt = open.filter(({ id, alias_of }) => `${id} ${alias_of}`.includes("gpt-5")).map(({ id }) => id);
    expect(gpt.length).toBeGreaterThan(1);
    await showsOnly(page, gpt);
    await chooseCapability(page, "Embeddings");
    await page.getByText("No model matches").waitFor();
    await page.reload();
    await page.getByRole("button", { name: "Clear filters" }).click();
    await page.waitForURL((url) => url.search === "");
    await chooseCapability(page, "Embeddings");
    await page.waitForURL((url) => url.searchParams.get("capability") === "embeddings");
    await showsOnly(
      page,
      open.filter(({ capabilities }) => capabilities.includes("embeddings")).map(({ id }) => id),
    );
  });

  test("says of a price that it is missing or inherited, and never that it is nothing", async () => {
    const unpriced = await find("without prices", ({ pricing }) => Object.keys(pricing).length === 0);
    const name = await find("for another", ({ alias_of: target }) => target !== null);
    const { page } = await visit("/models");
    const row = rowOf(page, unpriced.id);
    await eventually(async () => expect(await row.getByText("Unpriced", { exact: true }).count()).toBe(3));
    expect(await row.textContent()).not.toContain("$");
    const named = rowOf(page, name.id);
    await named.getByText(`name for ${name.alias_of}`).waitFor();
    await named.getByText("inherited").waitFor();
    await rowOf(page, name.alias_of ?? "")
      .getByText(`also called ${name.id}`)
      .waitFor();
  });

  test("counts what was asked of each name as the summary does", async () => {
    const { page } = await visit("/models");
    const midnightMs = Math.floor(Date.now() / 86_400_000) * 86_400_000 - 29 * 86_400_000;
    const path = `/stats/summary?since=${new Date(midnightMs).toISOString()}&model=gpt-5`;
    const response = await callApi(site.url, await site.adminKey(), "GET", path);
    const { usage }: { usage: { requests: number }[] } = JSON.parse(await response.text());
    const requests = usage.reduce((sum, row) => sum + row.requests, 0);
    expect(requests).toBeGreaterThan(0);
    await rowOf(page, "gpt-5").getByText(requests.toLocaleString("en-US"), { exact: true }).waitFor();
    await rowOf(page, "gpt-5").click();
    // The panel counts the same, from days.
    await page
      .getByRole("dialog", { name: "gpt-5" })
      .getByText(requests.toLocaleString("en-US"), { exact: true })
      .waitFor();
  });

  test("opens a model by keyboard, has it in the address, and gives the focus back to its row", async () => {
    const { page } = await visit("/models");
    await rowOf(page, "gpt-5").locator("[data-row-open]").focus();
    await page.keyboard.press("Enter");
    const panel = page.getByRole("dialog", { name: "gpt-5" });
    await panel.getByText("Prices per million").waitFor();
    await page.waitForURL((url) => url.searchParams.get("open") === "gpt-5");
    await rest(page);
    await inBothThemes(page, () => checkAccessibility(page));
    await tabThrough(page, { within: "[role=dialog]" });
    await page.keyboard.press("Escape");
    await panel.waitFor({ state: "detached" });
    await page.waitForURL((url) => !url.searchParams.has("open"));
    await page.locator('[data-row-id="gpt-5"]:focus').waitFor();
    await page.goto("/models?open=gpt-5");
    await page.getByRole("dialog", { name: "gpt-5" }).getByRole("link", { name: "Try it" }).click();
    await page.waitForURL(
      (url) => url.pathname === "/playground" && url.searchParams.get("model") === "gpt-5",
    );
  });

  test("copies a name, also on an insecure origin, without opening the row", async () => {
    const { page } = await visit("/models", { insecureOrigin: true });
    const button = page.getByRole("button", { name: "Copy the name gpt-5", exact: true });
    expect(await copiedBy(page, () => button.click())).toBe("gpt-5");
    expect(await page.getByRole("dialog").count()).toBe(0);
  });

  test("shows how each client calls a model under this address, and only what the model answers", async () => {
    const embedding = await find(
      "for vectors alone",
      ({ capabilities }) => capabilities.length === 1 && capabilities[0] === "embeddings",
    );
    const { page, baseUrl } = await visit("/models");
    await page.getByRole("button", { name: "How to call gpt-5", exact: true }).click();
    const chat = page.getByRole("dialog", { name: "How to call gpt-5" });
    await chat.getByText(`${baseUrl}/v1/chat/completions`).waitFor();
    await checkAccessibility(page);
    await page.keyboard.press("Escape");
    await chat.waitFor({ state: "detached" });
    await page.locator('button[aria-label="How to call gpt-5"]:focus').waitFor();
    expect(new URL(page.url()).searchParams.has("open")).toBe(false);

    const row = rowOf(page, embedding.id);
    await row.waitFor();
    expect(await row.getByRole("link").count()).toBe(0);
    await row.getByRole("button", { name: `How to call ${embedding.id}` }).click();
    const vectors = page.getByRole("dialog", { name: `How to call ${embedding.id}` });
    await vectors.getByText(`${baseUrl}/v1/embeddings`).waitFor();
    expect(await vectors.locator("pre").allTextContents()).not.toContainEqual(
      expect.stringContaining("chat/completions"),
    );
  });
});

describeInBrowser("a server without models", () => {
  test("leads an admin to the setup, and a member to an admin", async () => {
    const empty = await browser.newSite({ people: { grace: { preferred_username: "grace" } } });
    const admin = await browser.newVisitor({ baseUrl: empty.url });
    await signInAsAdmin(admin, empty);
    await admin.page.goto("/models");
    await admin.page.getByText("No models yet").waitFor();
    const main = admin.page.locator("main");
    await main.getByRole("link", { name: "Continue the setup" }).click();
    await admin.page.waitForURL("**/setup");

    const member = await browser.newVisitor({ baseUrl: empty.url });
    await signInBySso(member, empty, "grace");
    await member.page.goto("/models");
    await member.page.getByText("Ask one of yours.").waitFor();
    expect(await member.page.getByRole("link", { name: /provider/i }).count()).toBe(0);
  });
});

import { beforeEach, expect, test } from "bun:test";
import type { Page } from "playwright-core";
import { callApi } from "../support/installation.ts";
import { checkAccessibility } from "./support/axe.ts";
import { describeInBrowser, useBrowser } from "./support/browser.ts";
import { copiedBy } from "./support/clipboard.ts";
import { checkFits } from "./support/layout.ts";
import { rest } from "./support/rest.ts";
import { signInAsAdmin } from "./support/sign-in.ts";
import type { Site } from "./support/site.ts";
import { inBothThemes } from "./support/themes.ts";
import type { Visitor } from "./support/visitor.ts";
import { eventually } from "./support/waiting.ts";

const browser = useBrowser();

let site: Site;
beforeEach(async () => {
  site = await browser.newSite({
    upstream: {
      script: (call) => call.reply({ body: '{"usage":{"prompt_tokens":1000,"completion_tokens":10}}' }),
      models: { fast: "vendor/fast" },
    },
  });
});

/** The status that a request for this model gets with a key. */
async function ask(model: string, key?: string): Promise<number> {
  const body = { model, messages: [{ role: "user", content: "hello" }] };
  const response = await callApi(
    site.url,
    key ?? (await site.adminKey()),
    "POST",
    "/v1/chat/completions",
    body,
  );
  await response.arrayBuffer();
  return response.status;
}

async function look(page: Page): Promise<void> {
  await rest(page);
  await inBothThemes(page, async () => {
    await checkAccessibility(page);
    await checkFits(page);
  });
}

async function goTo(page: Page, name: string): Promise<void> {
  await page.getByRole("navigation", { name: "Pages" }).getByRole("link", { name, exact: true }).click();
  await page.getByRole("heading", { level: 1, name }).waitFor();
}

const panel = (page: Page, name: string) => page.getByRole("dialog", { name, exact: true });

async function setPrice(page: Page): Promise<void> {
  const unpriced = page.getByRole("group", { name: "Unpriced", exact: true });
  await unpriced.getByRole("link").click();
  await page.getByRole("heading", { name: "Used without a price" }).waitFor();
  await look(page);
  for (const [unit, price] of [
    ["input tokens", "2"],
    ["output tokens", "5"],
  ] as const) {
    await page.getByRole("button", { name: `Set price for ${unit} of fast`, exact: true }).click();
    await page.getByRole("textbox", { name: /^Price per million/ }).fill(price);
    await look(page);
    await page.keyboard.press("Enter");
    await page
      .getByRole("button", { name: `Set price for ${unit} of fast`, exact: true })
      .waitFor({ state: "detached" });
  }
  await page.getByText("Every used unit has a price").waitFor();
  expect(await ask("fast")).toBe(200);
  await goTo(page, "Requests");
  const costs = page.getByRole("region", { name: "Requests", exact: true }).locator("tbody tr[data-index]");
  await costs.nth(1).waitFor();
  // Cost is of when it was recorded: the one before stays as it was.
  await costs.nth(0).getByText("$0.00205").waitFor();
  await costs.nth(1).getByText("unpriced").waitFor();
}

async function changeModels(page: Page): Promise<void> {
  await goTo(page, "Models");
  await page.getByRole("button", { name: "Change fast", exact: true }).press("Enter");
  await panel(page, "fast").getByRole("textbox", { name: "Alias" }).fill("quick");
  await look(page);
  await page.getByRole("button", { name: "Save changes" }).click();
  await page.getByText("fast is now quick").first().waitFor();
  await panel(page, "quick").waitFor();
  expect([await ask("fast"), await ask("quick")]).toEqual([404, 200]);

  await page.getByRole("textbox", { name: "Another name" }).fill("default");
  await page.getByRole("button", { name: "Add name" }).click();
  await page.getByRole("list", { name: "Other names of quick" }).getByText("default").waitFor();
  expect(await ask("default")).toBe(200);
  await page.getByRole("button", { name: "Delete model" }).click();
  const inUse = page.getByRole("dialog", { name: "quick is in use" });
  await inUse.getByRole("link", { name: "default" }).waitFor();
  expect(await inUse.getByRole("button", { name: /Delete/ }).count()).toBe(0);
  await look(page);
  await inUse.getByRole("button", { name: "Close" }).first().click();
  await inUse.waitFor({ state: "detached" });
  await page.keyboard.press("Escape");
  await panel(page, "quick").waitFor({ state: "detached" });

  await page.getByRole("switch", { name: "quick listed" }).click();
  await page.getByText("quick is not listed any more").first().waitFor();
  await goTo(page, "Models");
  await page.getByRole("switch", { name: "default listed", checked: true }).waitFor();
  await page.getByRole("switch", { name: "quick listed", checked: false }).waitFor();
  // It is off the list of callers, and serves.
  expect(await ask("quick")).toBe(200);
}

async function changePeople(visitor: Visitor): Promise<void> {
  const { page } = visitor;
  await goTo(page, "People & keys");
  await page.getByRole("button", { name: "Add person or service" }).click();
  await page.getByRole("textbox", { name: "Name" }).fill("robin");
  await look(page);
  await page.getByRole("button", { name: "Add", exact: true }).click();
  const robin = panel(page, "robin");
  await robin.getByRole("button", { name: "Create a key" }).click();
  await page.keyboard.press("Enter");
  const key = await copiedBy(page, () => page.getByRole("button", { name: "Copy key" }).click());
  await page.getByRole("button", { name: "Done" }).click();
  expect(await ask("default", key)).toBe(200);
  await robin.getByRole("switch", { name: "Enabled" }).click();
  const question = page.getByRole("alertdialog", { name: "Disable robin?" });
  await question.getByText("1 key").waitFor();
  await look(page);
  await question.getByRole("button", { name: "Disable" }).click();
  await robin.getByText("disabled", { exact: true }).waitFor();
  await question.waitFor({ state: "detached" });
  expect(await ask("default", key)).toBe(401);
  await page.keyboard.press("Escape");
  await robin.waitFor({ state: "detached" });

  await page.getByRole("row", { name: /^Details of admin|^admin / }).click();
  await panel(page, "admin").getByRole("combobox", { name: "Role" }).click();
  await page.getByRole("option", { name: /^Member/ }).click();
  const last = page.getByRole("alertdialog", { name: "Make admin a member?" });
  visitor.expect(/^request: PATCH .* answered 409$/);
  await last.getByRole("button", { name: "Make member" }).click();
  await last.getByText("last_admin").waitFor();
  await look(page);
  await page.keyboard.press("Escape");
  await last.waitFor({ state: "detached" });
  await page.keyboard.press("Escape");
  await panel(page, "admin").waitFor({ state: "detached" });
}

async function disableProvider(page: Page): Promise<void> {
  await goTo(page, "Providers");
  await page.getByRole("switch", { name: "lab enabled" }).click();
  const question = page.getByRole("alertdialog");
  for (const name of ["quick", "default"]) await question.getByRole("link", { name, exact: true }).waitFor();
  await look(page);
  await question.getByRole("button", { name: "Disable provider" }).click();
  await page.getByText("lab is disabled").first().waitFor();
  await question.waitFor({ state: "detached" });
  expect(await ask("default")).toBe(404);
  await goTo(page, "Models");
  const row = page.getByRole("row").filter({ has: page.locator('[data-row-id="default"]') });
  await row.getByText("provider disabled").waitFor();
  await look(page);
  await goTo(page, "Providers");
  await page.getByRole("switch", { name: "lab enabled" }).click();
  await page.getByText("lab is enabled").first().waitFor();
  await goTo(page, "Models");
  await row.getByText("provider disabled").waitFor({ state: "detached" });
  await page.getByRole("button", { name: "Change default", exact: true }).waitFor();
  expect(await ask("default")).toBe(200);
}

async function loadFeed(page: Page): Promise<void> {
  await goTo(page, "Models");
  await page.getByRole("link", { name: "Prices", exact: true }).click();
  await page.getByRole("heading", { name: "Prices per million" }).waitFor();
  await page.getByRole("button", { name: "Load prices" }).click();
  await look(page);
  const feed = {
    version: "spring",
    entries: [
      { model: "quick", unit: "input_tokens", price_per_million: 3 },
      { model: "vendor/other", unit: "input_tokens", price_per_million: 1 },
    ],
  };
  await page.locator('input[type="file"]').setInputFiles({
    name: "spring.json",
    mimeType: "application/json",
    buffer: Buffer.from(JSON.stringify(feed)),
  });
  const review = page.getByRole("dialog", { name: "Review changes" });
  const changed = review.getByRole("row", { name: /quick/ });
  for (const part of ["$2.00", "$3.00", "+50%"]) await changed.getByText(part).waitFor();
  await look(page);
  await review.getByRole("button", { name: /^Added 1/ }).click();
  await review.getByRole("row", { name: /vendor\/other/ }).waitFor();
  await review.getByRole("button", { name: "Load 2 prices" }).click();
  const loaded = page.getByRole("dialog", { name: "Prices loaded" });
  await loaded.getByText("2: 1 changed, 1 added, 0 as before").waitFor();
  await look(page);
  await loaded.getByRole("button", { name: "Done" }).click();
  await loaded.waitFor({ state: "detached" });
}

describeInBrowser("an admin's day", () => {
  test("sets a price, renames and hides a model, disables people and providers, loads a feed; and the audit has it all", async () => {
    expect(await ask("fast")).toBe(200);
    const visitor = await browser.newVisitor({ baseUrl: site.url });
    await signInAsAdmin(visitor, site);
    const { page } = visitor;
    await page.goto("/");
    await page.getByRole("rowheader", { name: "fast" }).waitFor();
    await setPrice(page);
    await changeModels(page);
    await changePeople(visitor);
    await disableProvider(page);
    await loadFeed(page);

    await goTo(page, "Audit");
    const done: readonly (readonly [action: string, target: string])[] = [
      ["pricing.load", "spring"],
      ["provider.update", "lab"],
      ["provider.update", "lab"],
      ["principal.update", "robin"],
      ["key.create", "robin"],
      ["principal.create", "robin"],
      ["model.update", "quick"],
      ["model.create", "default"],
      ["model.update", ""],
      ["pricing.load", "by hand"],
      ["pricing.load", "by hand"],
    ];
    // Beneath them is what the site was made with. Whom an id means is known later than that.
    const said = await eventually(async () => {
      const lines = await page.locator("main ol li").allInnerTexts();
      for (const [index, [action, target]] of done.entries()) {
        expect(lines[index]).toContain(action);
        expect(lines[index]).toContain(target);
        expect(lines[index]).toContain("admin");
      }
      return lines;
    });
    // What was refused changed nothing, and is not told as done.
    expect(said.filter((line) => line.includes("principal.update"))).toHaveLength(1);
    await look(page);
  });
});

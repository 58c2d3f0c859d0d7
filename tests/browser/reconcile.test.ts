import { beforeEach, expect, test } from "bun:test";
import type { Page } from "playwright-core";
import { checkAccessibility } from "./support/axe.ts";
import { describeInBrowser, useBrowser } from "./support/browser.ts";
import { readDownload } from "./support/download.ts";
import { shoot } from "./support/screenshots.ts";
import { signInAsAdmin } from "./support/sign-in.ts";
import type { Site } from "./support/site.ts";
import type { VisitorOptions } from "./support/visitor.ts";
import { eventually } from "./support/waiting.ts";

const browser = useBrowser();
const USAGE = { prompt_tokens: 100, completion_tokens: 20 };
/** Enough that one more is a difference. */
const REQUESTS = 20;

let site: Site;
beforeEach(async () => {
  site = await browser.newSite({
    upstream: {
      script: (call) =>
        call.reply({ body: JSON.stringify({ choices: [{ message: { content: "hi" } }], usage: USAGE }) }),
      models: { fast: "vendor/fast" },
    },
  });
  await ask("PATCH", "/admin/v1/models/fast", { pricing: { input_tokens: 1, output_tokens: 10 } });
  for (let count = 0; count < REQUESTS; count += 1)
    await ask("POST", "/v1/chat/completions", { model: "fast", messages: [] });
});

async function ask(method: string, path: string, body?: unknown): Promise<void> {
  const response = await fetch(site.url + path, {
    method,
    headers: { authorization: `Bearer ${await site.adminKey()}`, "content-type": "application/json" },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  expect(response.ok).toBe(true);
  await response.arrayBuffer();
}

async function open(options: Partial<VisitorOptions> = {}): Promise<Page> {
  const { page } = await visit(options);
  return page;
}

async function visit(options: Partial<VisitorOptions>) {
  const visitor = await browser.newVisitor({ baseUrl: site.url, ...options });
  await signInAsAdmin(visitor, site);
  await visitor.page.goto("/reconcile");
  await visitor.page.getByRole("heading", { level: 1, name: "Reconcile" }).waitFor();
  return visitor;
}

const today = new Date().toISOString().slice(0, 10);
/** OpenRouter's activity of the requests: 20 × (100 × 1 + 20 × 10) millionths. */
const activity = (usage: string) =>
  [
    "date,model,model_permaslug,usage,byok_usage_inference,requests,prompt_tokens,completion_tokens,reasoning_tokens",
    `${today},vendor/fast,vendor/fast-20260101,${usage},0,20,2000,400,0`,
    "",
  ].join("\n");

async function drop(page: Page, ...files: readonly (readonly [name: string, text: string])[]): Promise<void> {
  await page
    .locator('input[type="file"]')
    .setInputFiles(files.map(([name, text]) => ({ name, mimeType: "text/csv", buffer: Buffer.from(text) })));
}

const compare = (page: Page) => page.getByRole("button", { name: "Compare" }).click();
const lines = (page: Page) => page.getByRole("region", { name: "Lines" });

describeInBrowser("a bill", () => {
  test("that agrees is said to, with every line of it on request", async () => {
    const page = await open();
    await drop(page, ["activity.csv", activity("0.006")]);
    await compare(page);
    await page.getByRole("heading", { name: "The two agree" }).waitFor();
    await lines(page).getByText("Every line agrees").waitFor();
    await page.getByRole("button", { name: "All 1" }).click();
    await lines(page).getByRole("row").filter({ hasText: "vendor/fast" }).getByText("Equal").waitFor();
    expect(new URL(page.url()).search).toBe("");
  });

  test("that differs shows its lines with their likely reasons, and saves them as CSV", async () => {
    const page = await open();
    await drop(page, ["activity.csv", activity("0.009")]);
    await compare(page);
    await page.getByRole("heading", { name: "1 line differs" }).waitFor();
    const row = lines(page).getByRole("row").filter({ hasText: "vendor/fast" });
    await row.getByText("Bill more").waitFor();
    await row.getByText("Tokens are equal, and cost is not.").waitFor();
    const [download] = await Promise.all([
      page.waitForEvent("download"),
      page.getByRole("button", { name: "CSV", exact: true }).click(),
    ]);
    expect(download.suggestedFilename()).toStartWith("lockport-reconcile_");
    expect((await readDownload(download)).split("\r\n")[1]).toStartWith(
      `bill,${today},vendor/fast,,,bill_more,20,20,2000,2000,`,
    );
  });

  test("that is no export can be read by its columns, of one file or several", async () => {
    const visitor = await visit({});
    const { page } = visitor;
    visitor.expect(/answered 400$/);
    const half = (calls: number) => `Day,Calls\n${today},${calls}\n`;
    await drop(page, ["one.csv", half(12)], ["two.csv", half(8)], ["three.csv", half(9)]);
    await page.getByRole("button", { name: "Remove three.csv" }).click();
    await compare(page);
    await page.getByRole("alert").getByText("invalid_bill").waitFor();
    const columns = page.getByRole("textbox", { name: "Columns" });
    await columns.fill("day=Day");
    await compare(page);
    await page.getByText("Write field=column").waitFor();
    await columns.fill("date=Day, requests=Calls");
    await compare(page);
    await page.getByRole("heading", { name: "The two agree" }).waitFor();
    expect(await page.getByRole("alert").count()).toBe(0);
  });

  test.each(["light", "dark"] as const)("is accessible and fits a telephone, %s", async (theme) => {
    for (const viewport of [
      { width: 1440, height: 900 },
      { width: 390, height: 844 },
    ]) {
      const page = await open({ theme, viewport });
      await drop(page, ["activity.csv", activity("0.009")]);
      await compare(page);
      await page.getByRole("heading", { name: "1 line differs" }).waitFor();
      await checkAccessibility(page, theme);
      await eventually(async () =>
        expect(await page.evaluate<number>("document.documentElement.scrollWidth")).toBe(viewport.width),
      );
      await shoot(page, `reconcile-${theme}-${viewport.width}`, { fullPage: true });
    }
  });
});

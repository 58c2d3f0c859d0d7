import { beforeEach, expect, test } from "bun:test";
import type { Page } from "playwright-core";
import { callApi } from "../support/installation.ts";
import { checkAccessibility } from "./support/axe.ts";
import { describeInBrowser, useBrowser } from "./support/browser.ts";
import { checkFitsSmall } from "./support/layout.ts";
import { openAtRest } from "./support/rest.ts";
import { shoot } from "./support/screenshots.ts";
import { signInAsAdmin } from "./support/sign-in.ts";
import type { Site } from "./support/site.ts";
import { inBothThemes } from "./support/themes.ts";
import type { Visitor } from "./support/visitor.ts";
import { waitForValue } from "./support/waiting.ts";

const browser = useBrowser();

let site: Site;
let limitPath = "";
beforeEach(async () => {
  site = await browser.newSite();
  await call("POST", "/providers", { name: "lab", base_url: "http://127.0.0.1:9/v1" });
  const model = { alias: "fast", provider: "lab", upstream_name: "m", pricing: { input_tokens: 1 } };
  await call("POST", "/models", model);
  const limit = { name: "month", subject: {}, measure: "requests", amount: 50, window: "month" };
  limitPath = `/limits/${(await call("POST", "/limits", limit)).id}`;
});

async function call(method: string, path: string, body?: unknown): Promise<any> {
  const response = await callApi(site.url, await site.adminKey(), method, `/admin/v1${path}`, body);
  expect(response.ok).toBe(true);
  return JSON.parse(await response.text());
}

async function visit(path: string): Promise<Visitor> {
  const visitor = await browser.newVisitor({ baseUrl: site.url });
  await signInAsAdmin(visitor, site);
  await openAtRest(visitor.page, path);
  return visitor;
}

const findLimit = async () => (await call("GET", limitPath)).amount;
const findModel = async () => (await call("GET", "/models")).models[0];
const findProvider = async () => await call("GET", "/providers/lab");

interface Moving {
  readonly what: string;
  readonly open: () => string;
  readonly field: string;
  readonly typed: string;
  /** The change of another person, and the page's words for it. */
  readonly change: () => Promise<unknown>;
  readonly told: string;
  /** The field's value when the newer is taken. */
  readonly newer: string;
  readonly read: () => Promise<unknown>;
  readonly saved: readonly [newer: unknown, typed: unknown];
  /** The buttons that send it, where it is tested before and its test fails. */
  readonly submit?: string;
  readonly anyway?: string;
}

const MOVING: readonly Moving[] = [
  {
    what: "a limit",
    open: () => `/limits?open=${limitPath.split("/")[2]}`,
    field: "Amount",
    typed: "20",
    change: () => call("PATCH", limitPath, { amount: 80 }),
    told: "Amount: 50 80",
    newer: "80",
    read: findLimit,
    saved: [80, 20],
  },
  {
    what: "a model",
    open: () => "/models?open=fast",
    field: "Upstream name",
    typed: "mine",
    change: () => call("PATCH", "/models/fast", { upstream_name: "theirs" }),
    told: "Upstream name: m theirs",
    newer: "theirs",
    read: async () => (await findModel()).upstream_name,
    saved: ["theirs", "mine"],
  },
  {
    what: "a provider",
    open: () => "/providers?open=lab",
    field: "Base URL",
    typed: "http://127.0.0.1:9/v2",
    change: () => call("PATCH", "/providers/lab", { base_url: "http://127.0.0.1:9/v3" }),
    told: "Base URL: http://127.0.0.1:9/v1 http://127.0.0.1:9/v3",
    newer: "http://127.0.0.1:9/v3",
    read: async () => (await findProvider()).base_url,
    saved: ["http://127.0.0.1:9/v3", "http://127.0.0.1:9/v2"],
    // Nothing listens there.
    submit: "Test and save",
    anyway: "Save anyway",
  },
];

const field = (page: Page, name: string) => page.getByRole("dialog").getByRole("textbox", { name }).first();
const press = (page: Page, name: string) => page.getByRole("button", { name, exact: true }).last().click();

describeInBrowser("what somebody else has changed meanwhile", () => {
  test.each(MOVING)("is told before $what is saved over it, and what was typed stays", async (moving) => {
    const { change, typed, newer, read, saved, submit = "Save changes", anyway = null } = moving;
    const visitor = await visit(moving.open());
    const { page } = visitor;
    visitor.expect(/^request: (?:PATCH .* answered 412|POST .*\/lab\/test answered 502)$/);
    const input = field(page, moving.field);
    await input.fill(typed);
    await change();
    await press(page, submit);
    const notice = page.locator("[data-moved]");
    await notice.getByText("This was changed meanwhile").waitFor();
    expect((await notice.getByRole("listitem").allInnerTexts()).map((text) => text.trim())).toEqual([
      moving.told,
    ]);
    expect([await input.inputValue(), await read()]).toEqual([typed, saved[0]]);
    await inBothThemes(page, async () => {
      await checkAccessibility(page);
      await shoot(page, `moved-${moving.what}`);
    });
    await checkFitsSmall(page);
    // Asked once more without a choice, nothing is sent.
    await press(page, submit);
    await page.locator("[data-moved]:focus").waitFor();
    expect(await read()).toEqual(saved[0]);

    await press(page, "Take the newer");
    await notice.waitFor({ state: "detached" });
    await waitForValue(input, newer);
    await input.fill(typed);
    await press(page, submit);
    if (anyway !== null) await press(page, anyway);
    await page
      .getByText(/saved$/)
      .first()
      .waitFor();
    expect(await read()).toEqual(saved[1]);
    expect(await notice.count()).toBe(0);
  });

  test("is saved over where that is wanted", async () => {
    const visitor = await visit(MOVING[0]!.open());
    const { page } = visitor;
    visitor.expect(/^request: PATCH .* answered 412$/);
    await field(page, "Amount").fill("20");
    await call("PATCH", limitPath, { amount: 80 });
    await press(page, "Save changes");
    await press(page, "Save over it");
    await page.getByText("month saved").waitFor();
    expect(await findLimit()).toBe(20);
  });

  test("of a person is told where they are changed or deleted", async () => {
    const { id } = await call("POST", "/principals", { name: "robin" });
    const visitor = await visit(`/people?open=${id}`);
    const { page } = visitor;
    visitor.expect(/^request: PATCH .* answered 412$/);
    await call("PATCH", `/principals/${id}`, { role: "admin" });
    await page.getByRole("dialog", { name: "robin" }).getByRole("switch", { name: "Enabled" }).click();
    await page.getByRole("alertdialog").getByRole("button", { name: "Disable" }).click();
    await page.getByRole("alertdialog").getByText("changed_meanwhile").waitFor();
    const { principals } = await call("GET", "/principals");
    expect(principals.find((one: any) => one.id === id)).toEqual(expect.objectContaining({ role: "admin" }));
    // The list has been asked anew: the second press is made from what it is now.
    await page.getByRole("alertdialog").getByRole("button", { name: "Disable" }).click();
    await page.getByText("robin is disabled").waitFor();
  });

  test("is told at a price in the table, and beside it other prices stay", async () => {
    const visitor = await visit("/models");
    const { page } = visitor;
    const price = (unit: string) => page.getByRole("button", { name: new RegExp(`^${unit} tokens of fast`) });
    await price("Output").press("Enter");
    await page.keyboard.type("9");
    await call("PATCH", "/models/fast", { pricing: { input_tokens: 3 } });
    await page.keyboard.press("Enter");
    await page.getByRole("button", { name: "Output tokens of fast: $9.00, own. Change" }).waitFor();
    expect((await findModel()).pricing).toEqual({ input_tokens: 3, output_tokens: 9 });

    await price("Input").press("Enter");
    await page.keyboard.type("5");
    await call("PATCH", "/models/fast", { pricing: { input_tokens: 4, output_tokens: 9 } });
    await page.keyboard.press("Enter");
    await page.getByText("It was $3.00 when you began and is $4.00 now.").waitFor();
    expect((await findModel()).pricing.input_tokens).toBe(4);
    await shoot(page, "moved-price");
    await page.keyboard.press("Enter");
    await page.getByRole("button", { name: "Input tokens of fast: $5.00, own. Change" }).waitFor();

    // Nor does taking back go over what came after.
    await call("PATCH", "/models/fast", { pricing: { input_tokens: 6, output_tokens: 9 } });
    visitor.expect(/^request: PATCH .* answered 412$/);
    await page.getByRole("button", { name: "Undo" }).last().click();
    await page.getByText("It could not be undone").waitFor();
    expect((await findModel()).pricing.input_tokens).toBe(6);
  });
});

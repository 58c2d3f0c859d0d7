import { beforeEach, expect, test } from "bun:test";
import type { Page } from "playwright-core";
import { callApi } from "../support/installation.ts";
import { checkAccessibility } from "./support/axe.ts";
import { describeInBrowser, useBrowser } from "./support/browser.ts";
import { INSECURE_HOST } from "./support/chromium.ts";
import { copiedBy } from "./support/clipboard.ts";
import { ADMIN_PATHS, MEMBER_PATHS, openAtRest } from "./support/rest.ts";
import { signInAsAdmin } from "./support/sign-in.ts";
import type { Site } from "./support/site.ts";
import type { Visitor } from "./support/visitor.ts";
import { waitForFocus } from "./support/waiting.ts";

const browser = useBrowser();

let site: Site;
beforeEach(async () => {
  site = await browser.newSite({
    upstream: {
      script: (call) => call.reply({ body: '{"usage":{"prompt_tokens":1000,"completion_tokens":10}}' }),
      models: { fast: "upstream-fast" },
      pricing: { input_tokens: 2, output_tokens: 4 },
    },
  });
  const response = await callApi(site.url, await site.adminKey(), "POST", "/v1/chat/completions", {
    model: "fast",
    messages: [{ role: "user", content: "hello" }],
  });
  await response.arrayBuffer();
});

/** By `http://vm.test:<port>`, as one comes to a machine of one's own network. */
async function visit(): Promise<Visitor> {
  const visitor = await browser.newVisitor({ baseUrl: site.url, insecureOrigin: true });
  await signInAsAdmin(visitor, site);
  return visitor;
}

const press = (page: Page, name: string | RegExp) =>
  copiedBy(page, () => page.getByRole("button", { name }).first().click());

describeInBrowser("an insecure origin", () => {
  test("has no clipboard interface; one signs in with the password all the same, and stays signed in", async () => {
    const { page, baseUrl } = await browser.newVisitor({ baseUrl: site.url, insecureOrigin: true });
    expect(new URL(baseUrl).hostname).toBe(INSECURE_HOST);
    await page.goto("/keys");
    expect(await page.evaluate(() => [isSecureContext, "clipboard" in navigator])).toEqual([false, false]);
    await page.getByRole("textbox", { name: "Administrator password" }).fill(site.adminPassword);
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { level: 1, name: "My keys" }).waitFor();
    await page.reload();
    await page.getByRole("heading", { level: 1, name: "My keys" }).waitFor();
  });

  test("shows every page in silence: nothing asks for what only secure origins have", async () => {
    const visitor = await visit();
    for (const path of [...MEMBER_PATHS, ...ADMIN_PATHS]) {
      await openAtRest(visitor.page, path);
      expect(await visitor.page.getByRole("alert").count()).toBe(0);
    }
    await visitor.check();
  });

  test("gives a new key and the snippet with it to the clipboard, and the snippet names this origin", async () => {
    const { page, baseUrl } = await visit();
    await page.goto("/keys");
    await page.getByRole("button", { name: "Create a key" }).click();
    await page.keyboard.press("Enter");
    const shown = page.getByRole("dialog", { name: "Your new key" });
    await shown.getByText('"model":"fast"').waitFor();
    const key = await press(page, "Copy key");
    expect(key).toMatch(/^lp_[A-Za-z0-9]{43}$/);
    await waitForFocus(page.getByRole("button", { name: "Copy key: Copied", exact: true }));
    await checkAccessibility(page);
    const snippet = await copiedBy(page, () =>
      shown.getByRole("button", { name: "Copy", exact: true }).click(),
    );
    expect(snippet).toContain(`curl -sS '${baseUrl}/v1/chat/completions'`);
    expect(snippet).toContain(`authorization: Bearer ${key}`);
    await page.getByRole("button", { name: "Done" }).click();
    await shown.waitFor({ state: "detached" });
  });

  test("gives the code of an error to the clipboard, from a page and from inside a dialog", async () => {
    const visitor = await visit();
    const { page } = visitor;
    visitor.expect(/^request: GET .*since=yesterday.* answered 400$/);
    await page.goto("/requests?since=yesterday");
    expect(await press(page, "Copy the error")).toMatch(/^invalid_date \(HTTP 400\): .+/);

    visitor.expect(/^request: POST .*\/admin\/v1\/discover answered 409$/);
    await page.goto("/providers");
    await page.getByRole("button", { name: "Add provider" }).first().click();
    await page.getByRole("button", { name: /^Other/ }).click();
    await page.getByRole("textbox", { name: "Name", exact: true }).fill("lab");
    await page.getByRole("textbox", { name: "Base URL" }).fill("http://127.0.0.1:9/v1");
    await page.getByRole("button", { name: "Test and save" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByText("provider_exists").first().waitFor();
    const copied = await copiedBy(page, () => dialog.getByRole("button", { name: "Copy the error" }).click());
    expect(copied).toMatch(/^provider_exists \(HTTP 409\): .+/);
    await dialog.waitFor();
  });

  test("gives a model's name and a request to the clipboard", async () => {
    const { page } = await visit();
    await page.goto("/models");
    expect(await press(page, "Copy the name fast")).toBe("fast");
    await page.goto("/requests");
    await page.getByRole("row", { name: /fast/ }).click();
    const panel = page.getByRole("dialog", { name: "fast" });
    const row = JSON.parse(
      await copiedBy(page, () => panel.getByRole("button", { name: "Copy as JSON" }).click()),
    );
    expect(row).toMatchObject({ model: "fast", cost: 0.00204 });
  });
});

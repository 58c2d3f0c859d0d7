import { afterAll, beforeAll, beforeEach, expect, test } from "bun:test";
import type { Page } from "playwright-core";
import { startModelServer, type ModelServer } from "../../contrib/demo/model-server.ts";
import { callApi } from "../support/installation.ts";
import { describeInBrowser, useBrowser } from "./support/browser.ts";
import { openAtRest, rest } from "./support/rest.ts";
import { signInAsAdmin } from "./support/sign-in.ts";
import type { Site } from "./support/site.ts";
import type { Visitor } from "./support/visitor.ts";
import { waitForValue } from "./support/waiting.ts";

const browser = useBrowser();

let server: ModelServer;
let site: Site;
beforeAll(async () => {
  server = await startModelServer({ port: 0, chatModels: ["qwen3", "llama"], embeddingModels: ["bge-m3"] });
});
afterAll(() => server?.stop());
beforeEach(async () => {
  site = await browser.newSite();
  await callApi(site.url, await site.adminKey(), "POST", "/admin/v1/providers", {
    name: "lab",
    base_url: server.baseUrl,
  });
});

const table = (page: Page) => page.getByRole("region", { name: "Models of the provider" });
const alias = (page: Page) => table(page).getByRole("textbox", { name: "Alias of qwen3" });
const again = (page: Page) => page.getByRole("dialog", { name: "Sign in again" });

/** The models of a provider, all of them ticked, and one with a name of its own. */
async function openChosen(): Promise<Visitor> {
  const visitor = await browser.newVisitor({ baseUrl: site.url });
  await signInAsAdmin(visitor, site);
  const { page } = visitor;
  await openAtRest(page, "/providers?open=lab");
  await page.getByRole("button", { name: "Discover models" }).click();
  await page.getByRole("button", { name: "Select all (3)" }).click();
  await alias(page).fill("of-my-own");
  return visitor;
}

async function signIn(page: Page): Promise<void> {
  await again(page).getByRole("textbox", { name: "Administrator password" }).fill(site.adminPassword);
  await page.keyboard.press("Enter");
  await again(page).waitFor({ state: "detached" });
  await rest(page);
}

async function bindAll(page: Page): Promise<void> {
  await waitForValue(alias(page), "of-my-own");
  await page.getByRole("button", { name: "Add 3 models" }).click();
  await page.getByText("3 added.").waitFor();
  const { models } = JSON.parse(
    await (await callApi(site.url, await site.adminKey(), "GET", "/admin/v1/models")).text(),
  );
  expect(models.map((model: { alias: string }) => model.alias)).toEqual(["bge-m3", "llama", "of-my-own"]);
}

describeInBrowser("the models that were chosen of a provider", () => {
  test("stay chosen and named when the session ends: binding stops at once, says so, and goes on after signing in", async () => {
    const visitor = await openChosen();
    const { page } = visitor;
    const refused: string[] = [];
    page.on("request", (request) => request.method() === "POST" && refused.push(request.url()));
    expect((await site.cli("principal", "revoke-sessions", "admin", "--yes")).code).toBe(0);
    visitor.expect(/^request: \w+ .* answered 401$/);
    await page.getByRole("button", { name: "Add 3 models" }).click();
    await again(page).waitFor();
    expect(refused).toEqual([`${site.url}/admin/v1/models`]);
    await signIn(page);
    await page.getByText("0 added; 1 failed, with the reason in the list; stopped early.").waitFor();
    await bindAll(page);
  });

  test("stay chosen and named when the server is started again meanwhile", async () => {
    const visitor = await openChosen();
    const { page } = visitor;
    visitor.expect(/^request: GET .* failed: /);
    await site.crash();
    await page.evaluate(() => document.dispatchEvent(new Event("visibilitychange", { bubbles: true })));
    await page.getByText("The server does not respond.").first().waitFor();
    await site.restart();
    await page.getByText("The server does not respond.").first().waitFor({ state: "detached" });
    await rest(page);
    await bindAll(page);
  });
});

describeInBrowser("what was refused because the session had ended", () => {
  test("says after signing in that nothing was done, and does not ask to sign in any more", async () => {
    const visitor = await browser.newVisitor({ baseUrl: site.url });
    await signInAsAdmin(visitor, site);
    const { page } = visitor;
    await openAtRest(page, "/keys");
    await page.getByRole("button", { name: "Create a key" }).click();
    expect((await site.cli("principal", "revoke-sessions", "admin", "--yes")).code).toBe(0);
    visitor.expect(/^request: \w+ .* answered 401$/);
    await page.getByRole("button", { name: "Create key" }).click();
    await again(page).waitFor();
    await signIn(page);
    await page.getByText("The session had ended and nothing was changed.").waitFor();
    expect(await page.getByText("Sign in again").count()).toBe(0);
  });
});

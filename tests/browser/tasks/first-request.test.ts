import { afterAll, beforeAll, expect, test } from "bun:test";
import type { Page } from "playwright-core";
import { startModelServer, type ModelServer } from "../../../contrib/demo/model-server.ts";
import { checkAccessibility } from "../support/axe.ts";
import { describeInBrowser, useBrowser } from "../support/browser.ts";
import { copiedBy } from "../support/clipboard.ts";
import { checkFits } from "../support/layout.ts";
import { runInShell } from "../support/shell.ts";
import { makeLoginLink, signInAsAdmin } from "../support/sign-in.ts";
import type { Site } from "../support/site.ts";
import { callApi } from "../../support/installation.ts";
import { doWithin } from "./actions.ts";

const browser = useBrowser();

let provider: ModelServer;
beforeAll(async () => {
  provider = await startModelServer({ port: 0 });
});
afterAll(() => provider.stop());

const ways = [
  {
    theme: "light",
    way: "a login link",
    signIn: async (page: Page, site: Site) => {
      await page.goto(await makeLoginLink(site));
    },
    /** The snippet beside the new key holds it, and the page beside it waits. */
    callFirst: async (page: Page, _: string, snippetWithKey: string) => {
      // A wrong key is told while one waits, and ends nothing.
      await runInShell(snippetWithKey.replace("Bearer lp_", "Bearer lp_x"));
      await page.getByText("Its key is not one of this server.").waitFor();
      const answer = await runInShell(snippetWithKey);
      await page.getByText(/^Your first request: [\d.]+ m?s, \$0\.00021$/).waitFor();
      await look(page);
      await page.getByRole("link", { name: "Go to the overview" }).click();
      return answer;
    },
  },
  {
    theme: "dark",
    way: "the password",
    signIn: async (page: Page, site: Site) => {
      await page.goto("/");
      await look(page);
      await page.getByRole("textbox", { name: "Administrator password" }).fill(site.adminPassword);
      await page.keyboard.press("Enter");
    },
    /** The snippet of the checklist names a variable. */
    callFirst: async (page: Page, key: string) => {
      await page.getByRole("navigation", { name: "Pages" }).getByRole("link", { name: "Overview" }).click();
      await page.getByText("3 of 4 done").waitFor();
      const shown = await page.getByRole("region", { name: "Shell" }).innerText();
      expect(shown).not.toContain(key);
      await look(page);
      const answer = await runInShell(shown, { LOCKPORT_KEY: key });
      await page.getByText("Lockport is set up").first().waitFor();
      return answer;
    },
  },
] as const;

async function look(page: Page): Promise<void> {
  await checkAccessibility(page);
  await checkFits(page);
}

const step = (page: Page) => page.locator("[aria-current=step]");

/** From an empty installation, once signed in. */
const ACTIONS_MAX = 12;

describeInBrowser("the first request from an empty folder", () => {
  test.each(ways)(
    "takes twelve actions at most, by $way, and tells what it took and cost, in the $theme theme",
    async ({ theme, signIn, callFirst }) => {
      const site = await browser.newSite();
      const visitor = await browser.newVisitor({ baseUrl: site.url, theme });
      const { page } = visitor;
      await signIn(page, site);
      await page.getByText("0 of 4 done").waitFor();
      await look(page);

      let key = "";
      await doWithin(page, ACTIONS_MAX, async () => {
        await page.getByRole("link", { name: "Start" }).click();
        await page.getByRole("heading", { level: 1, name: "Setup" }).waitFor();
        await page.getByRole("button", { name: /^Other/ }).click();
        await page.getByRole("textbox", { name: "Name", exact: true }).fill("demo");
        await page.getByRole("textbox", { name: "Base URL" }).fill(provider.baseUrl);
        await look(page);
        expect(await providersOf(site)).toEqual([]);
        await page.getByRole("button", { name: "Test and save" }).click();

        // Typing a price ticks its model.
        const priceOf = (unit: string) =>
          page.getByRole("textbox", { name: `${unit} price of demo-model-1, dollars per million` });
        await priceOf("Input").fill("2");
        await priceOf("Output").fill("10");
        await look(page);
        await page.getByRole("button", { name: "Add 1 model" }).click();

        await step(page).getByRole("heading", { name: "Key" }).waitFor();
        await look(page);
        await page.getByRole("button", { name: "Create key" }).click();
        key = await page.getByRole("textbox", { name: "Key", exact: true }).inputValue();
        await page.getByText('"model":"demo-model-1"').waitFor();
        await page.getByText("Waiting for the first request").waitFor();
        await look(page);
        const snippet = await copiedBy(page, () =>
          page.getByRole("button", { name: "Copy", exact: true }).first().click(),
        );
        expect(snippet).toContain(key);

        const { usage, choices } = JSON.parse(await callFirst(page, key, snippet));
        expect(choices[0].message.content).toStartWith("Hello!");
        // At $2 and $10 per million.
        expect(usage).toMatchObject({ prompt_tokens: 5, completion_tokens: 20 });
        await page
          .getByRole("group", { name: "Cost", exact: true })
          .getByText("$0.00021", { exact: true })
          .waitFor();
      });
      await page
        .getByRole("group", { name: "Requests", exact: true })
        .getByText("1", { exact: true })
        .waitFor();
      await page.reload();
      await page.getByRole("application").first().waitFor();
      await page.getByRole("rowheader", { name: "demo-model-1" }).waitFor();
      expect(await page.getByText(/Set up Lockport|Lockport is set up/).count()).toBe(0);
      expect(await page.content()).not.toContain(key);
    },
  );

  test.each(["/", "/setup"])("shows on %s no example to paste before it names a model", async (path) => {
    const site = await browser.newSite();
    await site.cli("provider", "add", "lab", "--base-url", provider.baseUrl, "--no-api-key");
    await site.cli("model", "add", "known", "--provider", "lab", "--upstream-name", "demo-model-1");
    await site.adminKey();
    const { page } = await signedIn(site);
    const models = Promise.withResolvers<void>();
    await page.route(
      ({ pathname }) => pathname === "/v1/models",
      async (route) => {
        await models.promise;
        await route.continue();
      },
    );
    await page.goto(path);
    await page.getByText("Waiting for the first request").waitFor();
    const example = page.getByRole("region", { name: path === "/" ? "Shell" : "curl" });
    expect(await example.count()).toBe(0);
    models.resolve();
    await example.getByText('"model":"known"').waitFor();
  });

  test("goes on where it was left, and asks before a key is left that nobody has copied", async () => {
    const site = await browser.newSite();
    await site.cli("provider", "add", "lab", "--base-url", provider.baseUrl, "--no-api-key");
    await site.cli("model", "add", "kept", "--provider", "lab", "--upstream-name", "demo-model-1");
    const { page } = await signedIn(site);
    await page.goto("/setup");
    await step(page).getByRole("button", { name: "Create key" }).click();
    await page.getByText('"model":"kept"').waitFor();
    await page.getByRole("navigation", { name: "Pages" }).getByRole("link", { name: "Models" }).click();
    await page.getByRole("button", { name: "Go back and copy" }).click();
    await page.getByRole("textbox", { name: "Key", exact: true }).waitFor();
    await page.getByRole("button", { name: "Copy key" }).click();
    await page.getByRole("navigation", { name: "Pages" }).getByRole("link", { name: "Models" }).click();
    await page.getByRole("heading", { level: 1, name: "Models" }).waitFor();
  });
});

describeInBrowser("the setup of an installation that others use", () => {
  test("waits for a request of the reader, and shows nobody else's as theirs", async () => {
    const site = await browser.newSite();
    await site.cli("provider", "add", "lab", "--base-url", provider.baseUrl, "--no-api-key");
    await site.cli("model", "add", "shared", "--provider", "lab", "--upstream-name", "demo-model-1");
    const admin = await site.adminKey();
    const ask = async (key: string) => {
      const body = { model: "shared", messages: [{ role: "user", content: "hello" }] };
      const response = await callApi(site.url, key, "POST", "/v1/chat/completions", body);
      expect(response.status).toBe(200);
      await response.arrayBuffer();
    };
    await callApi(site.url, admin, "POST", "/admin/v1/principals", { name: "other" });
    const made = await callApi(site.url, admin, "POST", "/admin/v1/keys", { principal: "other", label: "x" });
    await ask((await made.json()).key);
    const { page } = await signedIn(site);
    const others = page.waitForResponse(/stats\/requests/);
    await page.goto("/setup");
    await others;
    await page.getByText("Waiting for the first request.").waitFor();
    expect(await page.getByText(/^Your (?:first|latest) request/).count()).toBe(0);
    await ask(admin);
    await page.getByText(/^Your first request/).waitFor();
  });
});

async function signedIn(site: Site) {
  const visitor = await browser.newVisitor({ baseUrl: site.url });
  await signInAsAdmin(visitor, site);
  return visitor;
}

async function providersOf(site: Site): Promise<readonly unknown[]> {
  const response = await callApi(site.url, await site.adminKey(), "GET", "/admin/v1/providers");
  return (await response.json()).providers;
}

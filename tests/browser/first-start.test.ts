import { afterAll, beforeAll, expect, test } from "bun:test";
import type { Page } from "playwright-core";
import { startModelServer, type ModelServer } from "../../contrib/demo/model-server.ts";
import { checkAccessibility } from "./support/axe.ts";
import { describeInBrowser, useBrowser } from "./support/browser.ts";
import { copiedBy } from "./support/clipboard.ts";
import { checkFits } from "./support/layout.ts";
import { runInShell } from "./support/shell.ts";
import { makeLoginLink } from "./support/sign-in.ts";
import type { Site } from "./support/site.ts";

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
    /** The snippet beside the new key holds it. */
    callFirst: async (snippetWithKey: string) => await runInShell(snippetWithKey),
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
    callFirst: async (_: string, page: Page, key: string) => {
      const shown = await page.getByRole("region", { name: "Shell" }).innerText();
      expect(shown).not.toContain(key);
      return await runInShell(shown, { LOCKPORT_KEY: key });
    },
  },
] as const;

async function look(page: Page): Promise<void> {
  await checkAccessibility(page);
  await checkFits(page);
}

const step = (page: Page) => page.locator("[aria-current=step]");

async function toOverview(page: Page): Promise<void> {
  await page.getByRole("navigation", { name: "Pages" }).getByRole("link", { name: "Overview" }).click();
}

describeInBrowser("the first start", () => {
  test.each(ways)(
    "leads from an empty folder, by $way, to the first request and what it cost, in the $theme theme",
    async ({ theme, signIn, callFirst }) => {
      const site = await browser.newSite();
      const { page } = await browser.newVisitor({ baseUrl: site.url, theme });
      await signIn(page, site);
      await page.getByText("0 of 4 done").waitFor();
      await look(page);

      await step(page).getByRole("link", { name: "Add provider" }).click();
      await page.getByRole("heading", { level: 1, name: "Providers" }).waitFor();
      await look(page);
      await page.getByRole("button", { name: "Add provider" }).first().click();
      await page.getByRole("button", { name: /^Other/ }).click();
      await page.getByRole("textbox", { name: "Name", exact: true }).fill("demo");
      await page.getByRole("textbox", { name: "Base URL" }).fill(provider.baseUrl);
      await look(page);
      await page.getByRole("button", { name: "Add and discover models" }).click();

      await page.getByRole("checkbox", { name: "Bind demo-model-1" }).click();
      await page
        .getByRole("row", { name: /demo-model-1/ })
        .getByRole("button", { name: "not set" })
        .click();
      const prices = page.getByRole("dialog", { name: "Prices of demo-model-1" });
      await prices.getByRole("textbox", { name: "Input tokens", exact: true }).fill("2");
      await prices.getByRole("textbox", { name: "Output tokens", exact: true }).fill("10");
      await look(page);
      await page.keyboard.press("Escape");
      await prices.waitFor({ state: "detached" });
      await page.getByRole("button", { name: "Bind 1 model" }).click();
      await page.getByText("1 bound.").waitFor();
      await look(page);
      await page.getByRole("link", { name: "Show them in Models" }).click();
      await page.getByRole("heading", { level: 1, name: "Models" }).waitFor();
      await page
        .getByRole("button", { name: "Output tokens of demo-model-1: $10.00, own. Change" })
        .waitFor();
      await look(page);

      await toOverview(page);
      await page.getByText("2 of 4 done").waitFor();
      await step(page).getByRole("link", { name: "Create a key" }).click();
      await page.getByRole("heading", { level: 1, name: "My keys" }).waitFor();
      await page.getByRole("region", { name: "curl" }).waitFor();
      await look(page);
      await page.getByRole("button", { name: "Create a key" }).click();
      await page.getByRole("textbox", { name: "Label" }).fill("first");
      await look(page);
      await page.keyboard.press("Enter");
      const key = await page.getByRole("textbox", { name: "Key", exact: true }).inputValue();
      const dialog = page.getByRole("dialog", { name: "Your new key" });
      await dialog.getByText('"model":"demo-model-1"').waitFor();
      await look(page);
      const snippet = await copiedBy(page, () =>
        dialog.getByRole("button", { name: "Copy", exact: true }).click(),
      );
      expect(snippet).toContain(key);
      await page.getByRole("button", { name: "Done" }).click();
      await page.getByRole("rowheader", { name: "first" }).waitFor();

      await toOverview(page);
      await page.getByText("3 of 4 done").waitFor();
      await page.getByText("Waiting for the first request").waitFor();
      await look(page);
      const { usage, choices } = JSON.parse(await callFirst(snippet, page, key));
      expect(choices[0].message.content).toStartWith("Hello!");
      // At $2 and $10 per million.
      expect(usage).toMatchObject({ prompt_tokens: 5, completion_tokens: 20 });
      await page.getByText("Lockport is set up").first().waitFor();
      await page
        .getByRole("group", { name: "Cost", exact: true })
        .getByText("$0.00021", { exact: true })
        .waitFor();
      await page
        .getByRole("group", { name: "Requests", exact: true })
        .getByText("1", { exact: true })
        .waitFor();
      await look(page);

      await page.reload();
      await page.getByRole("application").first().waitFor();
      await page.getByRole("rowheader", { name: "demo-model-1" }).waitFor();
      expect(await page.getByText(/Set up Lockport|Lockport is set up/).count()).toBe(0);
      await page
        .getByRole("group", { name: "Cost", exact: true })
        .getByText("$0.00021", { exact: true })
        .waitFor();
      expect(await page.content()).not.toContain(key);
    },
  );
});

import { beforeEach, expect, test } from "bun:test";
import type { Page } from "playwright-core";
import { checkAccessibility } from "./support/axe.ts";
import { describeInBrowser, useBrowser } from "./support/browser.ts";
import { copiedBy } from "./support/clipboard.ts";
import { tabThrough } from "./support/keyboard.ts";
import { checkFitsSmall } from "./support/layout.ts";
import { shoot } from "./support/screenshots.ts";
import { signInAsAdmin } from "./support/sign-in.ts";
import type { Site } from "./support/site.ts";
import { inBothThemes } from "./support/themes.ts";
import type { Visitor, VisitorOptions } from "./support/visitor.ts";
import { eventually, waitForFocus } from "./support/waiting.ts";

const browser = useBrowser();

let site: Site;
beforeEach(async () => {
  site = await browser.newSite();
});

const KEY = /^lp_[A-Za-z0-9]{43}$/;
const TOKEN = /^lpt_[A-Za-z0-9]{43}$/;

async function open(path: string, options: Partial<VisitorOptions> = {}): Promise<Visitor> {
  const visitor = await browser.newVisitor({ baseUrl: site.url, ...options });
  await signInAsAdmin(visitor, site);
  await visitor.page.goto(path);
  await visitor.page.getByRole("heading", { level: 1 }).waitFor();
  return visitor;
}

/** Makes a key by hand and returns what the dialog shows. */
async function create(page: Page, label: string): Promise<string> {
  await page.getByRole("button", { name: "Create a key" }).click();
  await page.getByRole("textbox", { name: "Label" }).fill(label);
  await page.keyboard.press("Enter");
  return await page.getByRole("textbox", { name: "Key", exact: true }).inputValue();
}

async function list(key: string): Promise<number> {
  const response = await fetch(`${site.url}/my/keys`, { headers: { authorization: `Bearer ${key}` } });
  return response.status;
}

const asking = (page: Page) => page.getByRole("alertdialog", { name: "Leave without copying the key?" });

describeInBrowser("a new key", () => {
  for (const insecureOrigin of [false, true]) {
    const where = insecureOrigin ? "an insecure origin" : "a secure origin";
    test(`is shown once, is copied on ${where}, works, and is on the page no more afterwards`, async () => {
      const { page } = await open("/keys", { insecureOrigin });
      const key = await create(page, `laptop ${where}`);
      expect(key).toMatch(KEY);
      expect(await copiedBy(page, () => page.getByRole("button", { name: "Copy key" }).click())).toBe(key);
      expect(await list(key)).toBe(200);
      await page.getByRole("button", { name: "Done" }).click();
      await page.getByRole("rowheader", { name: `laptop ${where}` }).waitFor();
      expect(await page.getByRole("alertdialog").count()).toBe(0);
      await page.getByRole("dialog").waitFor({ state: "detached" });
      expect(await page.content()).not.toContain(key);
      const kept = await page.evaluate(() => JSON.stringify([localStorage, sessionStorage, history.state]));
      expect(kept).not.toContain(key);
      await waitForFocus(page.getByRole("button", { name: "Create a key" }));
    });
  }

  test("may also leave with a snippet, which holds it", async () => {
    const { page } = await open("/keys");
    const key = await create(page, "by snippet");
    const dialog = page.getByRole("dialog");
    const copied = await copiedBy(page, () =>
      dialog.getByRole("button", { name: "Copy", exact: true }).last().click(),
    );
    expect(copied).toContain(key);
    await page.keyboard.press("Escape");
    await dialog.waitFor({ state: "detached" });
  });

  const ways: readonly (readonly [string, (page: Page) => Promise<unknown>])[] = [
    ["Esc", (page) => page.keyboard.press("Escape")],
    ["the close button", (page) => page.getByRole("button", { name: "Close" }).click()],
    ["Done", (page) => page.getByRole("button", { name: "Done" }).click()],
    ["the back button", (page) => page.evaluate(() => history.back())],
  ];
  test.each(ways)(
    "is not lost by %s before it was copied: the page asks, and stays when told so",
    async (_, leave) => {
      const { page } = await open("/models");
      await page.getByRole("link", { name: "My keys" }).click();
      const key = await create(page, "");
      await leave(page);
      await asking(page).waitFor();
      await page.getByRole("button", { name: "Go back and copy" }).click();
      await asking(page).waitFor({ state: "detached" });
      await page.waitForURL(/\/keys$/);
      expect(await page.getByRole("textbox", { name: "Key", exact: true }).inputValue()).toBe(key);
      await leave(page);
      await asking(page).getByRole("button", { name: "Leave" }).click();
      await page.getByRole("textbox", { name: "Key", exact: true }).waitFor({ state: "detached" });
      await page.getByRole("heading", { level: 1 }).waitFor();
      expect(await page.content()).not.toContain(key);
    },
  );

  test("is not lost by closing the tab: the browser asks, until it was copied", async () => {
    const { page, leaving } = await open("/keys");
    const key = await create(page, "");
    leaving.answer = "stay";
    await page.evaluate("location.reload()");
    await eventually(() => expect(leaving.asked).toBe(1));
    expect(await page.getByRole("textbox", { name: "Key", exact: true }).inputValue()).toBe(key);
    await copiedBy(page, () => page.getByRole("button", { name: "Copy key" }).click());
    await page.reload();
    expect(leaving.asked).toBe(1);
    expect(await page.content()).not.toContain(key);
  });
});

describeInBrowser("a key of one's own", () => {
  test("stops at once when it is deleted, after a question that says what breaks", async () => {
    const { page } = await open("/keys");
    const key = await create(page, "to delete");
    await copiedBy(page, () => page.getByRole("button", { name: "Copy key" }).click());
    await page.getByRole("button", { name: "Done" }).click();
    await page.getByRole("button", { name: "Delete key to delete" }).click();
    const question = page.getByRole("alertdialog", { name: "Delete the key to delete?" });
    await question.getByText(/^\*\*\*[\w-]{4}$/).waitFor();
    await question.getByText("never").waitFor();
    await question.getByText("no requests").waitFor();
    await question.getByText("are refused immediately").waitFor();
    await question.getByRole("button", { name: "Cancel" }).click();
    await question.waitFor({ state: "detached" });
    expect(await list(key)).toBe(200);
    await waitForFocus(page.getByRole("button", { name: "Delete key to delete" }));
    await page.keyboard.press("Enter");
    await question.getByRole("button", { name: "Delete key" }).click();
    await page.getByText("Requests with it are refused.").first().waitFor();
    expect(await list(key)).toBe(401);
    // The message stands there before the list has been asked anew.
    await page.getByRole("rowheader", { name: "to delete" }).waitFor({ state: "detached" });
  });

  test("is in the list that was asked for before it was made and answered after it", async () => {
    const { page } = await open("/models");
    const [given, answer] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const lists = ({ pathname }: URL) => pathname === "/my/keys";
    await page.route(
      lists,
      async (route) => {
        const before = await route.fetch();
        given.resolve();
        await answer.promise;
        await route.fulfill({ response: before });
      },
      { times: 1 },
    );
    await page.getByRole("link", { name: "My keys" }).click();
    await given.promise;
    await create(page, "made meanwhile");
    await copiedBy(page, () => page.getByRole("button", { name: "Copy key" }).click());
    answer.resolve();
    await page.getByRole("button", { name: "Done" }).click();
    await page.getByRole("rowheader", { name: "made meanwhile" }).waitFor();
  });

  test("with a label that looks like markup is shown as text", async () => {
    const { page } = await open("/keys");
    await create(page, "<b>bold</b>");
    await copiedBy(page, () => page.getByRole("button", { name: "Copy key" }).click());
    await page.getByRole("button", { name: "Done" }).click();
    await page.getByRole("rowheader", { name: "<b>bold</b>" }).waitFor();
    expect(await page.locator("table b").count()).toBe(0);
  });

  test("is told of a label that is longer than the server takes, of which nothing is cut", async () => {
    const { page } = await open("/keys");
    await page.getByRole("button", { name: "Create a key" }).click();
    const field = page.getByRole("textbox", { name: "Label" });
    await field.fill("");
    await page.keyboard.insertText("x".repeat(200));
    expect((await field.inputValue()).length).toBe(200);
    await page.keyboard.press("Enter");
    await page.getByText("Use at most 120 characters; these are 200").waitFor();
    await waitForFocus(field);
  });
});

describeInBrowser("the pages of keys and relay tokens", () => {
  test("a new key has no accessibility fault, fits a telephone and is walked through by Tab", async () => {
    const { page } = await open("/keys");
    await create(page, "looked at");
    await inBothThemes(page, () => checkAccessibility(page));
    await checkFitsSmall(page);
    await tabThrough(page, { within: "[role=dialog]" });
    await shoot(page, "key-created");
    await copiedBy(page, () => page.getByRole("button", { name: "Copy key" }).click());
  });

  test("a relay token is shown once, in snippets for the messages API, and deleted like a key", async () => {
    const { page } = await open("/relay-tokens");
    await page.getByText("The relay is off").waitFor();
    await page.getByRole("button", { name: "Create a relay token" }).click();
    await page.getByRole("textbox", { name: "Label" }).fill("editor");
    await page.keyboard.press("Enter");
    const token = await page.getByRole("textbox", { name: "Relay token", exact: true }).inputValue();
    expect(token).toMatch(TOKEN);
    const shown = page.getByRole("dialog", { name: "Your new relay token" });
    expect(await shown.textContent()).toContain(`/transparent/messages/${token}`);
    await copiedBy(page, () => page.getByRole("button", { name: "Copy relay token" }).click());
    await page.getByRole("button", { name: "Done" }).click();
    await page.getByRole("button", { name: "Delete relay token editor" }).click();
    await page.getByRole("button", { name: "Delete relay token" }).click();
    await page.getByText("You have no relay token yet").waitFor();
    expect(await page.content()).not.toContain(token);
  });
});

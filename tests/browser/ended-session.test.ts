import { beforeEach, expect, test } from "bun:test";
import type { Page } from "playwright-core";
import { checkAccessibility } from "./support/axe.ts";
import { describeInBrowser, useBrowser } from "./support/browser.ts";
import { tabThrough } from "./support/keyboard.ts";
import { checkFits, checkFitsSmall } from "./support/layout.ts";
import { openAtRest } from "./support/rest.ts";
import { shoot } from "./support/screenshots.ts";
import { makeLoginLink, signInAsAdmin, signInBySso } from "./support/sign-in.ts";
import type { Site } from "./support/site.ts";
import { inBothThemes } from "./support/themes.ts";
import type { Visitor } from "./support/visitor.ts";

const browser = useBrowser();

let site: Site;
beforeEach(async () => {
  site = await browser.newSite({ people: { mia: { name: "Mia Member" } } });
});

async function visit(path: string): Promise<Visitor> {
  const visitor = await browser.newVisitor({ baseUrl: site.url });
  await signInAsAdmin(visitor, site);
  await openAtRest(visitor.page, path);
  return visitor;
}

async function endSessions(name = "admin"): Promise<void> {
  expect((await site.cli("principal", "revoke-sessions", name, "--yes")).code).toBe(0);
}

/** The request that is made in vain. */
const REFUSED = /^request: \w+ .* answered 401$/;

const again = (page: Page) => page.getByRole("dialog", { name: "Sign in again" });
const link = (page: Page) => again(page).getByRole("link", { name: "Continue with single sign-on" });
const password = (page: Page) => again(page).getByRole("textbox", { name: "Administrator password" });

async function signIn(page: Page): Promise<void> {
  await password(page).fill(site.adminPassword);
  await page.keyboard.press("Enter");
  await again(page).waitFor({ state: "detached" });
}

async function hasFocus(page: Page, name: string): Promise<void> {
  await page.getByRole("textbox", { name }).and(page.locator(":focus")).waitFor();
}

describeInBrowser("a session that ends while a dialog is open", () => {
  test("is begun anew above it: the dialog stays with what was typed, the focus comes back, and the work is done", async () => {
    const visitor = await visit("/keys");
    const { page } = visitor;
    await page.getByRole("button", { name: "Create a key" }).click();
    await page.getByRole("textbox", { name: "Label" }).fill("typed before");
    await endSessions();
    visitor.expect(REFUSED);
    await page.keyboard.press("Enter");
    await again(page).waitFor();
    await link(page).and(page.locator(":focus")).waitFor();
    // Its keys and presses are its own: nothing beneath closes, and neither does it.
    await page.keyboard.press("Escape");
    await page.keyboard.press("Escape");
    await again(page).getByText("Your session has ended.").click();
    await page.mouse.click(5, 5);
    await page.keyboard.type("g u");
    await inBothThemes(page, async () => {
      await checkAccessibility(page);
      await checkFits(page);
      await shoot(page, "sign-in-again");
    });
    await checkFitsSmall(page);
    await tabThrough(page, { within: "dialog[open]" });
    expect(new URL(page.url()).pathname).toBe("/keys");
    await signIn(page);
    await hasFocus(page, "Label");
    expect(await page.getByRole("textbox", { name: "Label" }).inputValue()).toBe("typed before");
    await page.getByRole("button", { name: "Create key" }).click();
    await page.getByRole("textbox", { name: "Key", exact: true }).waitFor();
    visitor.leaving.answer = "leave";
  });

  test("keeps no secret anywhere but in the field: a provider's key is there, and in no storage", async () => {
    const visitor = await visit("/providers");
    const { page } = visitor;
    await page.getByRole("button", { name: "Add provider" }).first().click();
    await page.getByRole("button", { name: /^Other/ }).click();
    await page.getByRole("textbox", { name: "Name", exact: true }).fill("kept");
    await page.getByRole("textbox", { name: "Base URL" }).fill("http://127.0.0.1:9/v1");
    await page.getByLabel(/^API key/).fill("secret-of-a-provider");
    await endSessions();
    visitor.expect(REFUSED);
    await page.getByRole("button", { name: "Test and save" }).click();
    await again(page).waitFor();
    const stored = await page.evaluate(() =>
      JSON.stringify([
        Object.entries(localStorage),
        Object.entries(sessionStorage),
        history.state,
        location.href,
      ]),
    );
    expect(stored).not.toContain("secret-of-a-provider");
    await signIn(page);
    expect(await page.getByLabel(/^API key/).inputValue()).toBe("secret-of-a-provider");
    expect(await page.getByRole("textbox", { name: "Base URL" }).inputValue()).toBe("http://127.0.0.1:9/v1");
  });

  test("says a wrong password at its field, and still loses nothing", async () => {
    const visitor = await visit("/people");
    const { page } = visitor;
    await page.getByRole("button", { name: "Add person or service" }).click();
    await page.getByRole("textbox", { name: "Name" }).fill("half.typed");
    await endSessions();
    visitor.expect(REFUSED);
    await page.getByRole("button", { name: "Add", exact: true }).click();
    await password(page).fill("not the password");
    await page.keyboard.press("Enter");
    await again(page).getByText("Wrong password (wrong_password)").waitFor();
    await signIn(page);
    expect(await page.getByRole("textbox", { name: "Name" }).inputValue()).toBe("half.typed");
  });

  test("goes on by itself once somebody has signed in in another tab, to which single sign-on leads", async () => {
    const visitor = await browser.newVisitor({ baseUrl: site.url });
    const { page, context } = visitor;
    await signInBySso(visitor, site, "mia");
    await openAtRest(page, "/keys");
    await page.getByRole("button", { name: "Create a key" }).click();
    await page.getByRole("textbox", { name: "Label" }).fill("of mia");
    await endSessions("mia");
    visitor.expect(REFUSED);
    await page.keyboard.press("Enter");
    await link(page).and(page.locator(":focus")).waitFor();
    expect(await link(page).getAttribute("target")).toBe("_blank");
    await context.clearCookies();
    await signInBySso(visitor, site, "mia");
    await again(page).waitFor({ state: "detached" });
    await hasFocus(page, "Label");
    expect(await page.getByRole("textbox", { name: "Label" }).inputValue()).toBe("of mia");
    await page.keyboard.press("Enter");
    await page.getByRole("textbox", { name: "Key", exact: true }).waitFor();
    visitor.leaving.answer = "leave";
  });

  test("leaves nothing of it to another person who signs in there", async () => {
    const visitor = await visit("/keys");
    const { page, context } = visitor;
    await page.getByRole("button", { name: "Create a key" }).click();
    await page.getByRole("textbox", { name: "Label" }).fill("of the administrator");
    await endSessions();
    visitor.expect(REFUSED);
    await page.keyboard.press("Enter");
    await again(page).waitFor();
    await context.clearCookies();
    await signInBySso(visitor, site, "mia");
    await again(page).waitFor({ state: "detached" });
    await page.getByRole("button", { name: /^Account: mia/i }).waitFor();
    expect(await page.getByRole("dialog").count()).toBe(0);
    await page.getByRole("button", { name: "Create a key" }).click();
    expect(await page.getByRole("textbox", { name: "Label" }).inputValue()).toBe("");
    const pages = page.getByRole("navigation", { name: "Pages" });
    expect(await pages.getByRole("link", { name: "Providers" }).count()).toBe(0);
  });

  test("leads to the page for signing in where the part that asks for it cannot be had", async () => {
    const visitor = await visit("/requests?outcome=failed");
    const { page } = visitor;
    visitor.expect(/^request: GET .*sign-in-again.* failed/);
    await page.route("**/assets/sign-in-again-*.js", (route) => route.abort());
    await endSessions();
    visitor.expect(REFUSED);
    await page.getByRole("heading", { level: 1, name: "Sign in" }).waitFor();
    await page.getByRole("textbox", { name: "Administrator password" }).fill(site.adminPassword);
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { level: 1, name: "Requests" }).waitFor();
    expect(new URL(page.url()).search).toBe("?outcome=failed");
  });
});

describeInBrowser("a page whose session has ended", () => {
  test("shows an administrator what it showed, and asks everything anew once they are back", async () => {
    const visitor = await visit("/people");
    const { page } = visitor;
    await page.getByRole("button", { name: "Details of admin" }).waitFor();
    await endSessions();
    await page.evaluate(() => document.dispatchEvent(new Event("visibilitychange", { bubbles: true })));
    await again(page).waitFor();
    await page.locator("tbody tr", { hasText: "admin" }).waitFor();
    expect(await page.getByText("This page is for administrators").count()).toBe(0);
    expect((await site.cli("principal", "create", "came.meanwhile")).code).toBe(0);
    await signIn(page);
    await page.getByRole("button", { name: "Details of came.meanwhile" }).waitFor();
  });

  test("goes on for a login link in another tab", async () => {
    const visitor = await visit("/keys");
    const { page, context } = visitor;
    await endSessions();
    await page.evaluate(() => document.dispatchEvent(new Event("visibilitychange", { bubbles: true })));
    await again(page).waitFor();
    const other = await context.newPage();
    await other.goto(await makeLoginLink(site));
    await other.getByRole("heading", { level: 1, name: "Overview" }).waitFor();
    await page.bringToFront();
    await again(page).waitFor({ state: "detached" });
    expect(new URL(page.url()).pathname).toBe("/keys");
  });
});

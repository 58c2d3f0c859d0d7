import { beforeEach, expect, test } from "bun:test";
import type { Page } from "playwright-core";
import { checkAccessibility } from "./support/axe.ts";
import { describeInBrowser, useBrowser } from "./support/browser.ts";
import { tabThrough } from "./support/keyboard.ts";
import { checkFitsSmall } from "./support/layout.ts";
import { shoot } from "./support/screenshots.ts";
import { signInAsAdmin, signInBySso } from "./support/sign-in.ts";
import type { Site } from "./support/site.ts";
import type { Visitor, VisitorOptions } from "./support/visitor.ts";
import { waitForFocus, waitForValue } from "./support/waiting.ts";

const browser = useBrowser();

let site: Site;
beforeEach(async () => {
  site = await browser.newSite({ people: { mia: { name: "Mia Member" } } });
});

async function visit(path: string, options: Partial<VisitorOptions> = {}): Promise<Visitor> {
  const visitor = await browser.newVisitor({ baseUrl: site.url, ...options });
  await visitor.page.goto(path);
  return visitor;
}

async function visitAsAdmin(path: string, options: Partial<VisitorOptions> = {}): Promise<Visitor> {
  const visitor = await browser.newVisitor({ baseUrl: site.url, ...options });
  await signInAsAdmin(visitor, site);
  await visitor.page.goto(path);
  await visitor.page.getByRole("heading", { level: 1 }).waitFor();
  return visitor;
}

const passwordField = (page: Page) => page.getByRole("textbox", { name: "Administrator password" });

async function signIn(page: Page): Promise<void> {
  await passwordField(page).fill(site.adminPassword);
  await page.keyboard.press("Enter");
}

const isAt = (page: Page, address: string) => page.waitForURL(site.url + address);

describeInBrowser("signing in", () => {
  test("with a wrong password says so at the field, which has the focus again; meanwhile one sees that it is checked", async () => {
    const visitor = await visit("/");
    visitor.expect(/^request: POST .*\/auth\/password answered 401$/);
    const { page } = visitor;
    await passwordField(page).fill("not the password");
    const seen = Promise.withResolvers<void>();
    await page.route("**/auth/password", async (route) => {
      await seen.promise;
      await route.continue();
    });
    await page.keyboard.press("Enter");
    await page.locator("button[aria-busy=true]", { hasText: "Checking…" }).waitFor();
    seen.resolve();
    await page.getByText("Wrong password (wrong_password)").waitFor();
    await waitForValue(passwordField(page), "");
    await waitForFocus(passwordField(page));
    await passwordField(page).and(page.locator("[aria-invalid=true]")).waitFor();
    await checkAccessibility(page);
    await signIn(page);
    await page.getByRole("heading", { level: 1, name: "Overview" }).waitFor();
    await isAt(page, "/");
  });

  test("leads to where one wanted to go, with its filters", async () => {
    const { page } = await visit("/requests?model=fast&tag=app%3Ax&tag=env%3Aprod&outcome=failed");
    await passwordField(page).waitFor();
    await signIn(page);
    await page.getByRole("heading", { level: 1, name: "Requests" }).waitFor();
    const { pathname, searchParams } = new URL(page.url());
    expect(pathname).toBe("/requests");
    expect([...searchParams]).toEqual([
      ["model", "fast"],
      ["tag", "app:x"],
      ["tag", "env:prod"],
      ["outcome", "failed"],
    ]);
    await page.goBack();
    expect(page.url()).not.toContain("sign-in");
  });

  test("never leads to another place than this page", async () => {
    for (const next of ["https://elsewhere.example/", "//elsewhere.example/", "/\\elsewhere.example/"]) {
      const { page } = await visit(`/sign-in?next=${encodeURIComponent(next)}`);
      await signIn(page);
      await page.getByRole("heading", { level: 1, name: "Overview" }).waitFor();
      expect(new URL(page.url()).origin).toBe(site.url);
    }
  });

  test("by a login link works once, and the token leaves the address at once", async () => {
    const link = (await site.cli("admin", "login-link", "--server", site.url)).data
      .trim()
      .split("\n")
      .at(-1)!;
    expect(link).toMatch(/\/#login=[\w-]+$/);
    const { page } = await visit(link.slice(site.url.length));
    await page.getByRole("heading", { level: 1, name: "Overview" }).waitFor();
    await isAt(page, "/");
    expect(await page.evaluate(() => JSON.stringify(history.state))).not.toContain("login");

    const visitor = await visit(link.slice(site.url.length));
    visitor.expect(/^request: POST .*\/auth\/login-link answered 4\d\d$/);
    await visitor.page.getByText("invalid_login_link").waitFor();
    expect(visitor.page.url()).not.toContain("#login");
    await passwordField(visitor.page).waitFor();
  });

  test("by a login link in a browser in use asks first: it is not used up by staying, and ends the session that it replaces", async () => {
    const { page } = await visitAsAdmin("/");
    const link = (await site.cli("admin", "login-link", "--server", site.url)).data
      .trim()
      .split("\n")
      .at(-1)!;
    const findCookie = async () =>
      (await page.context().cookies()).find(({ name }) => name === "proxy_session");
    const before = await findCookie();
    const asked: string[] = [];
    page.on("request", (request) => asked.push(request.url()));

    await page.goto(link);
    await page.getByText("You are signed in as admin.").waitFor();
    await checkAccessibility(page);
    await page.getByRole("button", { name: "Stay signed in as admin" }).click();
    await page.getByRole("heading", { level: 1, name: "Overview" }).waitFor();
    expect(asked.join()).not.toContain("/auth/login-link");
    expect(await findCookie()).toEqual(before);

    await page.goto(link);
    const [signedIn] = await Promise.all([
      page.waitForResponse(/\/auth\/login-link$/),
      page.getByRole("button", { name: "Sign in with the link" }).click(),
    ]);
    expect(signedIn.status()).toBe(200);
    await page.getByRole("heading", { level: 1, name: "Overview" }).waitFor();
    await isAt(page, "/");
    const cookie = `proxy_session=${before?.value}`;
    expect((await fetch(`${site.url}/my/keys`, { headers: { cookie } })).status).toBe(401);
  });

  test.each(["light", "dark"] as const)(
    "is accessible, fits a telephone and is walked through by Tab, %s",
    async (theme) => {
      const { page } = await visit("/", { theme });
      await passwordField(page).waitFor();
      await checkAccessibility(page, theme);
      if (theme === "light") await checkFitsSmall(page);
      await tabThrough(page);
      await shoot(page, `sign-in-${theme}`);
    },
  );
});

describeInBrowser("a session that ends", () => {
  test("under one's hands leads to the sign-in, and back to the same place with the same filters", async () => {
    const visitor = await visitAsAdmin("/requests?outcome=failed&range=24h");
    const { page } = visitor;
    expect((await site.cli("principal", "revoke-sessions", "admin", "--yes")).code).toBe(0);
    visitor.expect(/^request: GET .* answered 401$/);
    await passwordField(page).waitFor();
    await page.getByText("You will return to the page you were on.").waitFor();
    await signIn(page);
    await page.getByRole("heading", { level: 1, name: "Requests" }).waitFor();
    const { pathname, searchParams } = new URL(page.url());
    expect(pathname).toBe("/requests");
    expect(Object.fromEntries(searchParams)).toEqual({ outcome: "failed", range: "24h" });
  });

  test("by signing out forgets everything: the back button shows nothing of it", async () => {
    const { page } = await visitAsAdmin("/keys");
    await page.getByRole("button", { name: /^Account: admin/ }).click();
    await page.getByRole("menuitem", { name: "Sign out" }).click();
    await passwordField(page).waitFor();
    await page.goBack();
    await passwordField(page).waitFor();
    expect(await page.getByRole("heading", { name: "My keys" }).count()).toBe(0);
  });
});

describeInBrowser("the server going away and coming back", () => {
  test("is told in a bar, and everything goes on without a load and without signing in again", async () => {
    const visitor = await visitAsAdmin("/keys");
    const { page, context } = visitor;
    let loads = 0;
    page.on("domcontentloaded", () => (loads += 1));
    await page.getByText("You have no key yet").or(page.getByRole("rowheader").first()).waitFor();
    visitor.expect(/^request: .* failed: net::ERR_INTERNET_DISCONNECTED$/);
    await context.setOffline(true);
    await page.getByRole("button", { name: "Create a key" }).click();
    await page.keyboard.press("Enter");
    await page.getByRole("dialog").getByText("offline", { exact: true }).waitFor();
    await page.getByText("The server does not respond. The data shown may be out of date").waitFor();
    await site.restart();
    await context.setOffline(false);
    await page
      .getByText("The server does not respond. The data shown may be out of date")
      .waitFor({ state: "detached" });
    await page.getByRole("button", { name: "Create key" }).click();
    await page.getByRole("textbox", { name: "Key", exact: true }).waitFor();
    expect(loads).toBe(0);
  });

  test("while a page is opened whose code is not there yet: it comes by itself as soon as the server is back", async () => {
    const visitor = await visitAsAdmin("/keys");
    const { page, context } = visitor;
    let loads = 0;
    page.on("domcontentloaded", () => (loads += 1));
    visitor.expect(/^request: .* failed: net::ERR_INTERNET_DISCONNECTED$/);
    // The browser itself writes down what an error boundary caught.
    visitor.expect(/^console: error: PartMissing: /);
    await context.setOffline(true);
    await page.getByRole("link", { name: "Audit" }).click();
    await page.getByText("This page could not be shown").waitFor();
    await context.setOffline(false);
    await page.getByRole("heading", { level: 1, name: "Audit" }).waitFor();
    expect(loads).toBe(0);
  });
});

describeInBrowser("a member", () => {
  test("sees no item of administrators, reads why their pages stay shut, and asks nothing of the admin interface", async () => {
    const visitor = await browser.newVisitor({ baseUrl: site.url });
    await signInBySso(visitor, site, "mia");
    const { page } = visitor;
    const asked: string[] = [];
    page.on("request", (request) => asked.push(new URL(request.url()).pathname));
    await page.goto("/");
    await page.getByRole("navigation", { name: "Pages" }).getByRole("link", { name: "My keys" }).waitFor();
    const links = page.getByRole("navigation", { name: "Pages" }).getByRole("link");
    expect(await links.allTextContents()).toEqual([
      "Overview",
      "My usage",
      "Statement",
      "Requests",
      "Errors",
      "Models",
      "Playground",
      "My keys",
      "Relay tokens",
      "Settings",
    ]);
    for (const path of [
      "/providers",
      "/people",
      "/limits",
      "/models/prices",
      "/models/repricing",
      "/pricing",
      "/reconcile",
      "/audit",
    ]) {
      await page.goto(path);
      await page.getByText("This page is for administrators").waitFor();
    }
    expect(asked.filter((path) => path.startsWith("/admin"))).toEqual([]);
    await page.keyboard.press("?");
    await page.getByRole("dialog", { name: "Keyboard shortcuts" }).waitFor();
    expect(await page.getByRole("dialog").textContent()).not.toContain("Prices");
  });
});

describeInBrowser("the theme", () => {
  test("that was chosen is there before the first paint after a reload, against the system's", async () => {
    const { page, context } = await visitAsAdmin("/keys", { theme: "light" });
    await page.getByRole("button", { name: "Theme: System" }).click();
    await page.getByRole("menuitemradio", { name: "Dark" }).click();
    await context.addInitScript({
      content: `new MutationObserver((_, observer) => {
        if (document.body === null) return;
        globalThis.themeAtBody = document.documentElement.dataset.theme;
        observer.disconnect();
      }).observe(document, { childList: true, subtree: true });`,
    });
    await page.reload();
    await page.getByRole("heading", { level: 1 }).waitFor();
    expect(await page.evaluate<string>("globalThis.themeAtBody")).toBe("dark");
    expect(await page.locator("html").getAttribute("data-theme")).toBe("dark");
    await page.getByRole("button", { name: "Theme: Dark" }).waitFor();
  });
});

describeInBrowser("the keyboard", () => {
  test("opens each page by g and its letter, and the page has the focus and the tab its name", async () => {
    const { page } = await visitAsAdmin("/keys");
    for (const [key, path, title] of [
      ["o", "/", "Lockport"],
      ["u", "/usage", "My usage · Lockport"],
      ["r", "/requests", "Requests · Lockport"],
      ["e", "/errors", "Errors · Lockport"],
      ["m", "/models", "Models · Lockport"],
      ["p", "/playground", "Playground · Lockport"],
      ["k", "/keys", "My keys · Lockport"],
      ["a", "/audit", "Audit · Lockport"],
    ] as const) {
      await page.keyboard.press("g");
      await page.keyboard.press(key);
      await page.waitForURL((url) => url.pathname === path);
      await page.waitForFunction(`document.title === ${JSON.stringify(title)}`);
      await page.locator("#main:focus").waitFor();
    }
  });

  test("goes to the filter by /, shows the keys by ?, closes them by Esc, and leaves a field its letters", async () => {
    const { page } = await visitAsAdmin("/audit");
    await page.getByRole("textbox", { name: "Find" }).or(page.getByRole("searchbox")).waitFor();
    await page.keyboard.press("/");
    await page.keyboard.type("g o?/");
    await waitForValue(page.locator("input:focus"), "g o?/");
    expect(await page.getByRole("dialog").count()).toBe(0);
    expect(new URL(page.url()).pathname).toBe("/audit");
    await page.locator("main").focus();
    await page.keyboard.press("?");
    const help = page.getByRole("dialog", { name: "Keyboard shortcuts" });
    await help.waitFor();
    await checkAccessibility(page);
    await page.keyboard.press("g");
    await page.keyboard.press("o");
    expect(new URL(page.url()).pathname).toBe("/audit");
    await page.keyboard.press("Escape");
    await help.waitFor({ state: "detached" });
    await page.locator("#main:focus").waitFor();
  });
});

import { beforeEach, expect, test } from "bun:test";
import type { Page } from "playwright-core";
import { checkAccessibility } from "./support/axe.ts";
import { describeInBrowser, useBrowser } from "./support/browser.ts";
import { tabThrough } from "./support/keyboard.ts";
import { checkFits, checkFitsSmall } from "./support/layout.ts";
import { shoot } from "./support/screenshots.ts";
import type { Site } from "./support/site.ts";
import { inBothThemes } from "./support/themes.ts";
import type { Visitor } from "./support/visitor.ts";

const browser = useBrowser();

let site: Site;
beforeEach(async () => {
  site = await browser.newSite({
    people: {
      ada: { preferred_username: "ada", groups: ["team", "operators"] },
      mia: { preferred_username: "mia", groups: ["team"] },
      eve: { preferred_username: "eve", groups: ["elsewhere"] },
    },
    env: { PROXY_OIDC_REQUIRED_GROUP: "team", PROXY_OIDC_ADMIN_GROUP: "operators" },
  });
});

const ssoLink = (page: Page) => page.getByRole("link", { name: "Continue with single sign-on" });

async function visit(path: string): Promise<Visitor> {
  const visitor = await browser.newVisitor({ baseUrl: site.url });
  await visitor.page.goto(path);
  await ssoLink(visitor.page).waitFor();
  return visitor;
}

/** To the provider's own page, which has something to say for itself and would fetch a font. */
async function goToProvider(visitor: Visitor): Promise<void> {
  const { page, context } = visitor;
  await context.route("https://fonts.googleapis.com/**", (route) =>
    route.fulfill({ contentType: "text/css", body: "" }),
  );
  visitor.allow(
    new RegExp(`^console: verbose: .* autocomplete .*${site.identityProvider?.issuer}/interaction/`),
  );
  await ssoLink(page).click();
  await page.locator("input[name=login]").waitFor();
}

/** Fills in the provider's forms, up to where it sends people back. */
async function passProvider(page: Page, login: string): Promise<void> {
  await page.locator("input[name=login]").fill(login);
  await page.locator("input[name=password]").fill("any");
  await page.keyboard.press("Enter");
  await page.getByRole("button", { name: "Continue" }).click();
  await page.waitForURL((url) => url.origin === site.url);
}

const pageLinks = (page: Page) => page.getByRole("navigation", { name: "Pages" }).getByRole("link");

describeInBrowser("single sign-on", () => {
  test("stands first on the sign-in page, the password beneath it", async () => {
    const { page } = await visit("/");
    const password = page.getByRole("textbox", { name: "Administrator password" });
    const [above, beneath] = [await ssoLink(page).boundingBox(), await password.boundingBox()];
    expect(above!.y + above!.height).toBeLessThan(beneath!.y);
    await inBothThemes(page, async () => {
      await checkAccessibility(page);
      await checkFitsSmall(page);
    });
    const stops = await tabThrough(page);
    const toPlace = (part: string) => stops.findIndex((stop) => stop.includes(part));
    expect(toPlace("Continue with single sign-on")).toBeGreaterThan(-1);
    expect(toPlace("Continue with single sign-on")).toBeLessThan(toPlace('"password"'));
  });

  test("leads through the provider back to where one wanted to go, with its filters, as the groups say", async () => {
    const visitor = await visit("/requests?outcome=failed&range=24h&tag=app%3Ax");
    const { page } = visitor;
    await goToProvider(visitor);
    await passProvider(page, "ada");
    await page.getByRole("heading", { level: 1, name: "Requests" }).waitFor();
    const { pathname, searchParams } = new URL(page.url());
    expect(pathname).toBe("/requests");
    expect(Object.fromEntries(searchParams)).toEqual({ outcome: "failed", range: "24h", tag: "app:x" });
    await pageLinks(page).filter({ hasText: "Providers" }).waitFor();
    await page.getByRole("button", { name: /^Account: ada/ }).waitFor();
    // What was kept for the way is gone: the next sign-in goes where it is asked for.
    expect(await page.evaluate(() => JSON.stringify(sessionStorage))).not.toContain("/requests");
  });

  test("makes somebody without the group of admins a member", async () => {
    const visitor = await visit("/");
    const { page } = visitor;
    await goToProvider(visitor);
    await passProvider(page, "mia");
    await page.getByRole("heading", { level: 1, name: "Overview" }).waitFor();
    await page.getByText("Waiting for an admin").first().waitFor();
    expect(await pageLinks(page).allTextContents()).not.toContain("Providers");
  });

  test("refuses somebody outside the group in a sentence, with its code and the way on, and signs nobody in", async () => {
    const visitor = await visit("/models");
    const { page, context } = visitor;
    await goToProvider(visitor);
    visitor.expect(/^request: GET .*\/auth\/callback\?.* answered 403$/);
    await passProvider(page, "eve");
    await page.getByRole("heading", { level: 1, name: "You are not signed in" }).waitFor();
    const text = await page.locator("main").innerText();
    expect(text).toContain("sso_group_required");
    expect(text).toMatch(/group/);
    expect(text).not.toMatch(/[{}]|undefined|invalid_request/);
    await inBothThemes(page, async () => {
      await checkAccessibility(page);
      await checkFits(page);
      await shoot(page, "sso-refused");
    });
    await checkFitsSmall(page);
    expect((await context.cookies(site.url)).map(({ name }) => name)).not.toContain("proxy_session");
    await page.getByRole("link", { name: "go to the first page" }).click();
    await ssoLink(page).waitFor();
    const people = JSON.parse((await site.cli("principal", "list", "--json")).data);
    expect(JSON.stringify(people)).not.toContain('"eve"');
  });

  test("given up at the provider is told in a sentence, too, and may begin again", async () => {
    const visitor = await visit("/");
    const { page } = visitor;
    await goToProvider(visitor);
    visitor.expect(/^request: GET .*\/auth\/callback\?.* answered 40\d$/);
    await page.getByRole("link", { name: /Cancel|abort/i }).click();
    await page.getByRole("heading", { level: 1, name: "You are not signed in" }).waitFor();
    await checkAccessibility(page);
    await page.getByRole("link", { name: "Sign in again" }).click();
    await passProvider(page, "mia");
    await page.getByRole("heading", { level: 1, name: "Overview" }).waitFor();
  });

  test("alone, with the password turned off, leaves no field for one", async () => {
    await site.restart({ PROXY_ADMIN_PASSWORD_DISABLED: "true" });
    const { page } = await visit("/");
    expect(await page.getByRole("textbox").count()).toBe(0);
    expect(await page.getByText("or as the administrator").count()).toBe(0);
    await checkAccessibility(page);
  });
});

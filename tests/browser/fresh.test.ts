import { expect, test } from "bun:test";
import type { Locator, Page } from "playwright-core";
import { checkAccessibility } from "./support/axe.ts";
import { describeInBrowser, useBrowser } from "./support/browser.ts";
import { checkFits, checkFitsSmall } from "./support/layout.ts";
import { ADMIN_PATHS, MEMBER_PATHS, openAtRest } from "./support/rest.ts";
import { shoot } from "./support/screenshots.ts";
import { makeLoginLink } from "./support/sign-in.ts";
import type { SiteOptions } from "./support/site.ts";
import { inBothThemes } from "./support/themes.ts";

const browser = useBrowser();

const link =
  (name: string, to: string) =>
  (page: Page): Locator =>
    page.locator(`main a[href="${to}"]`, { hasText: name });
const button =
  (name: string) =>
  (page: Page): Locator =>
    page.getByRole("main").getByRole("button", { name, exact: true });

type Steps = { readonly [path: string]: (page: Page) => Locator };

const TO_SETUP = link("Continue the setup", "/");
const SETUP_PAGE = link("Continue the setup", "/setup");

/** What leads on from each page, for somebody who has nothing where nothing is set up. */
const MEMBER_STEPS: Steps = {
  "/": link("Create a key", "/keys"),
  "/usage": link("My keys", "/keys"),
  "/statement": link("Overview", "/"),
  "/requests": TO_SETUP,
  "/errors": TO_SETUP,
  "/models": TO_SETUP,
  "/playground": TO_SETUP,
  "/keys": button("Create your first key"),
  "/relay-tokens": button("Create your first relay token"),
};
const ADMIN_STEPS: Steps = {
  ...MEMBER_STEPS,
  "/": link("Start", "/setup"),
  "/requests": SETUP_PAGE,
  "/errors": SETUP_PAGE,
  "/models": SETUP_PAGE,
  "/playground": link("Go to providers", "/providers"),
  "/providers": button("Add your first provider"),
  "/people": button("Add person or service"),
  "/limits": button("New limit"),
  "/models/prices": button("Load prices"),
  "/models/repricing": button("Re-price…"),
  "/reconcile": (page) => page.getByText("Drop files here"),
  // The command that added the newcomer has left the first event.
  "/audit": (page) => page.getByText("principal.create"),
};

async function visitNewcomer(role: "member" | "admin", options: SiteOptions = {}): Promise<Page> {
  const site = await browser.newSite(options);
  expect((await site.cli("principal", "create", "newcomer", "--role", role)).code).toBe(0);
  const { page } = await browser.newVisitor({ baseUrl: site.url });
  await page.goto(await makeLoginLink(site, "newcomer"));
  await page.getByRole("heading", { level: 1, name: "Overview" }).waitFor();
  return page;
}

describeInBrowser("where nothing is set up", () => {
  test.each([
    ["member", MEMBER_PATHS, MEMBER_STEPS],
    ["admin", [...MEMBER_PATHS, ...ADMIN_PATHS], ADMIN_STEPS],
  ] as const)("every page of a new %s leads to the next step", async (role, paths, steps) => {
    const page = await visitNewcomer(role);
    for (const path of paths) {
      await openAtRest(page, path);
      await steps[path]!(page).first().waitFor();
      await inBothThemes(page, async () => {
        await checkAccessibility(page);
        await checkFits(page);
      });
      await shoot(page, `fresh-${role}-${path}`);
      if (path === "/errors" || path === "/playground") await checkFitsSmall(page);
    }
  });
});

describeInBrowser("where models are bound and nobody has called one", () => {
  test("the first request that one may paste names a model, and the errors claim no window", async () => {
    const page = await visitNewcomer("member", {
      upstream: { script: (asked) => asked.reply({ body: "{}" }), models: { fast: "vendor/fast" } },
    });
    await openAtRest(page, "/requests");
    await page.getByText('"model":"fast"').waitFor();
    expect(await page.getByText("the name of a model").count()).toBe(0);
    await openAtRest(page, "/errors");
    await page.getByText("No requests yet").waitFor();
    expect(await page.getByText("No requests in this window").count()).toBe(0);
  });
});

import { beforeEach, expect, test } from "bun:test";
import type { Page, Request, Route } from "playwright-core";
import { describeInBrowser, useBrowser } from "./support/browser.ts";
import { callInPage } from "./support/in-page.ts";
import { ADMIN_PATHS, MEMBER_PATHS, openAtRest, rest } from "./support/rest.ts";
import { signInAsAdmin } from "./support/sign-in.ts";
import type { Site } from "./support/site.ts";
import type { Visitor } from "./support/visitor.ts";
import { eventually } from "./support/waiting.ts";

const browser = useBrowser();

const DEMO = { demo: { days: 20 } } as const;

let site: Site;
beforeEach(async () => {
  site = await browser.sharedSite(DEMO);
});

const PATHS = [...MEMBER_PATHS, ...ADMIN_PATHS, "/settings", "/setup"];
/** What they ask for is of use to them, and not needed. */
const ASKING_NOTHING: ReadonlySet<string> = new Set(["/settings", "/reconcile"]);

const REQUESTS_MAX = 24;
const BYTES_MAX = 200_000;
/** Behind the files of the page, and who is signed in. */
const ROUNDS_MAX = 2;

/**
 * A browser that has nothing of the page yet, and a session. Its clock stands still: with each new minute the page asks for what
 * its window is compared with, and a minute may end within a visit.
 */
async function openCold(): Promise<Visitor> {
  const warm = await browser.newVisitor({ baseUrl: site.url });
  await signInAsAdmin(warm, site);
  const cookies = await warm.context.cookies();
  const viewport = { width: 1440, height: 900 };
  const cold = await browser.newVisitor({ baseUrl: site.url, viewport, savesData: true });
  await cold.context.addCookies(cookies);
  await cold.page.clock.setFixedTime(Date.now());
  return cold;
}

const pathOf = (request: Request) => new URL(request.url()).pathname;
const isAnswer = (path: string) => !path.startsWith("/assets/") && path !== "/" && path !== "/auth/me";

describeInBrowser("a cold visit", () => {
  test(`of Overview takes at most ${REQUESTS_MAX} requests and ${BYTES_MAX} bytes, head and body`, async () => {
    const { page } = await openCold();
    const requests: Request[] = [];
    page.on("request", (request) => requests.push(request));
    await openAtRest(page, "/");
    await page.getByRole("application").waitFor();
    await page.getByRole("rowheader").first().waitFor();
    await rest(page);
    const sizes = await Promise.all(requests.map((request) => request.sizes()));
    const bytes = sizes.reduce((sum, size) => sum + size.responseHeadersSize + size.responseBodySize, 0);
    expect(requests.map(pathOf)).toContain("/stats/series");
    expect(requests.length).toBeLessThanOrEqual(REQUESTS_MAX);
    expect(bytes).toBeLessThanOrEqual(BYTES_MAX);
    // Nothing is asked for twice.
    expect(new Set(requests.map((request) => request.url())).size).toBe(requests.length);
  });

  test.each(PATHS)(
    `of %s asks in at most ${ROUNDS_MAX} rounds, each after the answers of the one before`,
    async (path) => {
      const { page } = await openCold();
      const rounds = await countRounds(page, path);
      if (rounds.length > ROUNDS_MAX) throw new Error(rounds.map((round) => round.join(" ")).join("\n"));
      expect(rounds.length).toBeGreaterThanOrEqual(1);
    },
  );
});

/** What is asked for until the page is at rest, where no question is answered before all others of its round are asked. */
async function countRounds(page: Page, path: string): Promise<readonly (readonly string[])[]> {
  const held: Route[] = [];
  const asked = new Set<string>();
  const underWay = new Set<Request>();
  page.on("request", (request) => underWay.add(request));
  page.on("requestfinished", (request) => underWay.delete(request));
  page.on("requestfailed", (request) => underWay.delete(request));
  await page.route(
    ({ pathname }) => isAnswer(pathname),
    async (route) => {
      const url = route.request().url();
      // What is looked for again and again is no further step.
      const isDocument = route.request().resourceType() === "document";
      if (isDocument || asked.has(url) || /[?&]after=/.test(url)) return await route.continue();
      asked.add(url);
      held.push(route);
    },
  );
  await page.goto(path, { waitUntil: "commit" });
  await page.locator("h1").waitFor();
  const rounds: string[][] = [];
  for (;;) {
    // Twice: what has come is drawn, and may ask for more.
    for (let quiet = 0; quiet < 2; quiet += 1) {
      await eventually(() => {
        if ([...underWay].some((request) => !held.some((route) => route.request() === request))) {
          throw new Error("something is still under way");
        }
      });
      await callInPage(page, "settle");
    }
    if (held.length === 0) return rounds;
    const round = held.splice(0);
    rounds.push(round.map((route) => new URL(route.request().url()).pathname));
    await Promise.all(round.map((route) => route.continue()));
  }
}

describeInBrowser("a page whose questions are refused", () => {
  test.each(PATHS)("says so on %s, and nothing in it goes on waiting", async (path) => {
    const visitor = await browser.sharedVisitor(site);
    const { page } = visitor;
    visitor.allow(/400/);
    const error = { code: "refused_here", message: "Refused for a reason.", type: "invalid_request_error" };
    await page.route(
      ({ pathname }) => isAnswer(pathname) && pathname !== path,
      (route) =>
        route.request().resourceType() === "document"
          ? route.continue()
          : route.fulfill({ status: 400, json: { error } }),
    );
    await openAtRest(page, path);
    expect(await page.locator("main .skeleton").count()).toBe(0);
    if (!ASKING_NOTHING.has(path)) await page.locator("main").getByText("refused_here").first().waitFor();
  });
});

describeInBrowser("a page whose file is on its way", () => {
  test("is titled, and says that it waits, until it is there", async () => {
    const visitor = await browser.sharedVisitor(site);
    const { page } = visitor;
    await openAtRest(page, "/");
    const arrival = Promise.withResolvers<void>();
    await page.route(/[/]assets[/]reports-/, async (route) => {
      await arrival.promise;
      await route.continue();
    });
    await page.getByRole("navigation", { name: "Pages" }).getByRole("link", { name: "Requests" }).click();
    await page
      .locator("main [aria-busy=true]")
      .getByRole("heading", { level: 1, name: "Requests" })
      .waitFor();
    expect(await page.getByRole("heading", { level: 1, name: "Overview" }).count()).toBe(0);
    arrival.resolve();
    await page.getByRole("rowheader").first().waitFor();
  });
});

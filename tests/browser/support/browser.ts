import { afterAll, afterEach, describe, setDefaultTimeout } from "bun:test";
import type { Browser } from "playwright-core";
import { findChromium, launchChromium } from "./chromium.ts";
import { signInAsAdmin } from "./sign-in.ts";
import { startSite, type Site, type SiteOptions } from "./site.ts";
import { openVisitor, type Renewal, type Visitor, type VisitorOptions } from "./visitor.ts";

const TEST_MS_MAX = 120_000;

const chromiumPath = findChromium();
if (chromiumPath === null) {
  const missing = "No Chromium on this machine (apt-get install chromium, or set CHROMIUM)";
  if (process.env["CI"] === "true") throw new Error(`${missing}: CI does not go without the browser tests.`);
  console.warn(`${missing}: the browser tests are skipped.`);
}

/** `describe`, skipped with a notice where there is no Chromium. With `CI=true` a missing one is a failure. */
export const describeInBrowser = chromiumPath === null ? describe.skip : describe;

export interface TestBrowser {
  /** Somebody with a profile and a page of their own. After the test the page must have been silent, and is closed. */
  newVisitor(options: VisitorOptions): Promise<Visitor>;
  /**
   * An installation of the test's own, for `beforeEach` or the test itself: a test that is tried again begins anew, whatever
   * its first try has made or broken. It ends after the test, when the visitors are gone.
   */
  newSite(options?: SiteOptions): Promise<Site>;
  /** The site that all tests of the file share which ask with this very object: for tests that change nothing. It ends with the file. */
  sharedSite(options: SiteOptions): Promise<Site>;
  /**
   * Admin of a shared site, with one profile and page for all its tests in this time zone: half of a visit is a new process.
   * The page is where the test before left it, for the test to open what it wants; after the test it must have been silent.
   * What is no site has no sign-in.
   */
  sharedVisitor(
    site: Site | Pick<Site, "url">,
    options?: Renewal & Pick<VisitorOptions, "timezoneId">,
  ): Promise<Visitor>;
}

/**
 * The browser for the tests of a file, to be called once at its top; its first visitor starts it. One browser for all files of
 * a run would need a process between, which costs a fifth of a test's time. Tests may take two minutes from here on, which
 * a loaded machine needs.
 */
export function useBrowser(): TestBrowser {
  setDefaultTimeout(TEST_MS_MAX);
  let launched: Promise<Browser> | null = null;
  const visitors: Visitor[] = [];
  const sites: Site[] = [];
  const sharedSites = new Map<SiteOptions, Promise<Site>>();
  const sharedVisitors = new Map<string, Visitor>();
  /** Those of the test that runs. */
  const shared = new Set<Visitor>();

  const open = async (options: VisitorOptions) => {
    if (chromiumPath === null) throw new Error("there is no Chromium on this machine");
    // A test that runs out of time is ended together with the processes around it.
    if (launched === null || !(await launched).isConnected()) launched = launchChromium(chromiumPath);
    return await openVisitor(await launched, options);
  };

  // One hook for both: a hook that throws keeps those after it from being run.
  afterEach(async () => {
    const checks = [...shared].map((visitor) => visitor.check());
    shared.clear();
    const outcomes = [
      ...(await Promise.allSettled(checks)),
      ...(await Promise.allSettled(visitors.splice(0).map((visitor) => visitor.close()))),
      ...(await Promise.allSettled(sites.splice(0).map((site) => site.stop()))),
    ];
    const failed = outcomes.find((outcome) => outcome.status === "rejected");
    if (failed !== undefined) throw failed.reason;
  });
  afterAll(async () => {
    for (const visitor of sharedVisitors.values()) await visitor.context.close();
    for (const site of sharedSites.values()) await (await site).stop();
    const browser = await launched;
    launched = null;
    await browser?.close();
  });

  return {
    async newVisitor(options) {
      const visitor = await open(options);
      visitors.push(visitor);
      return visitor;
    },
    async newSite(options) {
      const site = await startSite(options);
      sites.push(site);
      return site;
    },
    async sharedSite(options) {
      let site = sharedSites.get(options);
      if (site === undefined) {
        site = startSite(options);
        sharedSites.set(options, site);
        // One that could not be started is tried again.
        site.catch(() => sharedSites.delete(options));
      }
      return await site;
    },
    async sharedVisitor(site, { timezoneId, ...renewal } = {}) {
      const key = `${site.url} ${timezoneId ?? ""}`;
      let visitor = sharedVisitors.get(key);
      if (visitor?.page.isClosed() !== false) {
        visitor = await open({ baseUrl: site.url, ...(timezoneId !== undefined && { timezoneId }) });
        if ("adminPassword" in site) await signInAsAdmin(visitor, site);
        sharedVisitors.set(key, visitor);
      }
      await visitor.renew(renewal);
      shared.add(visitor);
      return visitor;
    },
  };
}

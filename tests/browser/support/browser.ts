import { afterAll, afterEach, describe, setDefaultTimeout } from "bun:test";
import { chromium, type Browser } from "playwright-core";
import { findChromium, launchChromium } from "./chromium.ts";
import { startSite, type Site, type SiteOptions } from "./site.ts";
import { openVisitor, type Visitor, type VisitorOptions } from "./visitor.ts";

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
}

/**
 * The browser for the tests of a file, to be called once at its top: the one that all files of a run share, or, for a file
 * that runs alone, one that its first visitor starts. Tests may take two minutes from here on, which a loaded machine
 * needs.
 */
export function useBrowser(): TestBrowser {
  setDefaultTimeout(TEST_MS_MAX);
  let launched: Promise<Browser> | null = null;
  const visitors: Visitor[] = [];
  const sites: Site[] = [];

  // One hook for both: a hook that throws keeps those after it from being run.
  afterEach(async () => {
    const outcomes = [
      ...(await Promise.allSettled(visitors.splice(0).map((visitor) => visitor.close()))),
      ...(await Promise.allSettled(sites.splice(0).map((site) => site.stop()))),
    ];
    const failed = outcomes.find((outcome) => outcome.status === "rejected");
    if (failed !== undefined) throw failed.reason;
  });
  afterAll(async () => {
    const browser = await launched;
    launched = null;
    await browser?.close();
  });

  return {
    async newVisitor(options) {
      if (chromiumPath === null) throw new Error("there is no Chromium on this machine");
      // A test that runs out of time is ended together with the processes around it.
      if (launched === null || !(await launched).isConnected()) launched = openBrowser(chromiumPath);
      const visitor = await openVisitor(await launched, options);
      visitors.push(visitor);
      return visitor;
    },
    async newSite(options) {
      const site = await startSite(options);
      sites.push(site);
      return site;
    },
  };
}

async function openBrowser(executablePath: string): Promise<Browser> {
  const endpoint = process.env["LOCKPORT_TEST_BROWSER"];
  return endpoint === undefined ? await launchChromium(executablePath) : await chromium.connect(endpoint);
}

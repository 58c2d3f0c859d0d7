import { afterAll, test } from "bun:test";
import { describeInBrowser, useBrowser } from "./support/browser.ts";
import { ADMIN_PATHS, MEMBER_PATHS, openAtRest } from "./support/rest.ts";
import type { Site } from "./support/site.ts";
import { startSlowLine, type SlowLine } from "./support/slow-line.ts";
import { checkNoShift, readVitals } from "./support/vitals.ts";

const browser = useBrowser();

const DEMO = { demo: { days: 3 } } as const;
const EMPTY = {};

const VIEWPORTS = [
  { width: 1280, height: 800 },
  { width: 360, height: 740 },
] as const;

const lines = new Map<Site, SlowLine>();
afterAll(async () => {
  for (const line of lines.values()) await line.stop();
});

/** Answers come late and one by one, as over a slow line: what stands meanwhile must have the size of what comes. */
async function visit(visited: Site, viewport: (typeof VIEWPORTS)[number]) {
  const line = lines.get(visited) ?? startSlowLine(visited.url);
  lines.set(visited, line);
  return await browser.sharedVisitor({ ...visited, url: line.url }, { viewport });
}

describeInBrowser("nothing moves that nobody touched", () => {
  test.each([...MEMBER_PATHS, ...ADMIN_PATHS])(
    "on %s, as its answers come one by one, in a wide window and on a telephone",
    async (path) => {
      const site = await browser.sharedSite(DEMO);
      for (const viewport of VIEWPORTS) {
        const { page } = await visit(site, viewport);
        await openAtRest(page, path);
        await checkNoShift(page);
        const { longTasks } = await readVitals(page);
        // Told, and not judged: how long they take is the machine's affair.
        if (longTasks.length > 0 && viewport.width === 1280) {
          const longest = Math.max(...longTasks.map(({ durationMs }) => durationMs));
          console.info(`${path}: ${longTasks.length} long tasks, the longest ${Math.round(longest)} ms`);
        }
      }
    },
  );

  test.each([...MEMBER_PATHS, ...ADMIN_PATHS])(
    "on %s of an installation without anything in it",
    async (path) => {
      const emptySite = await browser.sharedSite(EMPTY);
      for (const viewport of VIEWPORTS) {
        const { page } = await visit(emptySite, viewport);
        await openAtRest(page, path);
        await checkNoShift(page);
      }
    },
  );

  test.each(["/", "/requests", "/errors"])("on %s under a filter that nothing matches", async (path) => {
    const site = await browser.sharedSite(DEMO);
    for (const viewport of VIEWPORTS) {
      const { page } = await visit(site, viewport);
      await openAtRest(page, `${path}?range=7d&model=none-of-that-name`);
      await checkNoShift(page);
    }
  });
});

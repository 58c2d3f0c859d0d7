/**
 * The page's cost in a browser on a filled installation, run by hand: `bun bench/page.ts` (needs two quiet cores and a minute).
 * It builds the executable, fills 60 days of a demonstration, and prints the largest paint of a cold first look and how far
 * anything moves. Exits 1 when a goal is missed.
 */
import { cpus } from "node:os";
import { findChromium, launchChromium } from "../tests/browser/support/chromium.ts";
import { rest } from "../tests/browser/support/rest.ts";
import { signInAsAdmin } from "../tests/browser/support/sign-in.ts";
import { startSite } from "../tests/browser/support/site.ts";
import { openVisitor, type Visitor } from "../tests/browser/support/visitor.ts";
import { readVitals } from "../tests/browser/support/vitals.ts";
import { below, createTable, percentile, toFigure, type Goal } from "./table.ts";

const LOOKS = 7;
const PAINT_GOAL_MS = 400;

const path = findChromium();
if (path === null) throw new Error("There is no Chromium on this machine: install one, or set CHROMIUM.");
const table = createTable();
let isHeld = true;
const report = (name: string, text: string, goal: Goal | null = null) => {
  table.report(name, text, goal);
  isHeld &&= goal?.isMet ?? true;
};

const site = await startSite({ demo: { days: 60 } });
const browser = await launchChromium(path);
try {
  await measureFirstLook();
} finally {
  await browser.close();
  await site.stop();
}
const machine = `${cpus()[0]?.model ?? "unknown processor"}, ${cpus().length} cores, ${browser.version()}`;
table.print(`The page on ${new Date().toISOString().slice(0, 10)} (${machine})`, ["figure"]);
process.exitCode = isHeld ? 0 : 1;

async function visit(): Promise<Visitor> {
  const visitor = await openVisitor(browser, { baseUrl: site.url });
  await signInAsAdmin(visitor, site);
  return visitor;
}

async function measureFirstLook(): Promise<void> {
  const paints: number[] = [];
  let cls = 0;
  for (let look = 0; look < LOOKS; look += 1) {
    // A profile of its own: nothing is cached.
    const { page, context } = await visit();
    await page.goto("/");
    await page.getByRole("rowheader").first().waitFor();
    await rest(page);
    const vitals = await readVitals(page);
    paints.push(vitals.lcpMs ?? Number.NaN);
    cls = Math.max(cls, vitals.cls);
    await context.close();
  }
  const paint = percentile(paints, 0.5);
  report(
    "Largest paint of a cold first look",
    `median ${toFigure(paint)} ms, worst ${toFigure(Math.max(...paints))} ms`,
    below(paint, PAINT_GOAL_MS, " ms"),
  );
  report("Layout shift of the first look", cls.toFixed(4), below(cls, 0, ""));
}

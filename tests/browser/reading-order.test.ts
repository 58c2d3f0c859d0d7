import { expect, test } from "bun:test";
import { describeInBrowser, useBrowser } from "./support/browser.ts";
import { openAtRest } from "./support/rest.ts";

const browser = useBrowser();

const DEMO = { demo: { days: 14, seed: 1 } } as const;

/** Landmarks, headings and tables are what a screen reader moves by. */
const STEPS =
  /^ *- (navigation|banner|main|search|complementary|region|form|table|heading)\b(?: "([^"]*)")?(.*)$/;
const FRAME = ["complementary", "navigation Pages", "main"];

const ORDER: { readonly [path: string]: readonly string[] } = {
  "/": [
    "heading1 Overview",
    "search Filters",
    "region Sums of the window",
    "heading2 Cost by model",
    "heading2 By model",
    "region Usage by model",
    "table Usage by model",
  ],
  "/requests": [
    "heading1 Requests",
    "search Filters",
    "region Requests",
    "table Requests",
    "navigation Pages of requests",
  ],
  "/errors": [
    "heading1 Errors",
    "search Filters",
    "region Sums of the window",
    "heading2 Causes and advice",
    "heading2 Client versions that fail more often",
    "region Client versions that fail more often",
    "table Client versions that fail more often",
    "heading2 Retry storms",
    "region Retry storms",
    "table Retry storms",
    "heading2 Outcomes over time",
    "heading2 Time to the outcome",
    "heading2 By model and kind",
    "region Errors by route",
    "table Errors by route",
    "heading2 By client",
    "region Errors by client",
    "table Errors by client",
  ],
  "/models": [
    "heading1 Models",
    "navigation Sections",
    "heading2 Where does a request go?",
    "search Filters",
    "region Models",
    "table Models",
  ],
  "/people": [
    "heading1 People & keys",
    "search Filters",
    "region People and services",
    "table People and services",
  ],
  "/limits": [
    "heading1 Budgets & limits",
    "search Filters",
    "heading2 Budgets of the month",
    "region Monthly budgets",
    "table Monthly budgets",
    "heading2 Other limits",
    "region Other limits",
    "table Other limits",
  ],
};

describeInBrowser("a screen reader", () => {
  test.each(Object.entries(ORDER))("reads %s in the order in which it is seen", async (path, order) => {
    const site = await browser.sharedSite(DEMO);
    const { page } = await browser.sharedVisitor(site, { viewport: { width: 1440, height: 900 } });
    await openAtRest(page, path);
    const tree = await page.locator("body").ariaSnapshot();
    const steps = tree.split("\n").flatMap((line) => {
      const [, role, name = "", rest = ""] = STEPS.exec(line) ?? [];
      if (role === undefined) return [];
      const level = /\[level=(\d)\]/.exec(rest)?.[1] ?? "";
      return [`${role}${level} ${name.replace(/of \w+ \d{4}$/, "of the month")}`.trim()];
    });
    expect(steps).toEqual([...FRAME, ...order]);
    // An amount in pieces, `$0. 0126`, is read as two numbers.
    expect(tree).not.toMatch(/\$\d+\. /);
    expect(await page.evaluate(findMisplaced)).toEqual([]);
  });
});

/** Parts of the page that are read after one that is seen beneath them, or to their right in the same line. */
function findMisplaced(): readonly string[] {
  const parts = [
    ...document.querySelectorAll("main :is(h1, h2, h3, [role=search], [role=region], nav)"),
  ].flatMap((element) => {
    const { top, left, width, height } = element.getBoundingClientRect();
    return width > 1 && height > 1 ? [{ name: element.textContent.slice(0, 40), top, left }] : [];
  });
  return parts.flatMap((part, index) => {
    const before = parts[index - 1];
    const isBelow = before === undefined || part.top > before.top || part.left > before.left;
    return isBelow ? [] : [`${part.name} is read after ${before.name}`];
  });
}

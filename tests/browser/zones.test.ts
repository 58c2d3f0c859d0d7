import { beforeEach, expect, test } from "bun:test";
import type { Page } from "playwright-core";
import { describeInBrowser, useBrowser } from "./support/browser.ts";
import { readDownload } from "./support/download.ts";
import { openAtRest, rest } from "./support/rest.ts";
import { checkAccessibility } from "./support/axe.ts";
import { checkFitsSmall } from "./support/layout.ts";
import { signInAsAdmin } from "./support/sign-in.ts";
import type { Site } from "./support/site.ts";

const browser = useBrowser();

/** Ahead of UTC and behind it; `Etc` counts westwards. */
const ZONES = [
  { timezoneId: "UTC", offsetMinutes: 0 },
  { timezoneId: "Asia/Tokyo", offsetMinutes: -540 },
  { timezoneId: "Etc/GMT+9", offsetMinutes: 540 },
] as const;

const DAY_MS = 86_400_000;

/** The window that is typed below, as the button says it. */
const WINDOW_CHOSEN = "Window: 2026-01-02 22:30 – 2026-01-03 01:00 UTC";

const DEMO = { demo: { days: 10 } } as const;
let site: Site;
/** Late in the day before today: tomorrow in Tokyo. */
let nowMs: number;
beforeEach(async () => {
  site = await browser.sharedSite(DEMO);
  nowMs = Math.floor(Date.now() / DAY_MS) * DAY_MS - 210 * 60_000;
});

/** What `read` finds, as somebody in each zone sees it, at the same moment. */
async function readInZones<Script>(read: (page: Page) => Promise<Script>): Promise<readonly Script[]> {
  return await Promise.all(
    ZONES.map(async ({ timezoneId, offsetMinutes }) => {
      const visitor = await browser.sharedVisitor(site, { timezoneId });
      await visitor.page.clock.setFixedTime(nowMs);
      await visitor.page.goto("/keys");
      expect(await visitor.page.evaluate(() => new Date().getTimezoneOffset())).toBe(offsetMinutes);
      return await read(visitor.page);
    }),
  );
}

/** Every word of the page, those in drawings and those that only a hover or a screen reader brings out among them. */
async function readWords(page: Page): Promise<string> {
  return await page.evaluate(() => {
    const names = ["aria-label", "title", "placeholder", "datetime", "aria-valuetext"];
    const words = [...document.querySelectorAll("main, main *, [role=dialog], [role=dialog] *")].flatMap(
      (element) =>
        names
          .map((name) => element.getAttribute(name) ?? "")
          .concat(
            [...element.childNodes].map((node) => (node instanceof Text ? node.data : "")),
            element instanceof HTMLInputElement ? element.value : "",
          ),
    );
    return words.filter((word) => word.trim() !== "").join("\n");
  });
}

const toDay = (atMs: number) => new Date(atMs).toISOString().slice(0, 10);

async function openTables(page: Page): Promise<void> {
  for (const button of await page.getByRole("button", { name: "Table", exact: true }).all())
    await button.click();
}

describeInBrowser("people in Tokyo and nine hours behind UTC", () => {
  test.each([
    "/?range=7d",
    "/usage?range=30d",
    "/requests?range=24h",
    "/errors?range=7d",
    "/audit",
    "/people",
  ])("read on %s what those in UTC read: labels, axes, tables", async (path) => {
    const [utc, ...others] = await readInZones(async (page) => {
      await openAtRest(page, path);
      const drawn = await readWords(page);
      await openTables(page);
      await rest(page);
      return `${drawn}\n${await readWords(page)}`;
    });
    expect(utc).toMatch(/UTC/);
    expect(utc).toMatch(/\d{4}-\d\d-\d\d|\d [A-Z][a-z]{2} \d{4}/);
    for (const other of others) expect(other).toBe(utc!);
  });

  test("pick the same window, hover the same bar, and narrow to the same hours", async () => {
    const [utc, ...others] = await readInZones(async (page) => {
      await openAtRest(page, "/?range=7d&bucket=day");
      const chart = page.getByRole("application").first();
      await chart.focus();
      await page.keyboard.press("Home");
      await rest(page);
      const tooltip = await readWords(page);
      await page.keyboard.press("Enter");
      await page.waitForURL(/since=/);
      const narrowed = new URL(page.url()).search;
      await page.getByRole("button", { name: /^Window/ }).click();
      const picker = page.getByRole("dialog", { name: "Window" });
      await picker.getByLabel("From (UTC)").waitFor();
      const fields = await picker
        .locator("input[type=date], input[type=time]")
        .evaluateAll((all) => all.map((one) => (one as HTMLInputElement).value));
      await picker.getByLabel("From (UTC)").fill("2026-01-02");
      await picker.getByLabel("To (UTC)").fill("2026-01-03");
      await picker.getByLabel("From, time").fill("22:30");
      await picker.getByLabel("To, time").fill("01:00");
      await picker.getByRole("button", { name: "Apply" }).click();
      await picker.waitFor({ state: "detached" });
      await page.getByRole("button", { name: WINDOW_CHOSEN, exact: true }).waitFor();
      return { tooltip, narrowed, fields, chosen: new URL(page.url()).search };
    });
    expect(utc!.narrowed).toContain(`since=${toDay(nowMs - 6 * DAY_MS)}T00`);
    // One day: its end, which is exclusive, is told by the day itself.
    expect(utc!.fields).toEqual([toDay(nowMs - 6 * DAY_MS), "", toDay(nowMs - 6 * DAY_MS), ""]);
    for (const other of others) expect(other).toEqual(utc!);
  });

  test("save the same CSV under the same name", async () => {
    const [utc, ...others] = await readInZones(async (page) => {
      const files: string[] = [];
      for (const path of ["/?range=7d", "/requests?range=24h"]) {
        await openAtRest(page, path);
        const [download] = await Promise.all([
          page.waitForEvent("download"),
          page.getByRole("button", { name: /^(CSV|All detail)$/ }).click(),
        ]);
        files.push(download.suggestedFilename(), await readDownload(download));
      }
      return files;
    });
    expect(utc![0]).toBe(`lockport-usage_${toDay(nowMs - 6 * DAY_MS)}_${toDay(nowMs)}T2030_UTC.csv`);
    expect(utc![1]!.length).toBeGreaterThan(200);
    for (const other of others) expect(other).toEqual(utc!);
  });
});

describeInBrowser("the settings", () => {
  test("show lists in local time with its zone when that is chosen, while windows stay in UTC, and end other sessions", async () => {
    const own = await browser.newSite({ demo: { days: 3 } });
    const elsewhere = await browser.newVisitor({ baseUrl: own.url });
    await signInAsAdmin(elsewhere, own);
    const visitor = await browser.newVisitor({ baseUrl: own.url, timezoneId: "Asia/Tokyo" });
    await signInAsAdmin(visitor, own);
    const { page } = visitor;
    await openAtRest(page, "/settings");
    await page.getByText("This browser", { exact: true }).waitFor();
    await page.getByText(/^Lockport 0\.1\.0/).waitFor();
    await checkAccessibility(page);
    await checkFitsSmall(page);
    const ends = page.getByText(/^Ends \d{4}-\d\d-\d\d \d\d:\d\d UTC$/);
    await ends.first().waitFor();
    await page.getByRole("button", { name: "Local (GMT+9)" }).click();
    await page
      .getByText(/^Ends \d{4}-\d\d-\d\d \d\d:\d\d GMT\+9$/)
      .first()
      .waitFor();
    expect(await ends.count()).toBe(0);
    await page.reload();
    await page.getByText(/^Now: .* GMT\+9$/).waitFor();
    await page.getByRole("button", { name: "End the others" }).click();
    await page.getByText("1 session ended").waitFor();
    await page.getByText("Another browser").waitFor({ state: "detached" });
    // Every page that lists instants follows, its headings name the zone, and what is a window stays in UTC.
    await openAtRest(page, "/requests?range=all");
    const first = page.getByRole("region", { name: "Requests", exact: true }).locator("tbody time").first();
    const arrived = (await first.getAttribute("datetime")) ?? "";
    const inTokyo = new Date(Date.parse(arrived) + 9 * 3_600_000).toISOString();
    await page.getByRole("columnheader", { name: "Time (GMT+9)" }).waitFor();
    expect(await page.getByRole("columnheader", { name: "Time (UTC)" }).count()).toBe(0);
    expect(await first.innerText()).toEndWith(inTokyo.slice(11, 19));
    expect(await first.getAttribute("title")).toEndWith(" UTC");
    await first.click();
    const day = inTokyo.slice(0, 19).replace("T", " ");
    await page
      .getByRole("dialog")
      .getByText(new RegExp(`^${day}(\\.\\d+)? GMT\\+9$`))
      .waitFor();
    await page.getByRole("button", { name: /^Window:.*UTC/, includeHidden: true }).waitFor();
    await openAtRest(page, "/audit");
    await page
      .getByRole("region", { name: /^\d{4}-\d\d-\d\d GMT\+9$/ })
      .first()
      .waitFor();
    expect(await page.getByRole("region", { name: /UTC$/ }).count()).toBe(0);
    await page.goto("/");
    await page.getByRole("button", { name: /^Window:.*UTC/ }).waitFor();
    await page.getByText("Per day, in UTC").waitFor();
  });
});

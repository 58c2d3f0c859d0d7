import { afterAll, beforeAll, beforeEach, expect, test } from "bun:test";
import { cpSync } from "node:fs";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { fillHostile, type FilledHostile, type Planted } from "../../contrib/demo/hostile-fill.ts";
import { HOSTILE_TEXTS } from "../../contrib/demo/hostile-texts.ts";
import { NAME_LENGTH_MAX, truncateCodePoints } from "#kernel/text.ts";
import { makeFolder } from "../support/folder.ts";
import { callApi } from "../support/installation.ts";
import { describeInBrowser, useBrowser } from "./support/browser.ts";
import { readDownload } from "./support/download.ts";
import { readCsv } from "./support/csv.ts";
import { checkFits, checkFitsSmall } from "./support/layout.ts";
import { openAtRest } from "./support/rest.ts";
import { shoot } from "./support/screenshots.ts";
import { makeLoginLink } from "./support/sign-in.ts";
import type { Site, SiteOptions } from "./support/site.ts";
import { inBothThemes } from "./support/themes.ts";
import { eventually } from "./support/waiting.ts";

const browser = useBrowser();

let folder: ReturnType<typeof makeFolder>;
let hostile: FilledHostile;
let site: Site;
/** For what only looks. */
let look: SiteOptions;
beforeAll(async () => {
  folder = makeFolder();
  hostile = await fillHostile(join(folder.path, "data"));
  look = { prepare: async (dataDir) => cpSync(hostile.dataDir, dataDir, { recursive: true }) };
});
afterAll(() => folder.remove());
beforeEach(async () => {
  site = await browser.sharedSite(look);
});

const visit = () => browser.sharedVisitor(site);

/** Nothing of a text has become part of the page: it did not run, and made no element that the page itself never makes. */
async function checkInert(page: Page): Promise<void> {
  const foreign = [
    "body script",
    "body base",
    "body meta",
    "body style",
    "body link",
    "iframe",
    "object",
    "embed",
    "math",
    "svg script",
    "svg animate",
    "img",
    "[onload], [onerror], [onfocus], [onmouseover], [ontoggle], [onbegin]",
    "a[href^='javascript:' i], a[href^='data:' i]",
    "a[href^='http'], form[action]",
  ];
  const [pwned, found] = await page.evaluate(
    (selector) => [
      "__pwned" in window,
      [...document.querySelectorAll(selector)].map((element) => element.outerHTML.slice(0, 200)),
    ],
    foreign.join(", "),
  );
  expect(pwned).toBe(false);
  expect(found).toEqual([]);
}

async function check(page: Page): Promise<void> {
  await checkInert(page);
  await checkFits(page);
}

/** As a person reads it: a browser draws runs of blanks as one. */
const toRead = (text: string) => text.replaceAll(/[\s\u2028\u2029]+/g, " ").trim();

async function readText(page: Page, selector: string): Promise<string> {
  return toRead((await page.locator(selector).first().textContent()) ?? "");
}

function findPlanted(name: string): Planted {
  const found = hostile.planted.find((one) => one.name === name);
  if (found === undefined) throw new Error(`nothing was planted as ${name}`);
  return found;
}

/** One of each kind: markup, an address, a word that objects know, and the shapes that stretch a layout. */
const TELLING = ["image error", "attribute break", "right to left", "combining stack", "long word"];

describeInBrowser("texts of attackers", () => {
  test.each([
    "/?range=24h&show=requests",
    "/?range=24h&show=requests&by=principal",
    "/?range=24h&show=requests&by=provider",
    "/?range=24h&show=requests&by=client",
    "/?range=24h&show=requests&by=tag",
    "/errors?range=24h",
    "/requests?range=24h&rows=500",
    "/models?hidden=1",
    "/playground",
    "/keys",
    "/relay-tokens",
    "/providers",
    "/people",
    "/models/prices",
    "/models/repricing?plan=1&of=%3Cb%3Ebold%3C/b%3E",
    "/reconcile",
    "/audit",
  ])("are inert on %s, in both themes, on a telephone and where a chart is read", async (path) => {
    const { page } = await visit();
    await openAtRest(page, path);
    for (const chart of await page.getByRole("application").all()) {
      await chart.focus();
      await page.keyboard.press("End");
      await check(page);
    }
    await inBothThemes(page, async () => {
      await check(page);
      await shoot(page, `hostile-${path}`, { fullPage: true });
    });
    await checkFitsSmall(page);
    await checkInert(page);
  });

  test("stand in every request of the log as they came: who, which model, which client, which tags, what failed", async () => {
    const { page } = await visit();
    const response = await callApi(site.url, hostile.adminKey, "GET", "/stats/requests?limit=500");
    const { requests } = JSON.parse(await response.text());
    expect(requests).toHaveLength(hostile.events);
    await openAtRest(page, `/requests?range=24h&rows=500&open=${requests[0].id}`);
    for (const [index, row] of requests.entries()) {
      await page.waitForURL((url) => url.searchParams.get("open") === row.id);
      await eventually(async () => {
        const text = await readText(page, "[role=dialog]");
        for (const part of [row.principal, row.model, row.client, row.error_kind, ...row.tags]) {
          if (part !== null) expect(text).toContain(toRead(part));
        }
      });
      if (index % 15 === 0) await check(page);
      await page.keyboard.press("j");
    }
    await checkInert(page);
  });

  test("that turn the direction of writing turn themselves around, and nothing beside them", async () => {
    const { page } = await visit();
    let count = 0;
    for (const path of ["/models", "/requests", "/people"]) {
      await openAtRest(page, path);
      const found = await page.evaluate(() => {
        const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
        const turned: { readonly text: string; readonly isApart: boolean }[] = [];
        for (let text = texts.nextNode(); text !== null; text = texts.nextNode()) {
          const { parentElement: element, textContent } = text;
          if (element === null || !/[\u202D\u202E]/.test(textContent ?? "")) continue;
          const { display, unicodeBidi } = getComputedStyle(element);
          turned.push({
            text: element.outerHTML.slice(0, 120),
            isApart: display !== "inline" || unicodeBidi === "isolate",
          });
        }
        return turned;
      });
      count += found.length;
      expect(found.filter(({ isApart }) => !isApart)).toEqual([]);
    }
    expect(count).toBeGreaterThan(1);
  });

  test("stand in panels and dialogs, which they neither break nor widen", async () => {
    const { page } = await visit();
    for (const name of TELLING) {
      const { alias, principalName, upstreamName } = findPlanted(name);
      // Behind the panel its own row alone: all of them at once are looked at above.
      const [model, person] = [encodeURIComponent(alias), encodeURIComponent(principalName)];
      await openAtRest(page, `/models?q=${model}&open=${model}`);
      expect(await readText(page, "[role=dialog]")).toContain(alias);
      if (upstreamName !== null) {
        const values = await page
          .getByRole("dialog")
          .getByRole("textbox")
          .evaluateAll((all) => all.map((one) => (one as HTMLInputElement).value));
        expect(values.map(toRead)).toContain(toRead(upstreamName));
      }
      await inBothThemes(page, check);
      await openAtRest(page, `/people?q=${person}&open=${person}`);
      await inBothThemes(page, check);
    }
  });

  test("are labels of keys, snippets and suggestions that are shown and copied as text", async () => {
    for (const name of ["script", "attribute break", "long word"]) {
      const { principalName, keyLabel } = findPlanted(name);
      const { page } = await browser.newVisitor({ baseUrl: site.url });
      await page.goto(await makeLoginLink(site, principalName));
      await page.getByRole("heading", { level: 1, name: "Overview" }).waitFor();
      await openAtRest(page, "/keys");
      // The last characters of the secret stand below its label.
      const labeled = toRead((await page.getByRole("rowheader").first().textContent()) ?? "");
      expect(labeled.replace(/\*{3}.{4}$/, "")).toBe(toRead(keyLabel ?? ""));
      await check(page);
      await checkFitsSmall(page);
      await page
        .getByRole("button", { name: /^Delete key/ })
        .first()
        .click();
      await page.getByRole("alertdialog").waitFor();
      await inBothThemes(page, check);
    }
  });

  test("are names of limits, and tags, people and models that limits hold for, in lists, panels and questions", async () => {
    for (const [index, { principalName, alias }] of hostile.planted
      .slice(0, HOSTILE_TEXTS.length)
      .entries()) {
      const text = truncateCodePoints(HOSTILE_TEXTS[index]?.text ?? "", NAME_LENGTH_MAX);
      const subject = index % 2 === 0 ? { principal: principalName, model: alias } : {};
      const draft = { name: text, subject, each: index % 2 === 0 ? "key" : "principal", amount: 1 };
      await callApi(site.url, hostile.adminKey, "POST", "/admin/v1/limits", {
        ...draft,
        measure: "cost",
        window: "month",
      });
    }
    const answer = await callApi(site.url, hostile.adminKey, "GET", "/admin/v1/limits?limit=500");
    const { limits } = JSON.parse(await answer.text());
    expect(limits.length).toBeGreaterThan(10);
    const { page } = await visit();
    await openAtRest(page, "/limits");
    await inBothThemes(page, check);
    await checkFitsSmall(page);
    for (const { id, name } of limits) {
      await openAtRest(page, `/limits?q=${encodeURIComponent(name)}&open=${id}`);
      expect(await readText(page, "[role=dialog]")).toContain(toRead(name));
      await check(page);
    }
    await page.getByRole("button", { name: "Delete limit" }).click();
    await page.getByRole("alertdialog").waitFor();
    await check(page);
  });

  test("in the address are filters like any other, and are shown as they are", async () => {
    const visitor = await visit();
    const { page } = visitor;
    for (let from = 0; from < HOSTILE_TEXTS.length; from += 4) {
      const [first = "", second = "", third = "", fourth = ""] = HOSTILE_TEXTS.slice(from, from + 4).map(
        ({ text }) => text.slice(0, 300),
      );
      const search = new URLSearchParams({ principal: first, model: second, client: third, q: fourth });
      await openAtRest(page, `/requests?${search}`);
      const shown = await readText(page, "[aria-label='Active filters']");
      for (const part of [first, second, third]) if (part !== "") expect(shown).toContain(toRead(part));
      await check(page);
    }
    await checkFitsSmall(page);
  });

  test("leave in a CSV as text that no spreadsheet computes, and lose nothing else", async () => {
    const { page } = await visit();
    const clients = new Set<string>();
    for (const path of ["/requests?range=24h", "/?range=24h&by=client", "/?range=24h&by=model"]) {
      await openAtRest(page, path);
      const [download] = await Promise.all([
        page.waitForEvent("download"),
        page.getByRole("button", { name: /^(CSV|All detail)$/ }).click(),
      ]);
      const rows = readCsv(await readDownload(download));
      expect(rows.length).toBeGreaterThan(50);
      const [head = []] = rows;
      for (const row of rows) {
        expect(row).toHaveLength(head.length);
        for (const field of row)
          if (Number.isNaN(Number(field))) expect(field).not.toMatch(/^[=+\-@\t\r\n＝＋－＠]/);
      }
      const place = head.indexOf("client");
      for (const row of rows) clients.add((row[place] ?? "").replace(/^'(?=[=+\-@\t\r\n＝＋－＠])/, ""));
    }
    for (const { client } of hostile.planted) if (client !== null) expect(clients).toContain(client);
  });
});

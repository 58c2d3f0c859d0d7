import { beforeEach, expect, test } from "bun:test";
import type { Page } from "playwright-core";
import { checkAccessibility } from "./support/axe.ts";
import { describeInBrowser, useBrowser } from "./support/browser.ts";
import { checkFitsSmall } from "./support/layout.ts";
import { addPeople, type LimitedPeople, PRICED_LAB } from "./support/limited-people.ts";
import { openAtRest, rest } from "./support/rest.ts";
import { shoot } from "./support/screenshots.ts";
import { makeLoginLink, signInAsAdmin } from "./support/sign-in.ts";
import type { Site } from "./support/site.ts";
import type { Visitor } from "./support/visitor.ts";
import { checkNoShift } from "./support/vitals.ts";
import { waitForValue } from "./support/waiting.ts";

const browser = useBrowser();

let site: Site;
let people: LimitedPeople;
beforeEach(async () => {
  site = await browser.newSite(PRICED_LAB);
  people = await addPeople(site);
});

const ask: LimitedPeople["ask"] = (...asked) => people.ask(...asked);
const send: LimitedPeople["send"] = (tags) => people.send(tags);

async function open(path: string): Promise<Visitor> {
  const visitor = await browser.newVisitor({ baseUrl: site.url });
  await signInAsAdmin(visitor, site);
  await openAtRest(visitor.page, path);
  return visitor;
}

const panel = (page: Page, name: string) => page.getByRole("dialog", { name, exact: true });
const row = (page: Page, name: string) =>
  page.getByRole("row", { name: new RegExp(`Details of ${name}|^${name}`) });

describeInBrowser("who a limit holds for", () => {
  test("reads what is left of it in My usage, where nothing stands without one", async () => {
    const { page } = await browser.newVisitor({ baseUrl: site.url });
    await page.goto(await makeLoginLink(site, "robin"));
    await page.getByRole("heading", { level: 1, name: "Overview" }).waitFor();
    await openAtRest(page, "/usage");
    expect(await page.getByText("My limits").count()).toBe(0);
    await ask("POST", "/admin/v1/limits", {
      name: "robin: month",
      subject: { principal: "robin" },
      measure: "cost",
      amount: 10,
      window: "month",
    });
    await ask("POST", "/admin/v1/limits", {
      name: "sasha: month",
      subject: { principal: "sasha" },
      measure: "cost",
      amount: 10,
      window: "month",
    });
    expect(await send()).toBe(200);
    await openAtRest(page, "/usage");
    const list = page.getByRole("list", { name: "My limits" });
    await list.getByText("robin: month").waitFor();
    await list.getByText("$7.50 left").waitFor();
    expect(await list.getByRole("listitem").count()).toBe(1);
    await checkNoShift(page);
    await checkAccessibility(page);
    await checkFitsSmall(page);
    await shoot(page, "limits-my-usage");
  });

  test("has it in the panel of People, with their own use of one that holds for each person", async () => {
    expect(await send()).toBe(200);
    await ask("POST", "/admin/v1/limits", {
      name: "two in all",
      subject: {},
      each: "principal",
      measure: "requests",
      amount: 2,
      window: "total",
    });
    const { page } = await open("/people");
    for (const [name, used] of [
      ["robin", "1 of 2 requests"],
      ["sasha", "0 of 2 requests"],
    ] as const) {
      await row(page, name).click();
      const limits = panel(page, name).getByRole("list", { name: `Limits of ${name}` });
      await limits.getByText(used).waitFor();
      await rest(page);
      await shoot(page, `limits-person-${name}`);
      await page.keyboard.press("Escape");
      await panel(page, name).waitFor({ state: "detached" });
    }
    await row(page, "robin").click();
    await page.getByRole("link", { name: "two in all" }).click();
    await panel(page, "two in all").waitFor();
  });

  test("reads the server's sentence in the playground, whole and with what to do", async () => {
    await ask("POST", "/admin/v1/limits", {
      name: "admin: month",
      subject: { principal: "admin" },
      measure: "cost",
      amount: 1,
      window: "month",
    });
    await ask("POST", "/v1/chat/completions", { model: "fast", messages: [] });
    const visitor = await open("/playground?model=fast");
    visitor.expect(/429/);
    const { page } = visitor;
    // Before it is known which models there are, none can be asked.
    await waitForValue(page.getByRole("combobox", { name: "Model" }), "fast");
    await page.getByRole("textbox", { name: "Message", exact: true }).fill("hello");
    await page.keyboard.press("Control+Enter");
    const refusal = page.getByRole("alert");
    await refusal
      .getByText(
        /^The limit "admin: month" is used up: 2\.50 of 1\.00 since \d{4}-\d\d-01\. It starts anew at \d{4}-\d\d-01T00:00:00Z\. \(request [0-9a-f-]{36}\)$/,
      )
      .waitFor();
    await refusal.getByText("limit_exceeded").waitFor();
    await refusal.getByRole("button", { name: "Try again" }).waitFor();
    await shoot(page, "limits-playground");
  });

  test("reads it at the key that it holds for, as its owner and as an admin, with that key's own use", async () => {
    const { keys } = await ask("GET", "/admin/v1/keys?principal=robin");
    await ask("POST", "/admin/v1/keys", { principal: "robin", label: "idle" });
    for (const [name, more] of [
      ["laptop alone", { subject: { key: keys[0].id } }],
      ["each key", { subject: {}, each: "key" }],
      ["all of robin", { subject: { principal: "robin" } }],
    ] as const) {
      await ask("POST", "/admin/v1/limits", {
        name,
        measure: "requests",
        amount: 4,
        window: "total",
        ...more,
      });
    }
    expect(await send()).toBe(200);
    const { page: own } = await browser.newVisitor({ baseUrl: site.url });
    await own.goto(await makeLoginLink(site, "robin"));
    await own.getByRole("heading", { level: 1, name: "Overview" }).waitFor();
    await openAtRest(own, "/keys");
    const { page: admins } = await open("/people?tab=keys");
    for (const page of [own, admins]) {
      for (const [key, names, used] of [
        ["laptop", ["each key", "laptop alone"], "1 of 4 requests"],
        ["idle", ["each key"], "0 of 4 requests"],
      ] as const) {
        await page.getByRole("button", { name: `Edit key ${key}` }).click();
        const list = page.getByRole("list", { name: `Limits of ${key}` });
        await list.getByText(used).first().waitFor();
        const items = await list.getByRole("listitem").allInnerTexts();
        expect(items.map((text) => text.split("\n")[0])).toEqual([...names]);
        for (const item of items) expect(item).toContain(used);
        await rest(page);
        await checkAccessibility(page);
        await shoot(page, `limits-key-${key}-${page === own ? "own" : "admin"}`);
        await page.keyboard.press("Escape");
        await list.waitFor({ state: "detached" });
      }
    }
  });
});

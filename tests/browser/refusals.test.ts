import { beforeEach, expect, test } from "bun:test";
import { callApi } from "../support/installation.ts";
import { checkAccessibility } from "./support/axe.ts";
import { describeInBrowser, useBrowser } from "./support/browser.ts";
import { checkFits, checkFitsSmall } from "./support/layout.ts";
import { rest } from "./support/rest.ts";
import { shoot } from "./support/screenshots.ts";
import { makeLoginLink, signInAsAdmin } from "./support/sign-in.ts";
import type { Site } from "./support/site.ts";

const browser = useBrowser();

let site: Site;
beforeEach(async () => {
  site = await browser.newSite({ demo: { days: 3, seed: 1 } });
});

describeInBrowser("refused requests", () => {
  test("are counted for admins above the log, and open as a list that says who asked for what", async () => {
    const visitor = await browser.newVisitor({ baseUrl: site.url });
    await signInAsAdmin(visitor, site);
    const { page } = visitor;
    await page.goto("/requests");
    const button = page.getByRole("button", { name: "None refused in the last hour" });
    await button.click();
    await page.getByText(/^None since /).waitFor();
    await page.keyboard.press("Escape");

    const key = await site.adminKey();
    const agent = { "user-agent": "refused/1" };
    await callApi(site.url, key, "POST", "/v1/chat/completions", { model: "<b>nope</b>" }, agent);
    await callApi(site.url, `lp_${"u".repeat(43)}`, "GET", "/admin/v1/keys", undefined, agent);
    await page.reload();
    await page.getByRole("button", { name: "2 refused in the last hour" }).click();
    const panel = page.getByRole("dialog", { name: "Refused requests" });
    await panel.getByText("1 × model_not_found, 1 × invalid_api_key").waitFor();
    const items = await panel.getByRole("listitem").allInnerTexts();
    expect(items).toHaveLength(2);
    expect(items[0]).toContain("unknown caller · key ***uuuu · /admin/v1/keys · refused/1");
    expect(items[1]).toContain("<b>nope</b>");
    expect(items[1]).toContain(`ada · key ***${key.slice(-4)} · chat · refused/1`);
    await panel.getByText("2 of 2", { exact: true }).waitFor();
    await panel.getByRole("searchbox", { name: "Search" }).fill("UUUU");
    await panel.getByText("1 of 2", { exact: true }).waitFor();
    expect(await panel.getByRole("listitem").count()).toBe(1);
    await panel.getByRole("searchbox", { name: "Search" }).fill("");
    await rest(page);
    await checkAccessibility(page);
    await checkFits(page);
    await shoot(page, "refusals");
    await checkFitsSmall(page);
  });

  test("are not shown to members, whose page asks nothing of the admins' interface", async () => {
    const { page } = await browser.newVisitor({ baseUrl: site.url });
    const asked: string[] = [];
    page.on("request", (request) => asked.push(new URL(request.url()).pathname));
    await page.goto(await makeLoginLink(site, "linus"));
    await page.getByRole("heading", { level: 1, name: "Overview" }).waitFor();
    await page.goto("/requests");
    await page
      .getByRole("region", { name: "Requests", exact: true })
      .locator("tbody tr[data-index]")
      .first()
      .waitFor();
    await rest(page);
    expect(await page.getByRole("button", { name: /refused/i }).count()).toBe(0);
    expect(asked.filter((path) => path.startsWith("/admin"))).toEqual([]);
  });
});

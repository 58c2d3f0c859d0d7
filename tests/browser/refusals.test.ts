import { beforeEach, expect, test } from "bun:test";
import type { Page } from "playwright-core";
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

const agent = { "user-agent": "refused/1" };
const listOf = (page: Page) => page.getByRole("region", { name: "Requests", exact: true }).locator("tbody");

/** A request that is refused; its id. */
async function refuse(key: string, model: string): Promise<string> {
  const response = await callApi(site.url, key, "POST", "/v1/chat/completions", { model }, agent);
  return response.headers.get("x-proxy-request-id") ?? "";
}

describeInBrowser("refused requests", () => {
  test("are rows of the log where they arrived, come while it is followed, and open with the words of their answer", async () => {
    const key = await site.adminKey();
    await refuse(key, "<b>nope</b>");
    const visitor = await browser.newVisitor({ baseUrl: site.url });
    await signInAsAdmin(visitor, site);
    const { page } = visitor;
    await page.goto("/requests?range=all");
    const first = listOf(page).locator("tr[data-index]").first();
    await first.getByText("<b>nope</b>", { exact: true }).waitFor();
    expect(await first.innerText()).toMatch(/ada[\s\S]*Refused[\s\S]*model_not_found/);
    // It has no cost, not even zero.
    expect(await first.innerText()).not.toContain("$");
    expect(await listOf(page).getByText("Refused", { exact: true }).count()).toBe(1);

    await callApi(site.url, `lp_${"u".repeat(43)}`, "GET", "/admin/v1/keys", undefined, agent);
    await first.getByText("invalid_api_key", { exact: true }).waitFor();
    expect(await first.innerText()).toContain("***uuuu");
    await page
      .getByRole("status")
      .getByText(/^1–100 of [\d,]+ requests, newest first, beside/)
      .waitFor();
    await page.getByRole("button", { name: "2 refused" }).click();
    await page.waitForURL(/outcome=refused/);
    await page.getByRole("status").getByText("1–2 of 2 requests, newest first", { exact: true }).waitFor();
    expect(await listOf(page).locator("tr[data-index]").count()).toBe(2);
    expect(await page.getByRole("button", { name: "CSV" }).count()).toBe(0);
    await rest(page);
    await checkAccessibility(page);
    await checkFits(page);
    await shoot(page, "refusals");

    await listOf(page).getByText("<b>nope</b>", { exact: true }).click();
    const detail = page.getByRole("dialog", { name: "Refused request" });
    await detail.getByText("The model `<b>nope</b>` is not served here.").waitFor();
    await detail.getByText("refused/1", { exact: true }).waitFor();
    await page.keyboard.press("Escape");
    await page.getByRole("button", { name: "Remove the filter outcome: refused" }).click();
    await listOf(page).getByText("OK", { exact: true }).first().waitFor();
    await rest(page);
    await checkFitsSmall(page);
  });

  test("are a member's own alone, and the page of a member asks nothing of the admins' interface", async () => {
    await refuse(await site.adminKey(), "not-linus");
    const { page } = await browser.newVisitor({ baseUrl: site.url });
    const asked: string[] = [];
    page.on("request", (request) => asked.push(new URL(request.url()).pathname));
    await page.goto(await makeLoginLink(site, "linus"));
    await page.getByRole("heading", { level: 1, name: "Overview" }).waitFor();
    const response = await callApi(site.url, await site.adminKey(), "POST", "/admin/v1/keys", {
      principal: "linus",
    });
    const made: { readonly key: string } = JSON.parse(await response.text());
    const id = await refuse(made.key, "of-linus");
    await page.goto("/requests?range=all");
    await listOf(page).getByText("of-linus", { exact: true }).waitFor();
    expect(await listOf(page).getByText("Refused", { exact: true }).count()).toBe(1);
    await page.goto(`/requests?open=${id}`);
    await page.getByRole("dialog", { name: "Refused request" }).getByText("model_not_found").waitFor();
    await rest(page);
    expect(asked.filter((path) => path.startsWith("/admin"))).toEqual([]);
  });
});

import { beforeEach, expect, test } from "bun:test";
import { callApi } from "../support/installation.ts";
import { checkAccessibility } from "./support/axe.ts";
import { describeInBrowser, useBrowser } from "./support/browser.ts";
import { shoot } from "./support/screenshots.ts";
import { signInAsAdmin } from "./support/sign-in.ts";
import type { Site } from "./support/site.ts";

const browser = useBrowser();

let site: Site;
beforeEach(async () => {
  site = await browser.newSite();
});

const read = async (path: string): Promise<any> =>
  await (await callApi(site.url, await site.adminKey(), "GET", path)).json();

describeInBrowser("fixed tags", () => {
  test("are typed for a person and for a key, stand as badges where they are listed, and a limit by tag counts them alone", async () => {
    const visitor = await browser.newVisitor({ baseUrl: site.url });
    const { page } = visitor;
    visitor.expect(/^request: PATCH .*\/principals\/.* answered 400$/);
    await signInAsAdmin(visitor, site);
    await page.goto("/people");
    await page.getByRole("row", { name: /^Details of admin|^admin / }).click();
    await page.getByRole("button", { name: "Change", exact: true }).click();
    const dialog = page.getByRole("dialog", { name: /^Fixed tags of / });
    const field = dialog.getByRole("textbox", { name: "Fixed tags" });
    await field.fill("team");
    await page.keyboard.press("Enter");
    await dialog.getByText("Write up to 8 tags such as team:search").first().waitFor();
    await field.fill("team:search, cost-center:42");
    await checkAccessibility(page);
    await shoot(page, "fixed-tags-dialog");
    await page.keyboard.press("Enter");
    await dialog.waitFor({ state: "detached" });
    await page.getByText("team:search").first().waitFor();
    await shoot(page, "fixed-tags-panel");
    await checkAccessibility(page);
    const { principals } = await read("/admin/v1/principals");
    expect(principals.flatMap(({ tags = [] }) => tags)).toEqual(["cost-center:42", "team:search"]);

    await page.getByRole("button", { name: "Create a key" }).click();
    await page.getByRole("textbox", { name: "Label" }).fill("wiki");
    await page.getByRole("textbox", { name: "Fixed tags" }).fill("app:wiki");
    await page.keyboard.press("Enter");
    await page.getByRole("button", { name: "Done" }).click();
    await page.getByRole("alertdialog").getByRole("button", { name: "Leave" }).click();
    await page.getByRole("row").filter({ hasText: "app:wiki" }).waitFor();
    await shoot(page, "fixed-tags-key");

    await page.goto("/limits");
    await page.getByRole("button", { name: "New limit" }).first().click();
    await page.getByRole("button", { name: "A team $500 a month" }).click();
    await page.getByRole("textbox", { name: "Tag", exact: true }).fill("team:search");
    await page.getByRole("switch", { name: "Only fixed tags" }).click();
    await shoot(page, "fixed-tags-limit");
    await checkAccessibility(page);
    await page.getByRole("button", { name: "Create" }).click();
    await page.getByText("team:search (fixed)").first().waitFor();
    expect((await read("/admin/v1/limits")).limits).toMatchObject([
      { subject: { tag: "team:search" }, fixed: true },
    ]);
  });
});

import { beforeEach, expect, test } from "bun:test";
import type { Page } from "playwright-core";
import { describeInBrowser, useBrowser } from "./support/browser.ts";
import { copiedBy } from "./support/clipboard.ts";
import { signInAsAdmin } from "./support/sign-in.ts";
import type { Site } from "./support/site.ts";
import type { Visitor, VisitorOptions } from "./support/visitor.ts";
import { eventually, waitForFocus } from "./support/waiting.ts";

const browser = useBrowser();

let site: Site;
beforeEach(async () => {
  site = await browser.newSite({
    upstream: {
      script: (call) =>
        call.reply({
          body: JSON.stringify({ choices: [], usage: { prompt_tokens: 1_000_000, completion_tokens: 0 } }),
        }),
      models: { fast: "vendor/fast" },
      pricing: { input_tokens: 2.5 },
    },
  });
  for (const name of ["robin", "sasha", "kim"]) await ask("POST", "/admin/v1/principals", { name });
  await ask("POST", "/admin/v1/principals", { name: "ci-runner", kind: "service" });
  const { key } = await ask("POST", "/admin/v1/keys", { principal: "ci-runner", label: "<i>build</i>" });
  await send(key);
});

async function ask(method: string, path: string, body?: unknown): Promise<any> {
  const response = await fetch(site.url + path, {
    method,
    headers: { authorization: `Bearer ${await site.adminKey()}`, "content-type": "application/json" },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  expect(response.ok).toBe(true);
  return await response.json();
}

/** The status that a request with this key gets. */
async function send(key: string): Promise<number> {
  const response = await fetch(`${site.url}/v1/chat/completions`, {
    method: "POST",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
    body: JSON.stringify({ model: "fast", messages: [] }),
  });
  await response.text();
  return response.status;
}

async function open(options: Partial<VisitorOptions> = {}): Promise<Visitor> {
  const visitor = await browser.newVisitor({ baseUrl: site.url, ...options });
  await signInAsAdmin(visitor, site);
  await visitor.page.goto("/people");
  await visitor.page.getByRole("row", { name: /ci-runner/ }).waitFor();
  return visitor;
}

const panel = (page: Page, name: string) => page.getByRole("dialog", { name, exact: true });

async function openPerson(page: Page, name: string): Promise<void> {
  await page.getByRole("row", { name: new RegExp(`^Details of ${name}|^${name} `) }).click();
  await panel(page, name).waitFor();
}

describeInBrowser("people and services", () => {
  test("are listed with their role, keys and cost of 30 days, and found by name, kind or role", async () => {
    const { page } = await open();
    await eventually(async () => {
      const line = await page.getByRole("row", { name: /ci-runner/ }).innerText();
      expect(line.replaceAll(/\s+/g, " ")).toMatch(
        /^ci-runner service member 1 0 .*\$2\.50 \d{4}-\d\d-\d\d$/,
      );
    });
    // Who used nothing has cost nothing that could be told: no $0.
    expect(await page.getByRole("row", { name: /robin/ }).innerText()).not.toContain("$");
    await page.keyboard.press("/");
    await page.keyboard.type("service");
    await page.getByRole("row", { name: /robin/ }).waitFor({ state: "detached" });
    await eventually(async () => expect(await page.locator("main tbody tr").count()).toBe(1));
    await page.reload();
    await page.getByRole("row", { name: /ci-runner/ }).waitFor();
    await eventually(async () => expect(await page.locator("main tbody tr").count()).toBe(1));
  });

  test("are added with a name that follows the rule, which a wrong or used name reads", async () => {
    const visitor = await open();
    const { page } = visitor;
    visitor.expect(/409/);
    await page.getByRole("button", { name: "Add person or service" }).click();
    const name = page.getByRole("textbox", { name: "Name" });
    await name.fill("Ada Lovelace");
    const add = page.getByRole("button", { name: "Add", exact: true });
    await add.click();
    await page.getByText(/^Use lower-case letters, digits/).waitFor();
    await waitForFocus(name);
    await name.fill("robin");
    await add.click();
    await page.getByRole("alert").getByText("principal_exists").waitFor();
    await name.fill("ada.lovelace");
    await page.getByRole("combobox", { name: "Role" }).click();
    await page.getByRole("option", { name: /^Admin/ }).click();
    await add.click();
    await panel(page, "ada.lovelace").waitFor();
    const { principals } = await ask("GET", "/admin/v1/principals");
    expect(principals.find((one: { name: string }) => one.name === "ada.lovelace")).toMatchObject({
      kind: "user",
      role: "admin",
    });
  });

  test("get a key that is shown once, asks before it is lost, works, and stops at once when it is deleted", async () => {
    const { page } = await open();
    await openPerson(page, "robin");
    await page.getByRole("button", { name: "Create a key" }).click();
    await page.getByRole("textbox", { name: "Label" }).fill("laptop");
    await page.keyboard.press("Enter");
    const field = page.getByRole("textbox", { name: "Key", exact: true });
    const key = await field.inputValue();
    expect(key).toMatch(/^lp_[A-Za-z0-9]{43}$/);
    await page.keyboard.press("Escape");
    const question = page.getByRole("alertdialog", { name: "Leave without copying the key?" });
    await question.getByRole("button", { name: "Go back and copy" }).click();
    await question.waitFor({ state: "detached" });
    expect(await copiedBy(page, () => page.getByRole("button", { name: "Copy key" }).click())).toBe(key);
    await page.getByRole("button", { name: "Done" }).click();
    await field.waitFor({ state: "detached" });
    await panel(page, "robin").waitFor();
    expect(await page.content()).not.toContain(key);
    await page.locator(":focus", { hasText: "Create a key" }).waitFor();
    expect(await send(key)).toBe(200);

    await page.getByRole("button", { name: "Delete key laptop" }).click();
    await page.getByRole("alertdialog").getByText("are refused immediately").waitFor();
    await page.getByRole("alertdialog").getByRole("button", { name: "Delete key" }).click();
    await page.getByRole("alertdialog").waitFor({ state: "detached" });
    expect(await send(key)).toBe(401);
  });

  test("are disabled after a question that says what stops, and enabled again with all of it", async () => {
    const { key } = await ask("POST", "/admin/v1/keys", { principal: "sasha" });
    const { page } = await open();
    await openPerson(page, "sasha");
    const enabled = page.getByRole("switch", { name: "Enabled" });
    await enabled.click();
    await page
      .getByRole("alertdialog", { name: "Disable sasha?" })
      .getByText("1 key, 0 relay tokens")
      .waitFor();
    await page.keyboard.press("Escape");
    await page.getByRole("alertdialog").waitFor({ state: "detached" });
    await enabled.and(page.getByRole("switch", { checked: true })).waitFor();
    expect(await send(key)).toBe(200);
    await enabled.click();
    await page.getByRole("alertdialog").getByRole("button", { name: "Disable" }).click();
    await panel(page, "sasha").getByText("disabled", { exact: true }).waitFor();
    expect(await send(key)).toBe(401);
    await enabled.click();
    await panel(page, "sasha").getByText("disabled", { exact: true }).waitFor({ state: "detached" });
    expect(await send(key)).toBe(200);
  });

  test("are deleted only by their typed name, and what they used stays", async () => {
    const { key } = await ask("POST", "/admin/v1/keys", { principal: "kim" });
    expect(await send(key)).toBe(200);
    const { page } = await open();
    await openPerson(page, "kim");
    await page.getByRole("button", { name: "Delete person" }).click();
    const question = page.getByRole("alertdialog", { name: "Delete kim?" });
    await question.getByText("Past usage stays in the reports").waitFor();
    await question.getByText(/^The member kim has key ….{4}, which stops working at once\./).waitFor();
    const verb = question.getByRole("button", { name: "Delete" });
    expect(await verb.isDisabled()).toBe(true);
    await question.getByRole("textbox").fill("ki");
    expect(await verb.isDisabled()).toBe(true);
    await question.getByRole("textbox").fill("kim");
    await verb.click();
    await panel(page, "kim").waitFor({ state: "detached" });
    await page.getByRole("row", { name: /kim/ }).waitFor({ state: "detached" });
    expect(await send(key)).toBe(401);
    const { total } = await ask("GET", "/stats/requests?principal=kim");
    expect(total).toBe(1);
  });

  test("of whom one is the last admin keep the role: the page says what to do first", async () => {
    const visitor = await open();
    const { page } = visitor;
    visitor.expect(/409/);
    await openPerson(page, "admin");
    await panel(page, "admin").getByText("you", { exact: true }).waitFor();
    await page.getByRole("combobox", { name: "Role" }).click();
    await page.getByRole("option", { name: /^Member/ }).click();
    const question = page.getByRole("alertdialog", { name: "Make admin a member?" });
    await question.getByText("This is you").waitFor();
    await question.getByRole("button", { name: "Make member" }).click();
    await question.getByText("last_admin").waitFor();
    await question.getByText("First make another person an administrator.").waitFor();
    await page.keyboard.press("Escape");
    await question.waitFor({ state: "detached" });
    await page.getByRole("combobox", { name: "Role" }).getByText("Admin").waitFor();
  });

  test("can have every session ended, and their keys go on", async () => {
    const { page } = await open();
    await openPerson(page, "ci-runner");
    await page.getByRole("button", { name: "End sessions" }).click();
    await page.getByRole("alertdialog").getByRole("button", { name: "End sessions" }).click();
    await page.getByText("0 sessions ended").first().waitFor();
  });
});

describeInBrowser("everybody's keys and relay tokens", () => {
  test("stand in tabs of their own that the address names, with owners, and a label that looks like markup is text", async () => {
    const { page } = await open();
    await page.getByRole("tab", { name: "All keys" }).click();
    await page.waitForURL(/\?tab=keys$/);
    await page
      .getByRole("row", { name: /ci-runner/ })
      .getByText("<i>build</i>")
      .waitFor();
    expect(await page.content()).not.toContain("lp_");
    await page.keyboard.press("ArrowRight");
    await page.waitForURL(/\?tab=relay-tokens$/);
    await page.getByText("No relay tokens yet").waitFor();
  });

  test("tell before they are deleted which limits are deleted with them", async () => {
    const [key] = (await ask("GET", "/admin/v1/keys?principal=ci-runner")).keys;
    const limit = { subject: { key: key.id }, measure: "requests", amount: 9, window: "day" };
    await ask("POST", "/admin/v1/limits", { ...limit, name: "builds a day" });
    await ask("POST", "/admin/v1/limits", { ...limit, name: "of all", subject: {} });
    const { page } = await open();
    await page.getByRole("tab", { name: "All keys" }).click();
    await page.getByRole("button", { name: "Delete key <i>build</i>" }).click();
    await page.getByText("Limits deleted with it: builds a day.", { exact: true }).waitFor();
    await page.getByRole("alertdialog").getByRole("button", { name: "Delete key" }).click();
    await page.getByRole("row", { name: /ci-runner/ }).waitFor({ state: "detached" });
    const { limits } = await ask("GET", "/admin/v1/limits");
    expect(limits.map(({ name }: { name: string }) => name)).toEqual(["of all"]);
  });
});

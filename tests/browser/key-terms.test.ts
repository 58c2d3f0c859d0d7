import { beforeEach, expect, test } from "bun:test";
import type { Page } from "playwright-core";
import { callApi } from "../support/installation.ts";
import { checkAccessibility } from "./support/axe.ts";
import { describeInBrowser, useBrowser } from "./support/browser.ts";
import { copiedBy } from "./support/clipboard.ts";
import { checkFitsSmall } from "./support/layout.ts";
import { shoot } from "./support/screenshots.ts";
import { signInAsAdmin } from "./support/sign-in.ts";
import type { Site } from "./support/site.ts";
import { inBothThemes } from "./support/themes.ts";
import type { Visitor } from "./support/visitor.ts";
import { waitForFocus } from "./support/waiting.ts";

const browser = useBrowser();

let site: Site;
beforeEach(async () => {
  site = await browser.newSite();
});

async function open(path: string): Promise<Visitor> {
  const visitor = await browser.newVisitor({ baseUrl: site.url });
  await signInAsAdmin(visitor, site);
  await visitor.page.goto(path);
  await visitor.page.getByRole("heading", { level: 1 }).waitFor();
  return visitor;
}

/** Makes a key or a relay token and returns its plaintext. */
async function create(page: Page, noun: "key" | "relay token", label: string): Promise<string> {
  await page.getByRole("button", { name: `Create a ${noun}` }).click();
  await page.getByRole("textbox", { name: "Label" }).fill(label);
  await page.keyboard.press("Enter");
  const title = noun === "key" ? "Key" : "Relay token";
  const secret = await page.getByRole("textbox", { name: title, exact: true }).inputValue();
  await copiedBy(page, () => page.getByRole("button", { name: `Copy ${noun}` }).click());
  await page.getByRole("button", { name: "Done" }).click();
  await page.getByRole("dialog").waitFor({ state: "detached" });
  return secret;
}

async function told(key: string, path = "/v1/models?include_pricing=1"): Promise<string> {
  const response = await fetch(site.url + path, { headers: { authorization: `Bearer ${key}` } });
  const body: any = await response.json();
  return response.ok ? "ok" : body.error.message.replace(/ \(request .*/, "");
}

async function calls(key: string): Promise<number> {
  const response = await fetch(`${site.url}/v1/models`, { headers: { authorization: `Bearer ${key}` } });
  await response.arrayBuffer();
  return response.status;
}

const row = (page: Page, label: string) => page.getByRole("row").filter({ hasText: label });

describeInBrowser("a key of one's own", () => {
  test(`gets an expiry, models, a scope and a pause, keeps what was typed when it is refused, and shows them`, async () => {
    const visitor = await open("/keys");
    const { page } = visitor;
    const key = await create(page, "key", "ci");
    await page.getByRole("button", { name: "Edit key ci" }).click();
    const dialog = page.getByRole("dialog", { name: "Edit key ci" });
    await dialog.getByRole("textbox", { name: "Expires" }).fill("2020-01-31 12:00");
    const models = dialog.getByRole("combobox", { name: "Models" });
    await models.fill("small-chat");
    await models.press("Enter");
    await models.fill("later");
    await dialog.getByText("There is no model small-chat, later.").waitFor();
    await models.press("Escape");
    const inference = dialog.getByRole("switch", { name: "Inference only" });
    expect(await inference.isChecked()).toBe(false);
    await inference.click();
    await dialog.getByRole("switch", { name: "Paused" }).click();
    await dialog.getByRole("button", { name: "Save" }).click();
    await dialog.getByText("Enter a later date and time: this one has passed").waitFor();
    await waitForFocus(dialog.getByRole("textbox", { name: "Expires" }));
    expect(await models.inputValue()).toBe("later");
    await dialog.getByText("There is no model small-chat, later.").waitFor();
    await inBothThemes(page, async () => {
      await checkAccessibility(page);
      await shoot(page, "key-edit");
    });
    expect(await told(key)).toBe("ok");
    await dialog.getByRole("textbox", { name: "Expires" }).fill("2126-01-31 12:00");
    await dialog.getByRole("button", { name: "Save" }).click();
    await dialog.waitFor({ state: "detached" });
    expect(await told(key)).toContain("is paused");
    for (const text of ["Paused", "Inference", "Expires 2126-01-31", "2 models"])
      await row(page, "ci").getByText(text).waitFor();
    await inBothThemes(page, async () => {
      await checkAccessibility(page);
      await shoot(page, "key-terms");
    });
    await waitForFocus(page.getByRole("button", { name: "Edit key ci" }));

    await page.keyboard.press("Enter");
    await inference.click();
    await dialog.getByRole("switch", { name: "Paused" }).click();
    await dialog.getByRole("textbox", { name: "Expires" }).fill("");
    for (const alias of ["small-chat", "later"])
      await dialog.getByRole("button", { name: `Remove the model ${alias}` }).click();
    await dialog.getByRole("button", { name: "Save" }).click();
    await dialog.waitFor({ state: "detached" });
    await row(page, "ci").getByText("Paused").waitFor({ state: "detached" });
    expect(
      await row(page, "ci")
        .getByText(/Expires|models|Inference/)
        .count(),
    ).toBe(0);
    expect(await told(key)).toBe("ok");
    expect(await told(key, "/my/keys")).toBe("ok");
  });

  test("is rotated: the new secret is shown once, and the old one works for the grace that was chosen", async () => {
    const { page } = await open("/keys");
    const first = await create(page, "key", "ci");
    await page.getByRole("button", { name: "Rotate key ci" }).click();
    const dialog = page.getByRole("dialog", { name: "Rotate the key ci?" });
    await dialog.getByRole("combobox", { name: "Old secret" }).click();
    await page.getByRole("option", { name: "Works for 7 days" }).click();
    await checkAccessibility(page);
    await shoot(page, "key-rotate");
    await dialog.getByRole("button", { name: "Rotate key" }).click();
    const shown = page.getByRole("textbox", { name: "Key", exact: true });
    const second = await shown.inputValue();
    expect(second).not.toBe(first);
    expect(await Promise.all([first, second].map(calls))).toEqual([200, 200]);
    // It calls models alone: what is its owner's is the new one's.
    expect(await told(first, "/my/keys")).toContain("This API key was rotated");
    expect(await told(second, "/my/keys")).toBe("ok");
    await page.getByRole("button", { name: "Done" }).click();
    await page.getByRole("alertdialog").getByRole("button", { name: "Go back and copy" }).click();
    await copiedBy(page, () => page.getByRole("button", { name: "Copy key" }).click());
    await page.getByRole("button", { name: "Done" }).click();
    await shown.waitFor({ state: "detached" });
    await row(page, `***${second.slice(-4)}`).waitFor();
    expect(await page.content()).not.toContain(second);

    await page.getByRole("button", { name: "Rotate key ci" }).click();
    await dialog.getByRole("button", { name: "Rotate key" }).click();
    const third = await shown.inputValue();
    expect(await Promise.all([first, second, third].map((key) => told(key)))).toEqual([
      "This API key is not valid.",
      "This API key is not valid.",
      "ok",
    ]);
  });

  test("is made with an expiry of a press and with models", async () => {
    const { page } = await open("/keys");
    await page.getByRole("button", { name: "Create a key" }).click();
    await page.getByRole("button", { name: "In 30 days" }).click();
    await page.getByRole("combobox", { name: "Models" }).fill("small-chat");
    await page.keyboard.press("Escape");
    await shoot(page, "key-create");
    await page.getByRole("button", { name: "Create key" }).click();
    const key = await page.getByRole("textbox", { name: "Key", exact: true }).inputValue();
    const response = await fetch(`${site.url}/my/keys`, { headers: { authorization: `Bearer ${key}` } });
    const { keys }: any = await response.json();
    const { models, expires_at } = keys.at(-1);
    expect(models).toEqual(["small-chat"]);
    const days = (Date.parse(expires_at) - Date.now()) / 86_400_000;
    expect(Math.round(days)).toBe(30);
    await checkFitsSmall(page);
  });
});

describeInBrowser("the models of a key", () => {
  test("are picked among those that there are, a name without a model is told before it is saved, and the example uses one that the key may call", async () => {
    const admin = await site.adminKey();
    const call = async (path: string, body: unknown) =>
      expect((await callApi(site.url, admin, "POST", `/admin/v1${path}`, body)).status).toBe(201);
    await call("/providers", { name: "lab", base_url: "http://127.0.0.1:9/v1" });
    for (const alias of ["a-first", "m-picked", "z-other"])
      await call("/models", { alias, provider: "lab", upstream_name: alias, capabilities: ["chat"] });
    const { page } = await open("/keys");
    await page.getByRole("button", { name: "Create a key" }).click();
    const dialog = page.getByRole("dialog", { name: "Create a key" });
    const models = dialog.getByRole("combobox", { name: "Models" });
    await models.click();
    await page.getByRole("option", { name: /m-picked/ }).click();
    await dialog.getByRole("button", { name: "Remove the model m-picked" }).waitFor();
    expect(await dialog.getByText("There is no model").count()).toBe(0);
    await models.fill("m-piked");
    await dialog.getByText("There is no model m-piked.").waitFor();
    await models.press("Enter");
    await dialog.getByText("There is no model m-piked.").waitFor();
    await inBothThemes(page, async () => {
      await checkAccessibility(page);
      await shoot(page, "key-models");
    });
    await checkFitsSmall(page);
    await shoot(page, "key-models-small");
    await dialog.getByRole("button", { name: "Create key" }).click();
    const key = await page.getByRole("textbox", { name: "Key", exact: true }).inputValue();
    const shown = page.getByRole("dialog", { name: "Your new key" });
    await shown.getByText('"model":"m-picked"').waitFor();
    expect(await shown.getByText("a-first").count()).toBe(0);
    const { keys } = await (await callApi(site.url, key, "GET", "/my/keys")).json();
    expect(keys.at(-1).models).toEqual(["m-picked", "m-piked"]);
  });
});

describeInBrowser("keys of all principals", () => {
  test("have all their buttons within a window of 1280 pixels, in the list and in a person's panel", async () => {
    const { page } = await open("/keys");
    await create(page, "key", "review bot");
    await page.setViewportSize({ width: 1280, height: 800 });
    for (const path of ["/people?tab=keys", "/people"]) {
      await page.goto(path);
      if (path === "/people")
        await page.getByRole("table").getByText("admin", { exact: true }).first().click();
      const remove = page.getByRole("button", { name: "Delete key review bot" });
      await remove.waitFor();
      const table = await page.getByRole("table", { name: /keys/i }).locator("..").boundingBox();
      const button = await remove.boundingBox();
      expect((button?.x ?? Infinity) + (button?.width ?? 0)).toBeLessThanOrEqual(
        (table?.x ?? 0) + (table?.width ?? 0),
      );
    }
  });
});

describeInBrowser("a relay token", () => {
  test("has an expiry and a pause, and neither models nor a rotation", async () => {
    const { page } = await open("/relay-tokens");
    await create(page, "relay token", "editor");
    expect(await page.getByRole("button", { name: /^Rotate/ }).count()).toBe(0);
    await page.getByRole("button", { name: "Edit relay token editor" }).click();
    const dialog = page.getByRole("dialog", { name: "Edit relay token editor" });
    expect(await dialog.getByRole("combobox", { name: "Models" }).count()).toBe(0);
    await dialog.getByRole("textbox", { name: "Expires" }).fill("2126-01-31 12:00");
    await dialog.getByRole("switch", { name: "Paused" }).click();
    await dialog.getByRole("button", { name: "Save" }).click();
    for (const text of ["Paused", "Expires 2126-01-31"]) await row(page, "editor").getByText(text).waitFor();
  });
});

import { afterAll, beforeAll, expect, test } from "bun:test";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { startModelServer, type ModelServer } from "../../contrib/demo/model-server.ts";
import { checkAccessibility } from "./support/axe.ts";
import { describeInBrowser, useBrowser } from "./support/browser.ts";
import { tabThrough } from "./support/keyboard.ts";
import { checkFitsSmall } from "./support/layout.ts";
import { openAtRest, rest } from "./support/rest.ts";
import { shoot } from "./support/screenshots.ts";
import { signInAsAdmin } from "./support/sign-in.ts";
import type { Site } from "./support/site.ts";
import { inBothThemes } from "./support/themes.ts";
import type { Visitor } from "./support/visitor.ts";
import { eventually, waitForFocus } from "./support/waiting.ts";

const browser = useBrowser();

let provider: ModelServer;
beforeAll(async () => {
  provider = await startModelServer({ port: 0 });
});
afterAll(() => provider.stop());

const UI = join(import.meta.dir, "../../ui");

/** A person's way to a form, and what they do there. */
interface FormEntry {
  readonly path: string;
  readonly open: (page: Page) => Promise<unknown>;
  /** The first field, and what is typed in it. */
  readonly field: string;
  readonly typed: string;
  /** The rest that the server asks for. */
  readonly fill?: (page: Page) => Promise<unknown>;
  readonly submit: string;
  /** The page's text once it is saved; by default the form is gone. */
  readonly saved?: (page: Page, signInAgain: () => Promise<unknown>) => Promise<unknown>;
}

const press = (page: Page, name: string | RegExp) => page.getByRole("button", { name }).first().click();

/** Every form of the page, by the name that it gives itself. */
const FORMS: { readonly [name: string]: FormEntry } = {
  "create-principal": {
    path: "/people",
    open: (page) => press(page, "Add person or service"),
    field: "Name",
    typed: "half.typed",
    submit: "Add",
  },
  "create-secret": {
    path: "/keys",
    open: (page) => press(page, "Create a key"),
    field: "Label",
    typed: "of a laptop",
    submit: "Create key",
    saved: async (page, signInAgain) => {
      const secret = page.getByRole("textbox", { name: "Key", exact: true });
      const shown = await secret.inputValue();
      // What is shown once outlives the session as well, and the way back under the sign-in.
      await page.context().clearCookies();
      // A look that was under way as the cookies went is answered for them: the tab is come back to again.
      await eventually(async () => {
        await page.evaluate(() => document.dispatchEvent(new Event("visibilitychange", { bubbles: true })));
        await page.getByRole("dialog", { name: "Sign in again" }).waitFor({ timeout: 1000 });
      });
      await signInAgain();
      expect(await secret.inputValue()).toBe(shown);
      await press(page, "Done");
      await press(page, "Leave");
    },
  },
  "edit-secret": {
    path: "/keys",
    open: (page) => press(page, /^Edit key /),
    field: "Label",
    typed: "renamed",
    submit: "Save",
  },
  "edit-tags": {
    path: "/people",
    open: async (page) => {
      const change = page.getByRole("button", { name: "Change", exact: true });
      await rest(page);
      // The panel stays open when the dialog closes.
      if ((await change.count()) === 0) await page.locator("tbody tr").first().click();
      await change.click();
    },
    field: "Fixed tags",
    typed: "team:half.typed",
    submit: "Save",
  },
  "create-limit": {
    path: "/limits",
    open: (page) => press(page, "New limit"),
    field: "Amount",
    typed: "12.5",
    submit: "Create",
  },
  "edit-limit": {
    path: "/limits",
    // A person without a budget may stand before it, and a press on its amount changes that.
    open: (page) => page.locator("tbody tr", { hasText: "12.5" }).first().locator("th, td").first().click(),
    field: "Name",
    typed: "held anew",
    submit: "Save changes",
    saved: (page) => page.getByText("held anew saved").waitFor(),
  },
  "connect-provider": {
    path: "/providers",
    open: (page) => press(page, "Add provider"),
    field: "Name",
    typed: "half-typed",
    fill: async (page) => {
      await press(page, /^Other/);
      await page.getByRole("textbox", { name: "Base URL" }).fill(provider.baseUrl);
    },
    submit: "Test and save",
    saved: (page) => press(page, "Later"),
  },
  "edit-provider": {
    path: "/providers",
    open: (page) => page.locator("tbody tr").first().click(),
    field: "Base URL",
    // It is at the same place: the test of it passes.
    get typed() {
      return `${provider.baseUrl}/`;
    },
    submit: "Test and save",
    saved: (page) => page.getByText("half-typed saved").waitFor(),
  },
  "create-model": {
    path: "/models",
    open: (page) => press(page, "Add model"),
    field: "Alias",
    typed: "half/typed",
    fill: async (page) => {
      await page.getByRole("textbox", { name: "Upstream name" }).fill("up");
      await page.getByRole("textbox", { name: "Input tokens", exact: true }).fill("1");
    },
    submit: "Add model",
  },
  "edit-model": {
    path: "/models",
    open: (page) => page.getByRole("rowheader", { name: /half\/typed/ }).click(),
    field: "Alias",
    typed: "renamed/model",
    submit: "Save changes",
    saved: (page) => page.getByText("half/typed is now renamed/model").waitFor(),
  },
  "add-model-name": {
    path: "/models",
    open: (page) => page.getByRole("rowheader", { name: /renamed\/model/ }).click(),
    field: "Another name",
    typed: "second",
    submit: "Add name",
    saved: (page) => page.getByText("second is now a name for renamed/model").waitFor(),
  },
  "set-price": {
    path: "/models",
    open: async (page) => {
      await page.getByRole("link", { name: "Prices", exact: true }).click();
      await press(page, "Set price of renamed/model");
    },
    field: "Price per million tokens",
    typed: "12.5",
    submit: "Set price",
  },
  "plan-repricing": {
    path: "/models",
    open: async (page) => {
      await page.getByRole("link", { name: "Re-pricing", exact: true }).click();
      await press(page, "Re-price…");
    },
    field: "Since (UTC)",
    typed: "2026-03-01",
    fill: async (page) => {
      const models = page.getByRole("combobox", { name: "Models" });
      await models.fill("renamed/model");
      await models.press("Enter");
    },
    submit: "Make the plan",
    saved: async (page) => {
      await page.getByRole("dialog", { name: "Re-pricing of renamed/model" }).waitFor();
      await page.keyboard.press("Escape");
    },
  },
};

/** Forms in which nothing is typed that could be lost: a choice, and a label that is filled in. */
const NOTHING_TYPED: readonly string[] = ["rotate-key", "create-first-key"];

/** What is a `<form>` without the hook, and why nothing of it can be lost. */
const OTHER_FORMS: { readonly [path: string]: string } = {
  "components/confirm-dialog.tsx": "a name that is repeated",
  "filters/window-popover.tsx": "two dates of a filter",
  "form/form.tsx": "the form itself",
  "pages/models/resolve-box.tsx": "a question that changes nothing",
  "pages/playground/question.tsx": "its draft is kept",
  "pages/reconcile.tsx": "files that are chosen, and a question that changes nothing",
  "shell/sign-in-ways.tsx": "a password",
  "providers/bind-models.tsx": "one name of a list, which asks by itself",
};

test("every form of the page's source has its entry here, and none is without the hook unless nothing of it can be lost", async () => {
  const named: string[] = [];
  const raw: string[] = [];
  const guarded: string[] = [];
  for await (const path of new Bun.Glob("**/*.{ts,tsx}").scan(UI)) {
    const source = await Bun.file(join(UI, path)).text();
    if (path.endsWith(".tsx") && /<form\b/.test(source)) raw.push(path);
    if (source.includes("useDiscardQuestion({")) guarded.push(path);
    if (path === "form/use-form.ts") continue;
    const uses = source.match(/\buseForm\(/g)?.length ?? 0;
    const names = [...source.matchAll(/\buseForm\(\{\s*name: "([a-z-]+)"/g)].map(([, name]) => name ?? "");
    expect([path, names.length]).toEqual([path, uses]);
    named.push(...names);
  }
  expect(named.toSorted()).toEqual([...Object.keys(FORMS), ...NOTHING_TYPED].toSorted());
  // A number in a table, whose own test is that of the models, ticked models, in that of the providers, and a secret that is shown once, in that of the keys.
  expect(guarded.toSorted()).toEqual([
    "form/form.tsx",
    "form/inline-number.tsx",
    "providers/bind-models.tsx",
    "secrets/secret-reveal.tsx",
  ]);
  expect(raw.toSorted()).toEqual(Object.keys(OTHER_FORMS).toSorted());
});

const form = (page: Page, name: string) => page.locator(`form[data-form="${name}"]`);
const question = (page: Page) => page.getByRole("alertdialog", { name: "Discard what you typed?" });

/** What is typed stands, and nothing has been saved. */
async function holds(page: Page, name: string, { field, typed }: FormEntry): Promise<void> {
  expect([name, await form(page, name).getByLabel(field, { exact: false }).first().inputValue()]).toEqual([
    name,
    typed,
  ]);
}

async function isAsked(page: Page, name: string, entry: FormEntry): Promise<void> {
  await question(page).getByRole("button", { name: "Keep editing" }).click();
  await question(page).waitFor({ state: "detached" });
  await holds(page, name, entry);
}

async function drive(visitor: Visitor, site: Site, [name, entry]: [string, FormEntry]): Promise<void> {
  const { page, context } = visitor;
  const own = form(page, name);
  await entry.open(page);
  await own.waitFor();
  // Nothing was typed: nothing is asked.
  await page.keyboard.press("Escape");
  await own.waitFor({ state: "detached" });
  await entry.open(page);
  await own.getByLabel(entry.field, { exact: false }).first().fill(entry.typed);

  const address = page.url();
  const ways = {
    esc: () => page.keyboard.press("Escape"),
    backdrop: () => page.mouse.click(3, 400),
    close: () => page.getByRole("button", { name: "Close" }).last().click(),
    back: () => page.evaluate(() => history.back()),
  };
  for (const leave of Object.values(ways)) {
    await leave();
    await isAsked(page, name, entry);
    expect(page.url()).toBe(address);
  }
  const asked = visitor.leaving.asked;
  visitor.leaving.answer = "stay";
  await page.reload({ timeout: 500 }).catch(() => null);
  expect([name, visitor.leaving.asked]).toEqual([name, asked + 1]);
  visitor.leaving.answer = "leave";
  await holds(page, name, entry);

  await entry.fill?.(page);
  const submit = page.getByRole("button", { name: entry.submit, exact: true }).last();
  const signInAgain = async () => {
    const again = page.getByRole("dialog", { name: "Sign in again" });
    await again.waitFor();
    await page.evaluate(() => history.back());
    await again.getByRole("textbox", { name: "Administrator password" }).fill(site.adminPassword);
    await page.keyboard.press("Enter");
    await again.waitFor({ state: "detached" });
    expect([page.url(), await page.getByRole("alertdialog").count()]).toEqual([address, 0]);
  };
  await context.clearCookies();
  await submit.click();
  await signInAgain();
  await holds(page, name, entry);

  await site.crash();
  await submit.click();
  await own.getByText("The server does not respond.").waitFor();
  await holds(page, name, entry);
  await site.restart();
  await submit.click();
  await (entry.saved?.(page, signInAgain) ?? own.waitFor({ state: "detached" }));
  expect(await question(page).count()).toBe(0);
}

/** All forms one after the other, since a later one changes what an earlier one has made: 80 s on a quiet machine. */
const ALL_FORMS_MS_MAX = 360_000;

describeInBrowser("every form", () => {
  test(
    "keeps what was typed through Esc, a press outside, another address, the session's end and a stopped server",
    async () => {
      const site = await browser.newSite();
      const visitor = await browser.newVisitor({ baseUrl: site.url });
      await signInAsAdmin(visitor, site);
      visitor.expect(/^request: \w+ .* answered 401$/);
      visitor.expect(/^request: \w+ .* failed: net::ERR_/);
      for (const [name, entry] of Object.entries(FORMS)) {
        await openAtRest(visitor.page, "/usage");
        await visitor.page.locator(`nav a[href="${entry.path}"]`).first().click();
        await drive(visitor, site, [name, entry]);
      }
    },
    ALL_FORMS_MS_MAX,
  );

  test("says in plain words what is wrong before the server is asked, goes to it, and is sent once however often Enter is pressed", async () => {
    const site = await browser.newSite();
    const visitor = await browser.newVisitor({ baseUrl: site.url });
    await signInAsAdmin(visitor, site);
    const { page } = visitor;
    await openAtRest(page, "/people");
    await press(page, "Add person or service");
    const own = form(page, "create-principal");
    const name = own.getByRole("textbox", { name: "Name" });
    const sent: string[] = [];
    const held = Promise.withResolvers<void>();
    await page.route("**/admin/v1/principals", async (route) => {
      if (route.request().method() === "POST") {
        sent.push(route.request().postData() ?? "");
        await held.promise;
      }
      await route.continue();
    });
    await name.press("Enter");
    await own.getByText("Fill in this field").waitFor();
    await name.fill("Ada Lovelace");
    await own.getByText("Use lower-case letters, digits, dots, dashes and underscores").waitFor();
    await name.fill("a".repeat(121));
    await own.getByText("Use at most 120 characters; these are 121").waitFor();
    await own.getByRole("combobox", { name: "Role" }).focus();
    await page.getByRole("button", { name: "Add", exact: true }).click();
    await waitForFocus(name);
    await inBothThemes(page, async () => {
      await checkAccessibility(page);
      await shoot(page, "form-fault");
    });
    await page.keyboard.press("Escape");
    await question(page).waitFor();
    await inBothThemes(page, async () => {
      await checkAccessibility(page);
      await shoot(page, "form-question");
    });
    await checkFitsSmall(page);
    await tabThrough(page, { within: "[role=alertdialog]" });
    await question(page).getByRole("button", { name: "Keep editing" }).click();
    await waitForFocus(name);
    expect([sent, await name.getAttribute("aria-invalid")]).toEqual([[], "true"]);

    await name.fill("ada.lovelace");
    for (let times = 0; times < 3; times += 1) await name.press("Enter");
    const submit = page.getByRole("button", { name: "Adding…" });
    await submit.waitFor();
    expect(await submit.getAttribute("aria-busy")).toBe("true");
    await submit.dblclick({ force: true });
    held.resolve();
    await own.waitFor({ state: "detached" });
    expect(sent).toHaveLength(1);
  });
});

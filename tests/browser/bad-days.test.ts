import { beforeEach, expect, test } from "bun:test";
import type { Page } from "playwright-core";
import { callApi } from "../support/installation.ts";
import { checkAccessibility } from "./support/axe.ts";
import { describeInBrowser, useBrowser } from "./support/browser.ts";
import { checkFits } from "./support/layout.ts";
import { shoot } from "./support/screenshots.ts";
import { rest } from "./support/rest.ts";
import { makeLoginLink, signInAsAdmin } from "./support/sign-in.ts";
import type { Site, SiteOptions } from "./support/site.ts";
import { inBothThemes } from "./support/themes.ts";
import { eventually } from "./support/waiting.ts";

const browser = useBrowser();

const LAB = {
  upstream: {
    script: (asked) => asked.reply({ body: '{"usage":{"prompt_tokens":1000,"completion_tokens":10}}' }),
    models: { fast: "vendor/fast" },
    pricing: { input_tokens: 2, output_tokens: 4 },
  },
} satisfies SiteOptions;
let site: Site;

async function startOwn(): Promise<void> {
  site = await browser.newSite(LAB);
  await ask();
}

async function ask(): Promise<void> {
  const body = { model: "fast", messages: [{ role: "user", content: "hello" }] };
  const response = await callApi(site.url, await site.adminKey(), "POST", "/v1/chat/completions", body);
  expect(response.status).toBe(200);
  await response.arrayBuffer();
}

async function call(method: string, path: string, body?: unknown): Promise<any> {
  const response = await callApi(site.url, await site.adminKey(), method, path, body);
  expect(response.ok).toBe(true);
  return JSON.parse(await response.text());
}

async function visit(path: string) {
  const visitor = await browser.newVisitor({ baseUrl: site.url });
  await signInAsAdmin(visitor, site);
  await visitor.page.goto(path);
  await visitor.page.locator("h1").waitFor();
  return visitor;
}

const look = async (page: Page) =>
  inBothThemes(page, async () => {
    await checkAccessibility(page);
    await checkFits(page);
  });

const rows = (page: Page) =>
  page.getByRole("region", { name: "Requests", exact: true }).locator("tbody tr[data-index]");

const OFFLINE = "The server does not respond. The data shown may be out of date";

describeInBrowser("a server that is killed", () => {
  beforeEach(startOwn);

  test("is told of over what one was reading; once it is back the live tail goes on by itself", async () => {
    const visitor = await visit("/requests?model=fast&range=24h");
    const { page } = visitor;
    await rows(page).first().waitFor();
    const before = await rows(page).count();
    let loads = 0;
    page.on("domcontentloaded", () => (loads += 1));
    visitor.expect(/^request: GET .* failed: net::ERR_(?:CONNECTION_|EMPTY_RESPONSE|INCOMPLETE)/);
    await site.crash();
    await page.getByText(OFFLINE).waitFor();
    expect(await rows(page).count()).toBe(before);
    await look(page);
    // What is open stays open to reading, and to writing down.
    await rows(page).first().click();
    await page.getByRole("dialog", { name: "fast" }).getByText("$0.00204").first().waitFor();
    await page.keyboard.press("Escape");
    await page.mouse.move(0, 0);
    await site.restart();
    await page.getByText(OFFLINE).waitFor({ state: "detached" });
    await ask();
    await eventually(async () => expect(await rows(page).count()).toBe(before + 1));
    expect(new URL(page.url()).search).toBe("?model=fast&range=24h");
    expect(loads).toBe(0);
  });

  test("while a key is made leaves the dialog with what was typed, and makes one when it is back", async () => {
    const visitor = await visit("/keys");
    const { page } = visitor;
    await page.getByRole("button", { name: "Create a key" }).click();
    await page.getByRole("textbox", { name: "Label" }).fill("through the night");
    visitor.expect(/^request: (?:GET|POST) .* failed: net::ERR_(?:CONNECTION_|EMPTY_RESPONSE)/);
    await site.crash();
    await page.keyboard.press("Enter");
    const dialog = page.getByRole("dialog", { name: "Create a key" });
    await dialog.getByText("offline", { exact: true }).waitFor();
    await look(page);
    expect(await page.getByRole("textbox", { name: "Label" }).inputValue()).toBe("through the night");
    await site.restart();
    await page.getByText(OFFLINE).waitFor({ state: "detached" });
    await dialog.getByRole("button", { name: "Create key" }).click();
    await page.getByRole("textbox", { name: "Key", exact: true }).waitFor();
    const { keys } = await call("GET", "/my/keys");
    expect(keys.filter(({ label }: { label: string }) => label === "through the night")).toHaveLength(1);
    visitor.leaving.answer = "leave";
  });
});

describeInBrowser("a session that was ended", () => {
  beforeEach(startOwn);

  test("in two tabs is one sign-in: each comes back to its own place", async () => {
    const visitor = await visit("/requests?model=fast&outcome=ok&range=24h");
    const { page, context } = visitor;
    await rows(page).first().waitFor();
    const other = await context.newPage();
    await other.goto("/models?q=fast");
    await other.getByRole("button", { name: "Change fast", exact: true }).waitFor();
    expect((await site.cli("principal", "revoke-sessions", "admin", "--yes")).code).toBe(0);
    for (const tab of [page, other]) {
      await tab.reload();
      await tab.getByText("You will return to the page you were on.").waitFor();
    }
    await page.bringToFront();
    await page.getByRole("textbox", { name: "Administrator password" }).fill(site.adminPassword);
    await page.keyboard.press("Enter");
    await rows(page).first().waitFor();
    expect(new URL(page.url()).search).toBe("?model=fast&outcome=ok&range=24h");
    await other.bringToFront();
    await other.reload();
    await other.getByRole("button", { name: "Change fast", exact: true }).waitFor();
    expect(new URL(other.url()).search).toBe("?q=fast");
  });
});

describeInBrowser("an admin who is one no longer", () => {
  beforeEach(startOwn);

  test("changes nothing any more, and finds the pages of admins shut, with the reason", async () => {
    const { id } = await call("POST", "/admin/v1/principals", { name: "former", role: "admin" });
    const visitor = await browser.newVisitor({ baseUrl: site.url });
    const { page } = visitor;
    await page.goto(await makeLoginLink(site, "former"));
    await page.getByRole("navigation", { name: "Pages" }).getByRole("link", { name: "Models" }).click();
    await page.getByRole("button", { name: "Change fast", exact: true }).waitFor();
    await rest(page);
    await call("PATCH", `/admin/v1/principals/${id}`, { role: "member" });
    visitor.expect(/^request: \w+ .*\/admin\/v1\/.* answered 403$/);
    await page.getByRole("switch", { name: "fast listed" }).click();
    // By itself: the page asks anew who one is, and shows what that person may see.
    await page.getByRole("button", { name: "Details of fast", exact: true }).waitFor();
    expect(await page.getByRole("switch", { name: "fast listed" }).count()).toBe(0);
    expect((await call("GET", "/admin/v1/models?limit=500")).models[0]).toMatchObject({ hidden: false });
    const links = page.getByRole("navigation", { name: "Pages" }).getByRole("link");
    await links.filter({ hasText: /^Providers$/ }).waitFor({ state: "detached" });
    await page.goto("/models/prices");
    await page.getByText("This page is for administrators").waitFor();
    await look(page);
    await page.getByRole("link", { name: "Go to overview" }).click();
    await page.getByRole("heading", { level: 1, name: "Overview" }).waitFor();
  });
});

describeInBrowser("an address that nobody made", () => {
  beforeEach(async () => {
    site = await browser.sharedSite(LAB);
    await ask();
  });

  test.each([
    ["/requests?foo=bar&range=banana&outcome=strange&page=-1&rows=7&live=yes&tag=&tag=&model=", "Requests"],
    ["/requests?page=99999", "Requests"],
    ["/?by=planet&show=feelings&bucket=eon&range=&__proto__=1&constructor=2", "Overview"],
    ["/errors?heat=hot&ok=perhaps&since=&until=", "Errors"],
    ["/usage?range=999d", "My usage"],
    ["/models?open=nothing&capability=telepathy&hidden=no", "Models"],
    ["/playground?model=nothing", "Playground"],
    ["/providers?open=nothing&page=x", "Providers"],
    ["/models?open=nothing&provider=nothing", "Models"],
    ["/people?open=nothing&tab=nothing", "People & keys"],
    ["/audit?action=nothing&actor=nothing&page=1e9", "Audit"],
    ["/models/prices?q=%F0%9F%91%BB&open=nothing", "Models"],
  ])("shows what there is: %s", async (path, name) => {
    const visitor = await browser.sharedVisitor(site);
    const { page } = visitor;
    await page.goto(path);
    await page.locator("h1", { hasText: name }).waitFor();
    await rest(page);
    if (path.includes("open=nothing") && !path.includes("/prices")) {
      await page
        .getByText(/^This .* does not exist/)
        .first()
        .waitFor();
      // It is gone: to ask once more is no way on.
      expect(await page.getByRole("button", { name: "Try again" }).count()).toBe(0);
      await page
        .getByRole("button", { name: /^(?:Show the list|Close)$/ })
        .first()
        .waitFor();
    }
    expect(await page.getByText("This page could not be shown").count()).toBe(0);
    expect(await page.getByText("page_error").count()).toBe(0);
    await checkAccessibility(page);
    await checkFits(page);
  });

  test.each(["/", "/usage", "/requests", "/errors"])(
    "says that its date is none, draws nothing and waits for nothing: %s",
    async (path) => {
      const visitor = await browser.sharedVisitor(site);
      const { page } = visitor;
      for (const bad of ["since=yesterday", "since=2026-01-01&until=tomorrow"]) {
        visitor.expect(/^request: GET .*(?:since=yesterday|until=tomorrow).* answered 400$/);
        await page.goto(`${path}?${bad}`);
        await page.getByRole("alert").getByText("invalid_date", { exact: true }).first().waitFor();
        await rest(page);
        await page.getByRole("alert").first().getByRole("button", { name: "Try again" }).waitFor();
        // The calendar of one's own year has no window.
        if (path !== "/usage") expect(await page.getByRole("application").count()).toBe(0);
        expect(await page.locator("main [aria-busy=true]").count()).toBe(0);
        expect(await page.locator("main .skeleton").count()).toBe(0);
        expect(await page.locator("main").getByText("Loading").count()).toBe(0);
        await shoot(page, `bad-date-${path}`);
      }
    },
  );

  test("leads to a page that says so, and on from there", async () => {
    const { page } = await browser.sharedVisitor(site);
    await page.goto("/no/such/page?at=all");
    await look(page);
    expect(await page.locator("main").innerText()).toMatch(/no such page|not (?:found|exist)|no page/i);
    await page.locator("main").getByRole("link").first().click();
    await page.getByRole("heading", { level: 1, name: "Overview" }).waitFor();
  });
});

describeInBrowser("what was deleted meanwhile", () => {
  beforeEach(startOwn);

  test("is told as gone where it is deleted again, and leaves the list", async () => {
    const { id } = await call("POST", "/my/keys", { label: "going" });
    const visitor = await visit("/keys");
    const { page } = visitor;
    await page.getByRole("button", { name: "Delete key going" }).click();
    await call("DELETE", `/my/keys/${id}`);
    visitor.expect(/^request: DELETE .* answered 404$/);
    await page.getByRole("button", { name: "Delete key", exact: true }).click();
    await page.getByRole("alertdialog").getByText("key_not_found").waitFor();
    await look(page);
    await page.keyboard.press("Escape");
    await page.getByRole("rowheader", { name: "going" }).waitFor({ state: "detached" });
  });

  test("is told as gone where it is changed: a model, a provider, a person", async () => {
    await call("POST", "/admin/v1/providers", { name: "leaving", base_url: "http://127.0.0.1:9/v1" });
    await call("POST", "/admin/v1/models", {
      alias: "leaving-model",
      provider: "leaving",
      upstream_name: "m",
    });
    const { id } = await call("POST", "/admin/v1/principals", { name: "leaver" });
    const visitor = await visit("/models?open=leaving-model");
    const { page } = visitor;
    visitor.expect(/^request: (?:PATCH|DELETE|POST|GET) .* answered 404$/);
    await page.getByRole("textbox", { name: "Alias" }).fill("renamed");
    await call("DELETE", "/admin/v1/models/leaving-model");
    await page.getByRole("button", { name: "Save changes" }).click();
    await page.getByText("This model does not exist").waitFor();
    await look(page);

    await page.goto("/providers?open=leaving");
    await page.getByRole("textbox", { name: "Base URL" }).fill("http://127.0.0.1:10/v1");
    await call("DELETE", "/admin/v1/providers/leaving");
    await page.getByRole("button", { name: "Test and save" }).click();
    await page.getByText("This provider does not exist").waitFor();
    expect(await page.getByRole("button", { name: "Try again" }).count()).toBe(0);
    await look(page);

    await page.goto(`/people?open=${id}`);
    await page
      .getByRole("dialog", { name: "leaver", exact: true })
      .getByRole("switch", { name: "Enabled" })
      .click();
    await call("DELETE", `/admin/v1/principals/${id}`);
    await page.getByRole("alertdialog").getByRole("button", { name: "Disable" }).click();
    await page.getByText("This person or service does not exist").waitFor();
    await look(page);
  });

  test("and would be needed by a model that goes is named by the server: model_in_use reads as help", async () => {
    await call("POST", "/admin/v1/models", { alias: "base", provider: "lab", upstream_name: "vendor/base" });
    const visitor = await visit("/models?open=base");
    const { page } = visitor;
    await page.getByRole("button", { name: "Delete model" }).click();
    const question = page.getByRole("alertdialog", { name: "Delete base?" });
    await question.waitFor();
    await call("POST", "/admin/v1/models", { alias: "late-name", target: "base" });
    visitor.expect(/^request: DELETE .* answered 409$/);
    await question.getByRole("button", { name: "Delete model" }).click();
    // The list is asked anew, so that the names stand there at once.
    const inUse = page.getByRole("dialog", { name: "base is in use" });
    await inUse.getByRole("link", { name: "late-name" }).waitFor();
    await inUse.getByText("model_in_use").waitFor();
    await look(page);
  });
});

describeInBrowser("a second press", () => {
  beforeEach(startOwn);

  test("makes no second key, no second person and no second provider", async () => {
    const visitor = await visit("/keys");
    const { page, context } = visitor;
    const sent: string[] = [];
    await context.route(
      (url) => /^\/(?:my|admin)\//.test(url.pathname),
      async (route) => {
        const request = route.request();
        if (request.method() === "POST") {
          sent.push(new URL(request.url()).pathname);
          // Long enough for an impatient hand.
          await new Promise((resolve) => setTimeout(resolve, 300));
        }
        await route.continue();
      },
    );
    await page.getByRole("button", { name: "Create a key" }).click();
    await page.getByRole("textbox", { name: "Label" }).fill("once");
    await page.keyboard.press("Enter");
    await page.keyboard.press("Enter");
    await page.getByRole("textbox", { name: "Key", exact: true }).waitFor();
    await page.getByRole("button", { name: "Done" }).click();
    await page.getByRole("button", { name: "Leave", exact: true }).click();

    await page.goto("/people");
    await page.getByRole("button", { name: "Add person or service" }).click();
    await page.getByRole("textbox", { name: "Name" }).fill("single");
    await page.getByRole("button", { name: "Add", exact: true }).dblclick();
    await page.getByRole("dialog", { name: "single", exact: true }).waitFor();

    await page.goto("/providers");
    await page.getByRole("button", { name: "Add provider" }).first().click();
    await page.getByRole("button", { name: /^Other/ }).click();
    await page.getByRole("textbox", { name: "Name", exact: true }).fill("single");
    await page.getByRole("textbox", { name: "Base URL" }).fill("http://127.0.0.1:9/v1");
    visitor.expect(/discover\S* answered 502/);
    await page.getByRole("button", { name: "Test and save" }).dblclick();
    await page.getByText("provider_unreachable").waitFor();
    await page.getByRole("button", { name: "Save anyway" }).dblclick();
    await page.getByText("Add a model that is not listed").waitFor();
    expect(sent.filter((path) => !path.includes("/single/discover"))).toEqual([
      "/my/keys",
      "/admin/v1/principals",
      "/admin/v1/discover",
      "/admin/v1/providers",
    ]);
    const { keys } = await call("GET", "/my/keys");
    expect(keys.filter(({ label }: { label: string }) => label === "once")).toHaveLength(1);
  });
});

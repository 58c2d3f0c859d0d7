import { afterEach, describe, expect, test } from "bun:test";
import type { OidcConfig } from "#boot/settings/config.ts";
import { parseConfig, type Config } from "#boot/settings/config.ts";
import { startApp, type TestApp } from "../support/app.ts";
import { createBrowser, type Browser, type Visit } from "../support/browser.ts";
import {
  abortAtProvider,
  CLIENT_ID,
  CLIENT_SECRET,
  passProvider,
  startIdentityProvider,
  type AccountClaims,
  type IdentityProvider,
  type IdentityProviderOptions,
} from "../support/identity-provider.ts";
import { expectError } from "./support.ts";

interface Place {
  readonly app: TestApp;
  readonly provider: IdentityProvider;
  /** The provider's claims of people; changes count from their next sign-in on. */
  readonly accounts: Record<string, AccountClaims>;
}

interface PlaceOptions {
  readonly oidc?: Partial<OidcConfig>;
  readonly config?: Partial<Config>;
  readonly provider?: Partial<IdentityProviderOptions>;
  readonly accounts?: Readonly<Record<string, AccountClaims>>;
}

const stops: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const stop of stops.splice(0).toReversed()) await stop();
});

const JANE = { jane: { preferred_username: "jane" } };

/** The real server and a real identity provider that knows it. */
async function openPlace(options: PlaceOptions = {}): Promise<Place> {
  const provider = await startIdentityProvider();
  stops.push(() => provider.stop());
  const { oidc } = parseConfig({
    PROXY_OIDC_ISSUER: provider.issuer,
    PROXY_OIDC_CLIENT_ID: CLIENT_ID,
    PROXY_OIDC_CLIENT_SECRET: CLIENT_SECRET,
  });
  if (oidc === null) return expect.unreachable();
  const app = await startApp({ oidc: { ...oidc, ...options.oidc }, ...options.config });
  stops.push(() => app.stop());
  const accounts: Record<string, AccountClaims> = { ...(options.accounts ?? JANE) };
  const origin = options.config?.publicUrl ?? app.url;
  provider.serve({ redirectUri: `${origin}/auth/callback`, accounts, ...options.provider });
  return { app, provider, accounts };
}

/** From our login route through the provider's forms to our callback's answer. */
async function signIn({ app }: Place, browser: Browser, login: string): Promise<Visit> {
  return await browser.visit(await passProvider(browser, await depart(app, browser), login));
}

/** The provider's address that our login route sends to. */
async function depart(app: TestApp, browser: Browser, path = "/auth/login"): Promise<URL> {
  const { response, location } = await browser.visit(app.url + path);
  expect(response.status).toBe(302);
  return location ?? expect.unreachable();
}

async function whoIs(app: TestApp, browser: Browser) {
  return JSON.parse((await browser.visit(`${app.url}/auth/me`)).text);
}

/** `name role` of everybody, by name. */
async function listPeople(app: TestApp): Promise<readonly string[]> {
  const { principals } = JSON.parse(await (await app.api("GET", "/admin/v1/principals")).text());
  return principals.map(({ name, role }: { name: string; role: string }) => `${name} ${role}`);
}

async function findId(app: TestApp, name: string): Promise<string> {
  const { principals } = JSON.parse(await (await app.api("GET", "/admin/v1/principals")).text());
  return principals.find((principal: { name: string }) => principal.name === name).id;
}

function toResponse({ response, text }: Visit): Response {
  return new Response(text, { status: response.status, headers: response.headers });
}

const JSON_CLIENT = { headers: { accept: "application/json" } };
const RETRY = "/auth/login?retry=1";

describe("GET /auth/login", () => {
  test("sends to the provider with PKCE, nonce and state, and sets a cookie for ten minutes that only /auth sees", async () => {
    const { app, provider } = await openPlace();
    const { response, location } = await createBrowser().visit(`${app.url}/auth/login`);
    expect([response.status, location?.origin]).toEqual([302, provider.issuer]);
    expect(Object.fromEntries(location?.searchParams ?? [])).toEqual({
      client_id: CLIENT_ID,
      response_type: "code",
      redirect_uri: `${app.url}/auth/callback`,
      scope: "openid profile email",
      state: expect.stringMatching(/^[\w.-]{60,}$/),
      nonce: expect.stringMatching(/^[\w-]{32,}$/),
      code_challenge: expect.stringMatching(/^[\w-]{43}$/),
      code_challenge_method: "S256",
    });
    expect(response.headers.getSetCookie()).toEqual([
      expect.stringMatching(/^proxy_sso_state=[\w.-]+; Path=\/auth; HttpOnly; SameSite=Lax; Max-Age=600$/),
    ]);
    expect(response.headers.get("cache-control")).toBe("no-store");
  });

  test("is new each time: no state, nonce, challenge or cookie comes twice", async () => {
    const { app } = await openPlace();
    const [first, second] = [createBrowser(), createBrowser()];
    const [one, two] = [await depart(app, first), await depart(app, second)];
    for (const name of ["state", "nonce", "code_challenge"]) {
      expect(one.searchParams.get(name)).not.toBe(two.searchParams.get(name));
    }
    const find = (browser: Browser) => browser.findCookie(`${app.url}/auth/callback`, "proxy_sso_state");
    expect(find(first)).not.toBe(find(second));
  });

  test("looks at nothing that is sent but retry=1: no host, no next and no redirect_uri of a request goes anywhere", async () => {
    const { app } = await openPlace();
    const path = "/auth/login?next=https://evil.example&redirect_uri=https://evil.example&retry=true";
    const { location, response } = await createBrowser().visit(app.url + path, {
      headers: { host: "evil.localhost", "x-forwarded-host": "evil.example", "x-forwarded-proto": "https" },
    });
    expect(location?.href).not.toContain("evil");
    expect(location?.searchParams.get("redirect_uri")).toBe(`${app.url}/auth/callback`);
    expect(location?.searchParams.get("state")).toContain(".first.");
    expect(response.headers.getSetCookie().join()).not.toContain("Secure");
    const retry = await depart(app, createBrowser(), RETRY);
    expect(retry.searchParams.get("state")).toContain(".retry.");
  });

  test("behind a public URL sends back there, and both cookies are Secure when it is https", async () => {
    const publicUrl = "https://models.example.org";
    const place = await openPlace({ config: { publicUrl } });
    const browser = createBrowser();
    const login = await browser.visit(`${place.app.url}/auth/login`);
    const back = await passProvider(browser, login.location ?? expect.unreachable(), "jane");
    expect(back.href).toStartWith(`${publicUrl}/auth/callback?`);
    const done = await browser.visit(place.app.url + back.pathname + back.search);
    expect([done.response.status, done.response.headers.get("location")]).toEqual([303, "/"]);
    const cookies = [login, done].flatMap(({ response }) => response.headers.getSetCookie());
    expect(cookies).toHaveLength(3);
    expect(cookies.filter((cookie) => !cookie.endsWith("; Secure"))).toEqual([]);
  });
});

describe("GET /auth/callback", () => {
  test("signs in: a session that works, a new principal that is a member, and the state cookie is gone", async () => {
    const place = await openPlace();
    const browser = createBrowser();
    const done = await signIn(place, browser, "jane");
    expect([done.response.status, done.response.headers.get("location"), done.text]).toEqual([303, "/", ""]);
    expect(done.response.headers.getSetCookie()).toEqual([
      "proxy_sso_state=; Path=/auth; HttpOnly; SameSite=Lax; Max-Age=0",
      expect.stringMatching(
        /^proxy_session=[\w.-]+\.member\.-\.\d{16}\.[\w-]+; Path=\/; HttpOnly; SameSite=Lax; Max-Age=604800$/,
      ),
    ]);
    expect(await whoIs(place.app, browser)).toEqual({
      authenticated: true,
      name: "jane",
      role: "member",
      sso_enabled: true,
      password_enabled: true,
    });
    expect((await browser.visit(`${place.app.url}/my/keys`)).response.status).toBe(200);
    expect((await browser.visit(`${place.app.url}/admin/v1/keys`)).response.status).toBe(403);
    const events = await (await place.app.api("GET", "/admin/v1/events")).json();
    expect(events).toMatchObject({ events: [], total: 0 });
    await browser.visit(`${place.app.url}/auth/logout`);
    expect(await whoIs(place.app, browser)).toMatchObject({ authenticated: false });
  });

  test.each(["client_secret_post", "none"] as const)(
    "signs in with a client that authenticates by %s",
    async (authMethod) => {
      const clientSecret = authMethod === "none" ? null : CLIENT_SECRET;
      const place = await openPlace({ oidc: { clientSecret }, provider: { authMethod } });
      expect((await signIn(place, createBrowser(), "jane")).response.status).toBe(303);
    },
  );

  test("issues a new session each time and ends the one before: a value planted in a browser is never signed in", async () => {
    const place = await openPlace();
    const browser = createBrowser();
    await signIn(place, browser, "jane");
    const first = browser.findCookie(place.app.url, "proxy_session");
    await signIn(place, browser, "jane");
    const second = browser.findCookie(place.app.url, "proxy_session");
    expect(second).not.toBe(first);
    const asFirst = await fetch(`${place.app.url}/my/keys`, {
      headers: { cookie: `proxy_session=${first}` },
    });
    await expectError(asFirst, "401 missing_api_key");
    expect(await listPeople(place.app)).toEqual(["admin admin", "jane member"]);
  });

  test("with a state that does not match tries once more by itself, and says sso_state_mismatch at the second time", async () => {
    const place = await openPlace();
    const browser = createBrowser();
    const callback = `${place.app.url}/auth/callback?code=x&state=forged`;
    await depart(place.app, browser);
    const first = await browser.visit(callback);
    expect([first.response.status, first.response.headers.get("location")]).toEqual([303, RETRY]);
    expect(browser.findCookie(callback, "proxy_sso_state")).toBeNull();
    await depart(place.app, browser, RETRY);
    const second = await browser.visit(callback, JSON_CLIENT);
    await expectError(toResponse(second), "400 sso_state_mismatch", null);
    expect(browser.findCookie(callback, "proxy_sso_state")).toBeNull();
    expect(browser.findCookie(callback, "proxy_session")).toBeNull();
    // The retry itself may succeed.
    const back = await passProvider(browser, await depart(place.app, browser, RETRY), "jane");
    expect((await browser.visit(back)).response.headers.get("location")).toBe("/");
  });

  test("in a browser that keeps no cookies does not loop: one retry, then a page that says why", async () => {
    const place = await openPlace();
    const signedIn = createBrowser();
    const blocked = createBrowser({ keepsCookies: false });
    // The provider's own cookies live in the other browser: what is blocked is ours.
    const back = await passProvider(signedIn, await depart(place.app, blocked), "jane");
    const first = await blocked.visit(back);
    expect(first.response.headers.get("location")).toBe(RETRY);
    const again = await passProvider(signedIn, await depart(place.app, blocked, RETRY), "jane");
    const second = await blocked.visit(again);
    expect([second.response.status, second.location]).toEqual([400, null]);
    expect(second.text).toContain("sso_state_mismatch");
    expect(second.response.headers.getSetCookie().join()).not.toContain("proxy_session");
  });

  test("of two tabs the first comes back with the other's cookie, is sent once more, and both are signed in", async () => {
    const place = await openPlace();
    const browser = createBrowser();
    const one = await depart(place.app, browser);
    const two = await depart(place.app, browser);
    const first = await browser.visit(await passProvider(browser, one, "jane"));
    expect(first.response.headers.get("location")).toBe(RETRY);
    const retried = await passProvider(browser, await depart(place.app, browser, RETRY), "jane");
    expect((await browser.visit(retried)).response.headers.get("location")).toBe("/");
    const second = await browser.visit(await passProvider(browser, two, "jane"));
    expect(second.response.headers.get("location")).toBe(RETRY);
    const again = await passProvider(browser, await depart(place.app, browser, RETRY), "jane");
    expect((await browser.visit(again)).response.headers.get("location")).toBe("/");
    expect(await listPeople(place.app)).toEqual(["admin admin", "jane member"]);
  });

  test("begun under another name of this machine comes to its end by the one retry", async () => {
    const place = await openPlace();
    const browser = createBrowser();
    const elsewhere = place.app.url.replace("127.0.0.1", "localhost");
    const login = await browser.visit(`${elsewhere}/auth/login`);
    const back = await passProvider(browser, login.location ?? expect.unreachable(), "jane");
    const first = await browser.visit(back);
    expect(first.location?.href).toBe(place.app.url + RETRY);
    const again = await browser.visit(first.location ?? expect.unreachable());
    const done = await browser.visit(
      await passProvider(browser, again.location ?? expect.unreachable(), "jane"),
    );
    expect(done.location?.href).toBe(`${place.app.url}/`);
  });

  test("with two state cookies takes neither", async () => {
    const place = await openPlace();
    const browser = createBrowser();
    const back = await passProvider(browser, await depart(place.app, browser), "jane");
    const good = browser.findCookie(back.href, "proxy_sso_state") ?? "";
    for (const cookies of [
      `proxy_sso_state=x; proxy_sso_state=${good}`,
      `proxy_sso_state=${good}; proxy_sso_state=`,
    ]) {
      const response = await fetch(back, { redirect: "manual", headers: { cookie: cookies } });
      expect(response.headers.get("location")).toBe(RETRY);
    }
    expect((await browser.visit(back)).response.headers.get("location")).toBe("/");
  });

  test("opened a second time signs nobody in", async () => {
    const place = await openPlace();
    const browser = createBrowser();
    const back = await passProvider(browser, await depart(place.app, browser), "jane");
    await browser.visit(back);
    const visitor = createBrowser();
    for (const replaying of [browser, visitor]) {
      const replayed = await replaying.visit(back);
      expect(replayed.response.headers.get("location")).toBe(RETRY);
      expect(replayed.response.headers.getSetCookie().join()).not.toContain("proxy_session");
    }
    expect(await whoIs(place.app, visitor)).toMatchObject({ authenticated: false });
  });

  test("with the code of somebody else signs nobody in, whether that browser has begun a sign-in or not", async () => {
    const place = await openPlace({ accounts: { ...JANE, mallory: {} } });
    const mallory = createBrowser();
    const trap = await passProvider(mallory, await depart(place.app, mallory), "mallory");
    const jane = createBrowser();
    expect((await jane.visit(trap)).response.headers.get("location")).toBe(RETRY);
    await depart(place.app, jane);
    expect((await jane.visit(trap)).response.headers.get("location")).toBe(RETRY);
    // Her own state with his code: the provider finds that the verifier is not the one that his code was made for.
    const own = await depart(place.app, jane);
    const mixed = new URL(trap);
    mixed.searchParams.set("state", own.searchParams.get("state") ?? "");
    await expectError(toResponse(await jane.visit(mixed, JSON_CLIENT)), "502 sso_exchange_failed");
    expect(await whoIs(place.app, jane)).toMatchObject({ authenticated: false });
    expect(await listPeople(place.app)).toEqual(["admin admin"]);
  });

  test("says sso_denied when the person turned back, and repeats nothing of what the provider wrote", async () => {
    const place = await openPlace();
    const browser = createBrowser();
    const back = await abortAtProvider(browser, await depart(place.app, browser));
    back.searchParams.set("error_description", "<script>planted</script>");
    const json = await browser.visit(back, JSON_CLIENT);
    const message = await expectError(toResponse(json), "400 sso_denied", null);
    expect(message).not.toContain("planted");
    expect(json.text).not.toContain("access_denied");
  });

  test("looks at the state before the error, and at the error before the code", async () => {
    const place = await openPlace();
    const browser = createBrowser();
    const callback = async (query: string) => {
      const state = (await depart(place.app, browser)).searchParams.get("state") ?? "";
      return await browser.visit(
        `${place.app.url}/auth/callback?${query.replace("STATE", state)}`,
        JSON_CLIENT,
      );
    };
    const mismatched = await callback("error=access_denied&state=forged&code=x");
    expect(mismatched.response.headers.get("location")).toBe(RETRY);
    for (const query of ["", "code=x", "state=", "state=STATE&state=STATE&code=x"]) {
      expect((await callback(query)).response.headers.get("location")).toBe(RETRY);
    }
    await expectError(toResponse(await callback("error=anything&state=STATE&code=x")), "400 sso_denied");
    for (const query of ["state=STATE", "state=STATE&code=", "state=STATE&error="]) {
      const missing = toResponse(await callback(query));
      await expectError(missing, "400 sso_code_missing");
    }
    await expectError(toResponse(await callback("state=STATE&code=invented")), "502 sso_exchange_failed");
  });

  test("refuses in a page for a browser and in the envelope for everybody else, with the same status", async () => {
    const place = await openPlace();
    const browser = createBrowser();
    const refuse = async (headers: Record<string, string>) => {
      const state = (await depart(place.app, browser)).searchParams.get("state") ?? "";
      const query = new URLSearchParams({
        state,
        error: "<b>planted</b>",
        error_description: "<b>planted</b>",
      });
      return await browser.visit(`${place.app.url}/auth/callback?${query.toString()}`, { headers });
    };
    const page = await refuse({ accept: "text/html,application/xhtml+xml,*/*;q=0.8" });
    expect(page.response.status).toBe(400);
    expect(page.response.headers.get("content-type")).toBe("text/html; charset=utf-8");
    expect(page.response.headers.get("x-proxy-error-source")).toBe("proxy");
    expect(page.response.headers.get("cache-control")).toBe("no-store");
    expect(page.response.headers.get("content-security-policy")).toContain("default-src 'none'");
    expect(page.text).toContain("sso_denied");
    expect(page.text).not.toMatch(/planted|<script|<style|style=|\son[a-z]+=/i);
    for (const accept of ["application/json", "*/*"]) {
      await expectError(toResponse(await refuse({ accept })), "400 sso_denied");
    }
  });
});

describe("groups", () => {
  const REQUIRED = { requiredGroup: "staff" };
  const ADMINS = { adminGroup: "admins" };

  test("only members of the required group come in, by a list or by a text of names", async () => {
    const place = await openPlace({
      oidc: REQUIRED,
      accounts: {
        list: { groups: ["other", "staff"] },
        words: { groups: "other staff" },
        commas: { groups: "other,staff" },
        both: { groups: " other, staff " },
        part: { groups: ["stafford", "staff,other", "STAFF"] },
        none: {},
        admins: { groups: ["admins"] },
      },
    });
    for (const login of ["list", "words", "commas", "both"]) {
      expect((await signIn(place, createBrowser(), login)).response.status).toBe(303);
    }
    for (const login of ["part", "none", "admins"]) {
      const browser = createBrowser();
      const back = await passProvider(browser, await depart(place.app, browser), login);
      const refused = await browser.visit(back, JSON_CLIENT);
      await expectError(toResponse(refused), "403 sso_group_required", null);
      expect(browser.findCookie(place.app.url, "proxy_session")).toBeNull();
    }
    // Nobody is made who may not come in.
    expect(await listPeople(place.app)).toEqual([
      "admin admin",
      "both member",
      "commas member",
      "list member",
      "words member",
    ]);
  });

  test("the claim may have another name, and may stand in the ID token alone", async () => {
    const oidc = { ...REQUIRED, groupsClaim: "teams" };
    const accounts = { jane: { teams: ["staff"] }, joe: { groups: ["staff"] } };
    const place = await openPlace({ oidc, accounts, provider: { claimsInIdToken: true } });
    expect((await signIn(place, createBrowser(), "jane")).response.status).toBe(303);
    expect((await signIn(place, createBrowser(), "joe")).response.status).toBe(403);
  });

  test("with an admin group the role follows the groups at every sign-in, and takes effect at once", async () => {
    const place = await openPlace({ oidc: ADMINS, accounts: { jane: { groups: ["admins"] } } });
    const browser = createBrowser();
    await signIn(place, browser, "jane");
    expect(await whoIs(place.app, browser)).toMatchObject({ name: "jane", role: "admin" });
    expect((await browser.visit(`${place.app.url}/admin/v1/keys`)).response.status).toBe(200);
    place.accounts["jane"] = { groups: [] };
    const other = createBrowser();
    await signIn(place, other, "jane");
    for (const visitor of [browser, other]) {
      expect(await whoIs(place.app, visitor)).toMatchObject({ name: "jane", role: "member" });
      expect((await visitor.visit(`${place.app.url}/admin/v1/keys`)).response.status).toBe(403);
    }
    place.accounts["jane"] = { groups: "other,admins" };
    await signIn(place, other, "jane");
    expect(await whoIs(place.app, other)).toMatchObject({ role: "admin" });
  });

  test("the last admin who leaves the admin group stays one until there is another", async () => {
    const place = await openPlace({ oidc: ADMINS, accounts: { jane: { groups: ["admins"] } } });
    const browser = createBrowser();
    await signIn(place, browser, "jane");
    const admin = await findId(place.app, "admin");
    await place.app.api("PATCH", `/admin/v1/principals/${admin}`, { role: "member" });
    place.accounts["jane"] = { groups: [] };
    expect((await signIn(place, browser, "jane")).response.status).toBe(303);
    expect(await whoIs(place.app, browser)).toMatchObject({ name: "jane", role: "admin" });
    await browser.visit(`${place.app.url}/my/keys`);
    const again = await fetch(`${place.app.url}/admin/v1/principals/${admin}`, {
      method: "PATCH",
      headers: {
        "content-type": "application/json",
        cookie: `proxy_session=${browser.findCookie(place.app.url, "proxy_session")}`,
      },
      body: JSON.stringify({ role: "admin" }),
    });
    expect(again.status).toBe(200);
    await signIn(place, browser, "jane");
    expect(await whoIs(place.app, browser)).toMatchObject({ role: "member" });
  });

  test("without an admin group new people are members whatever their groups, and a role that was given stays", async () => {
    const place = await openPlace({ accounts: { jane: { groups: ["admins", "admin"] } } });
    const browser = createBrowser();
    await signIn(place, browser, "jane");
    expect(await whoIs(place.app, browser)).toMatchObject({ role: "member" });
    await place.app.api("PATCH", `/admin/v1/principals/${await findId(place.app, "jane")}`, {
      role: "admin",
    });
    await signIn(place, browser, "jane");
    expect(await whoIs(place.app, browser)).toMatchObject({ role: "admin" });
  });
});

describe("principals by single sign-on", () => {
  test("never become somebody who exists: not `admin`, not one of the same name or e-mail address", async () => {
    const place = await openPlace({
      accounts: {
        a: { preferred_username: "admin" },
        b: { email: "admin@example.org", email_verified: true },
        c: { preferred_username: "jane", email: "jane@example.org" },
        d: { preferred_username: "Jane", email: "jane@example.org" },
        e: { email: "jane@example.org" },
      },
      oidc: { adminGroup: "admins" },
    });
    await place.app.api("POST", "/admin/v1/principals", { name: "jane" });
    const names: string[] = [];
    for (const login of ["a", "b", "c", "d", "e"]) {
      const browser = createBrowser();
      await signIn(place, browser, login);
      names.push((await whoIs(place.app, browser)).name);
    }
    expect(names).toEqual(["admin-2", "admin-3", "jane-2", "jane-3", "jane-4"]);
    expect(await listPeople(place.app)).toContain("admin admin");
  });

  test("are not called `admin` either when nobody else is: that name signs in by password", async () => {
    const place = await openPlace({
      oidc: { adminGroup: "admins" },
      accounts: { jane: { groups: "admins" }, a: { preferred_username: "admin", groups: "admins" } },
    });
    const browser = createBrowser();
    await signIn(place, browser, "jane");
    const session = browser.findCookie(place.app.url, "proxy_session");
    const deleted = await fetch(`${place.app.url}/admin/v1/principals/${await findId(place.app, "admin")}`, {
      method: "DELETE",
      headers: { cookie: `proxy_session=${session}` },
    });
    expect(deleted.status).toBe(200);
    const other = createBrowser();
    await signIn(place, other, "a");
    expect(await whoIs(place.app, other)).toMatchObject({ name: "admin-2", role: "admin" });
    const people = (await other.visit(`${place.app.url}/admin/v1/principals`)).text;
    expect(people).not.toContain('"name":"admin"');
  });

  test("keep the name that they were given first, whatever they are called later", async () => {
    const place = await openPlace();
    const browser = createBrowser();
    await signIn(place, browser, "jane");
    place.accounts["jane"] = { preferred_username: "admin", email: "other@example.org" };
    await signIn(place, browser, "jane");
    expect(await whoIs(place.app, browser)).toMatchObject({ name: "jane", role: "member" });
    expect(await listPeople(place.app)).toEqual(["admin admin", "jane member"]);
  });

  test("who were disabled do not come in, and do so again when they are enabled", async () => {
    const place = await openPlace({
      oidc: { adminGroup: "admins" },
      accounts: { jane: { groups: "admins" } },
    });
    const browser = createBrowser();
    await signIn(place, browser, "jane");
    const id = await findId(place.app, "jane");
    await place.app.api("PATCH", `/admin/v1/principals/${id}`, { enabled: false, role: "member" });
    const back = await passProvider(browser, await depart(place.app, browser), "jane");
    const refused = await browser.visit(back, JSON_CLIENT);
    await expectError(toResponse(refused), "400 sso_denied", null);
    expect(refused.response.headers.getSetCookie().join()).not.toContain("proxy_session=");
    expect(await listPeople(place.app)).toContain("jane member");
    await place.app.api("PATCH", `/admin/v1/principals/${id}`, { enabled: true });
    expect((await signIn(place, browser, "jane")).response.status).toBe(303);
  });

  test("who were deleted come back as new ones", async () => {
    const place = await openPlace();
    const browser = createBrowser();
    await signIn(place, browser, "jane");
    const id = await findId(place.app, "jane");
    await place.app.api("DELETE", `/admin/v1/principals/${id}`);
    expect(await whoIs(place.app, browser)).toMatchObject({ authenticated: false });
    await signIn(place, browser, "jane");
    expect(await findId(place.app, "jane")).not.toBe(id);
  });

  test("who sign in twice at the same moment are made once", async () => {
    const place = await openPlace();
    const comeBack = async (browser: Browser) => {
      const back = await passProvider(browser, await depart(place.app, browser), "jane");
      return () => browser.visit(back);
    };
    const ready = await Promise.all([1, 2, 3, 4].map(() => comeBack(createBrowser())));
    const done = await Promise.all(ready.map((visit) => visit()));
    expect(done.map((visit) => visit.response.status)).toEqual([303, 303, 303, 303]);
    expect(await listPeople(place.app)).toEqual(["admin admin", "jane member"]);
  });
});

describe("a provider that is down", () => {
  test("does not keep the server from starting, and fails its own sign-in alone until it is up again", async () => {
    const place = await openPlace();
    place.provider.fail();
    const browser = createBrowser();
    const login = await browser.visit(`${place.app.url}/auth/login`, JSON_CLIENT);
    await expectError(toResponse(login), "502 sso_exchange_failed", null);
    expect(login.response.headers.getSetCookie()).toEqual([]);
    const page = await browser.visit(`${place.app.url}/auth/login`);
    expect([page.response.status, page.text.includes("sso_exchange_failed")]).toEqual([502, true]);
    const password = await place.app.api("POST", "/auth/password", { password: place.app.adminPassword }, {});
    expect(password.status).toBe(200);
    expect(await whoIs(place.app, createBrowser())).toMatchObject({ sso_enabled: true });
    place.provider.serve({ redirectUri: `${place.app.url}/auth/callback`, accounts: place.accounts });
    expect((await signIn(place, browser, "jane")).response.status).toBe(303);
  });

  test("and goes down between the way there and the way back is 502, and the next sign-in works", async () => {
    const place = await openPlace();
    const browser = createBrowser();
    const back = await passProvider(browser, await depart(place.app, browser), "jane");
    place.provider.fail();
    await expectError(toResponse(await browser.visit(back, JSON_CLIENT)), "502 sso_exchange_failed");
    place.provider.serve({ redirectUri: `${place.app.url}/auth/callback`, accounts: place.accounts });
    const asked = place.provider.paths.filter((path) => path.includes("well-known")).length;
    expect((await signIn(place, browser, "jane")).response.status).toBe(303);
    expect(place.provider.paths.filter((path) => path.includes("well-known"))).toHaveLength(asked + 1);
  });

  test("is asked for its metadata at the first sign-in and not before, and not again at the next", async () => {
    const place = await openPlace();
    await fetch(`${place.app.url}/auth/me`);
    expect(place.provider.paths).toEqual([]);
    await signIn(place, createBrowser(), "jane");
    await signIn(place, createBrowser(), "jane");
    expect(place.provider.paths.filter((path) => path.includes("well-known"))).toHaveLength(1);
    expect(place.provider.paths.filter((path) => path === "/jwks")).toHaveLength(1);
  });
});

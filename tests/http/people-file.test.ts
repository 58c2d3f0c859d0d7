import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { sha256Hex } from "#kernel/crypto.ts";
import { call, expectError, startHarness, type Harness } from "./support.ts";

let harness: Harness;
beforeEach(async () => {
  harness = await startHarness();
});
afterEach(() => harness.stop());

const CATALOG = "/admin/v1/catalog";
const SECRET = `lp_${"Ab3".repeat(14)}z`;
const OTHER = `lp_${"Cd4".repeat(14)}y`;
const KEY_ID = "019a0000-0000-7000-8000-000000000001";
const ADMIN = { admin: { role: "admin" } };

/** Something of everything. */
const FILE = {
  lockport_catalog: 1,
  principals: {
    ...ADMIN,
    alice: { role: "admin", tags: ["team:search"] },
    bot: { kind: "service", enabled: false },
  },
  keys: {
    [KEY_ID]: {
      principal: "alice",
      label: "laptop",
      enabled: false,
      expires_at: "2020-01-31T08:00:00.000000Z",
      scope: "inference",
      models: ["b", "a"],
      tags: ["use:work"],
      secret: SECRET,
    },
  },
  limits: {
    "alice: month": {
      subject: { principal: "alice", model: "gpt" },
      measure: "cost",
      amount: 0.000000000001,
      window: "month",
      action: "warn",
      unpriced: "refuse",
      unknown: 20,
      enabled: false,
    },
    laptop: { subject: { key: KEY_ID }, measure: "concurrent", amount: 2 },
    teams: { each: "tag:team", fixed: true, measure: "tokens", amount: 1000, window: "day" },
  },
};
interface Named {
  readonly action: string;
  readonly kind: string;
  readonly name: string;
}

const post = (body: object, query = "") =>
  call(harness, "POST", `${CATALOG}${query}`, { body: { lockport_catalog: 1, ...body } });
const apply = async (body: object, query = "") => {
  const answer = await post(body, query);
  const view = await answer.json();
  expect({ status: answer.status, view }).toMatchObject({ status: 200 });
  return view;
};
const read = async () => (await call(harness, "GET", `${CATALOG}?people=1`)).json();
const readEvents = async () => (await call(harness, "GET", "/admin/v1/events")).text();
const readActions = async (): Promise<readonly string[]> =>
  JSON.parse(await readEvents()).events.map(({ action }: { action: string }) => action);
const open = (key: string) =>
  fetch(`${harness.url}/my/limits`, { headers: { authorization: `Bearer ${key}` } });
const withoutSecrets = (keys: { readonly [id: string]: { readonly secret?: string } }) =>
  Object.fromEntries(Object.entries(keys).map(([id, key]) => [id, { ...key, secret: undefined }]));
/** The file is refused so, and nothing is changed. */
const expectRefused = async (body: object, refusal: { code: string; param: string | null }, query = "") => {
  const [file, events] = [await read(), await readEvents()];
  const status = refusal.code.endsWith("_not_found") ? 404 : refusal.code.startsWith("invalid") ? 400 : 409;
  const answer = await post(body, query);
  const text = await answer.clone().text();
  await expectError(answer, `${status} ${refusal.code}`, refusal.param);
  expect(text).not.toContain(SECRET);
  expect([await read(), await readEvents()]).toEqual([file, events]);
};

describe("a file of the whole installation", () => {
  test("that is applied to an empty one is what is read afterwards, and applied again changes nothing", async () => {
    const told = await apply(FILE, "?dry_run=1");
    expect(told).toMatchObject({ applied: false, skipped: [] });
    expect((await read()).limits).toEqual({});
    const made = await apply(FILE);
    expect({ ...made, applied: false }).toEqual(told);

    const { keys, ...file } = await read();
    const ofTests = Object.keys(keys).find((id) => id !== KEY_ID)!;
    expect({ ...file, keys: { [KEY_ID]: keys[KEY_ID] } }).toEqual({
      providers: {},
      models: {},
      feeds: [],
      ...FILE,
      keys: withoutSecrets(FILE.keys),
    });
    expect(keys[ofTests]).toEqual({ principal: "admin", label: "tests" });
    const events = await readEvents();
    for (const again of [FILE, { ...file, keys }, file]) {
      expect(await apply(again)).toMatchObject({ changes: [], skipped: [] });
      expect(await apply(again, "?prune=1")).toMatchObject({ changes: [], skipped: [] });
    }
    expect(await readEvents()).toBe(events);
  });

  test("is audited as its resources' own routes are, and tells no secret anywhere", async () => {
    const answers = [JSON.stringify(await apply(FILE)), JSON.stringify(await read()), await readEvents()];
    expect(await readActions()).toEqual([
      "limit.create",
      "limit.create",
      "limit.create",
      "key.create",
      "principal.create",
      "principal.create",
    ]);
    const changed = { ...FILE.keys[KEY_ID], label: "desk", secret: OTHER };
    answers.push(JSON.stringify(await apply({ keys: { [KEY_ID]: changed } })), await readEvents());
    expect((await readActions()).slice(0, 2)).toEqual(["key.rotate", "key.update"]);
    for (const text of [...answers, ...harness.logLines])
      for (const secret of [SECRET, OTHER]) expect(text).not.toContain(secret);
  });

  test("leaves a section alone that it does not have, also when it is pruned", async () => {
    const providers = { up: { base_url: "http://127.0.0.1:9/v1" } };
    await apply({ ...FILE, providers });
    const before = await read();
    const { principals, limits } = FILE;
    for (const body of [{ principals }, { limits }, { providers }])
      expect((await apply(body, "?prune=1")).changes).toEqual([]);
    expect(await read()).toEqual(before);
  });

  test("is all made or nothing: what its last entry is refused for leaves the first unmade", async () => {
    const limits = { ...FILE.limits, zzz: { measure: "requests", amount: 0, window: "day" } };
    await expectRefused({ ...FILE, limits }, { code: "invalid_request", param: "limits.zzz.amount" });
    const late = { ...FILE.limits, zzz: { ...FILE.limits.laptop, subject: { principal: "nobody" } } };
    await expectRefused(
      { ...FILE, limits: late },
      { code: "principal_not_found", param: "limits.zzz.subject.principal" },
    );
  });

  test("that two apply at once is made once", async () => {
    const told = await Promise.all([apply(FILE), apply(FILE)]);
    expect(told.map(({ changes }) => changes.length).toSorted((left, right) => left - right)).toEqual([0, 6]);
    expect(await readActions()).toHaveLength(6);
  });

  test("is not for add_only, and is read without people unless they are asked for", async () => {
    await expectRefused(FILE, { code: "invalid_request", param: "principals" }, "?add_only=1");
    const plain = await (await call(harness, "GET", CATALOG)).json();
    expect(Object.keys(plain)).toEqual(["lockport_catalog", "providers", "models", "feeds"]);
    await expectError(await call(harness, "GET", `${CATALOG}?people=yes`), "400 invalid_request", "people");
    expect(Object.keys(await apply({ providers: {} }))).toEqual(["applied", "changes", "kept", "missing"]);
  });
});

describe("a principal of a file", () => {
  test("that differs is changed in what differs, and keeps its kind", async () => {
    await apply(FILE);
    const { changes } = await apply({ principals: { bot: { role: "admin", tags: ["a:b"] } } });
    expect(changes).toEqual([
      {
        action: "update",
        kind: "principal",
        name: "bot",
        before: { role: "member", enabled: false, tags: [] },
        after: { role: "admin", enabled: true, tags: ["a:b"] },
      },
    ]);
    const user = { principals: { bot: { kind: "user" } } };
    await expectRefused(user, { code: "principal_exists", param: "principals.bot.kind" });
  });

  test("may take the last admin's role where the file makes another admin, and not otherwise", async () => {
    const demoted = { admin: { role: "member" } };
    await expectRefused({ principals: demoted }, { code: "last_admin", param: "principals" });
    await expectRefused(
      { principals: { ...demoted, alice: { role: "admin", enabled: false } } },
      { code: "last_admin", param: "principals" },
    );
    expect(
      (await apply({ principals: { ...demoted, alice: { role: "admin" } } }, "?dry_run=1")).changes,
    ).toHaveLength(2);
    await apply({ principals: { ...demoted, alice: { role: "admin" } } });
  });

  test("that a pruned file does not have goes with its keys; those of single sign-on and the caller stay with theirs", async () => {
    const { identity } = harness.deps;
    await apply(FILE);
    const sso = {
      id: "019a0000-0000-7000-8000-00000000000a",
      name: "sso",
      kind: "user",
      role: "member",
      enabled: true,
      createdAtUs: 1,
      tags: [],
    } as const;
    await identity.createPrincipalForSubject(sso, { issuer: "https://id.example", subject: "1" });
    const { secret } = await harness.deps.keys.create({ principalId: sso.id, label: "own" }, null);
    const told = await apply({ principals: {}, keys: {}, limits: {} }, "?prune=1");
    expect(told.changes.map(({ action, kind, name }: Named) => `${action} ${kind} ${name}`)).toEqual([
      "delete limit alice: month",
      "delete limit laptop",
      "delete limit teams",
      `delete key ${KEY_ID}`,
      "delete principal alice",
      "delete principal bot",
    ]);
    expect(told.kept).toMatchObject({ principals: 0, keys: 0, limits: 0 });
    const { principals, keys, limits } = await read();
    expect([Object.keys(principals), limits]).toEqual([["admin", "sso"], {}]);
    expect(Object.keys(keys)).toContain(secret.id);
    expect((await open(SECRET)).status).toBe(401);
  });

  test("that is pruned may not be the owner of a key or the subject of a limit in the same file", async () => {
    await apply(FILE);
    const principals = ADMIN;
    const query = "?prune=1";
    await expectRefused(
      { principals, keys: FILE.keys },
      { code: "principal_not_found", param: `keys.${KEY_ID}.principal` },
      query,
    );
    await expectRefused(
      { principals, limits: FILE.limits },
      { code: "principal_not_found", param: "limits.alice: month.subject.principal" },
      query,
    );
  });
});

describe("a key of a file", () => {
  const alice = { principals: { alice: {} } };
  const withKey = (id: string, key: object) => ({ ...alice, keys: { [id]: { principal: "alice", ...key } } });

  test("opens what its secret opens, from the next request on", async () => {
    expect((await open(SECRET)).status).toBe(401);
    await apply(withKey("ci", { secret: SECRET }), "?dry_run=1");
    expect((await open(SECRET)).status).toBe(401);
    await apply(withKey("ci", { secret: SECRET }));
    expect((await open(SECRET)).status).toBe(200);
  });

  test("whose SHA-256 alone is given opens by the secret that it is of, and not by the SHA-256", async () => {
    const digest = sha256Hex(SECRET);
    await apply(withKey("ci", { secret_sha256: digest }));
    expect((await open(SECRET)).status).toBe(200);
    for (const text of [digest, `lp_${digest}`, `sha256:${digest}`, OTHER])
      expect((await open(text)).status).toBe(401);
    // Its plaintext is the same secret.
    for (const secret of [{ secret: SECRET }, { secret_sha256: digest }])
      expect((await apply(withKey("ci", secret))).changes).toEqual([]);
    expect(JSON.stringify(await read())).not.toContain(digest);
  });

  test("keeps its secret where the file has none, and takes another that the file has", async () => {
    await apply(withKey("ci", { secret: SECRET }));
    expect((await apply(withKey("ci", {}))).changes).toEqual([]);
    expect((await open(SECRET)).status).toBe(200);
    const { changes } = await apply(withKey("ci", { secret: OTHER }));
    expect(changes).toEqual([
      { action: "update", kind: "key", name: "ci", before: {}, after: {}, credential: "set" },
    ]);
    expect([(await open(SECRET)).status, (await open(OTHER)).status]).toEqual([401, 200]);
  });

  test("does not get a secret back that was rotated away, with a grace or without", async () => {
    for (const graceSeconds of [0, 600]) {
      const id = `k${graceSeconds}`;
      const text = graceSeconds === 0 ? SECRET : OTHER;
      await apply(withKey(id, { secret: text }));
      const { keys } = await read();
      const [stored = ""] =
        Object.entries<{ label?: string }>(keys).find(([, key]) => key.label === id) ?? [];
      const rotated = await harness.deps.keys.rotate({ id: stored }, { graceSeconds }, null);
      expect(await apply(withKey(id, { secret: text }))).toMatchObject({
        changes: [],
        skipped: [{ kind: "key", name: id, reason: "former_secret" }],
      });
      expect((await open(rotated.plaintext)).status).toBe(200);
      // In its grace the former secret is good for models alone.
      expect((await open(text)).status).toBe(401);
    }
  });

  test("that is new and has no secret is not made, nor the limit of it, and the rest is", async () => {
    const limits = {
      "of ci": { subject: { key: "ci" }, measure: "requests", amount: 5, window: "day" },
      "of token": { subject: { relay_token: KEY_ID }, measure: "requests", amount: 5, window: "day" },
      all: { measure: "requests", amount: 5, window: "day" },
    };
    const told = await apply({ ...withKey("ci", {}), limits });
    expect(told.skipped).toEqual([
      { kind: "key", name: "ci", reason: "no_secret" },
      { kind: "limit", name: "of ci", reason: "no_key" },
      { kind: "limit", name: "of token", reason: "no_relay_token" },
    ]);
    expect(Object.keys((await read()).limits)).toEqual(["all"]);
    const made = await apply({ ...withKey("ci", { secret: SECRET }), limits });
    expect(made.changes.map(({ name }: Named) => name)).toEqual(["ci", "of ci"]);
    const { keys, limits: read1 } = await read();
    expect(keys[read1["of ci"].subject.key]).toEqual({ principal: "alice", label: "ci" });
  });

  test("under a name is the key of its owner with that label, and never one of several", async () => {
    await apply(withKey(KEY_ID, { label: "ci", secret: SECRET }));
    const { changes } = await apply(withKey("ci", { scope: "inference" }));
    expect(changes).toMatchObject([{ action: "update", kind: "key", name: "ci" }]);
    expect((await read()).keys[KEY_ID]).toEqual({ principal: "alice", label: "ci", scope: "inference" });
    const { keys } = harness.deps;
    const owner = await harness.deps.principals.getByName("alice");
    await keys.create({ principalId: owner.id, label: "ci" }, null);
    await expectRefused(withKey("ci", {}), { code: "invalid_request", param: "keys.ci" });
  });

  test("may not stand twice in one file, be it stored or new", async () => {
    const [one, two] = [SECRET, OTHER].map((secret) => ({ principal: "alice", label: "ci", secret }));
    const twice = { ...alice, keys: { one, two } };
    await expectRefused(twice, { code: "invalid_request", param: "keys.two" });
    await apply({ ...alice, keys: { one } });
    await expectRefused(twice, { code: "invalid_request", param: "keys.two" });
  });

  test("keeps what its owner has narrowed where the file says nothing of it, and loses what only an admin has set", async () => {
    const terms = { scope: "inference", enabled: false, models: ["a"], expires_at: "2090-01-01T00:00:00Z" };
    await apply(withKey(KEY_ID, { secret: SECRET }));
    await harness.deps.keys.update(
      { id: KEY_ID },
      { enabled: false, scope: "inference", models: ["a"], expiresAt: terms.expires_at, setter: "owner" },
      null,
    );
    expect((await apply(withKey(KEY_ID, {}))).changes).toEqual([]);
    expect((await apply(withKey(KEY_ID, terms))).changes).toEqual([]);
    const resumed = await apply(withKey(KEY_ID, { ...terms, enabled: true }));
    expect(resumed.changes).toMatchObject([{ before: { enabled: false }, after: { enabled: true } }]);
    await apply(withKey(KEY_ID, { ...terms, models: ["b"], expires_at: "2091-01-01T00:00:00Z" }));
    await apply(withKey(KEY_ID, {}));
    expect((await read()).keys[KEY_ID]).toEqual({ principal: "alice", scope: "inference" });
  });

  test("keeps what its owner has narrowed below what an admin has set, and loses what is as an admin has set it", async () => {
    const expires_at = "2091-01-01T00:00:00Z";
    await apply(withKey(KEY_ID, { secret: SECRET, models: ["a", "b"], expires_at }));
    const narrow = (change: object) =>
      harness.deps.keys.update({ id: KEY_ID }, { ...change, setter: "owner" }, null);
    await narrow({ models: ["a"] });
    await apply(withKey(KEY_ID, {}));
    expect((await read()).keys[KEY_ID]).toEqual({ principal: "alice", models: ["a"] });
    await apply(withKey(KEY_ID, { models: ["c"], expires_at }));
    await narrow({ expiresAt: "2090-01-01T00:00:00Z" });
    await apply(withKey(KEY_ID, {}));
    expect((await apply(withKey(KEY_ID, {}))).changes).toEqual([]);
    const kept = { principal: "alice", expires_at: "2090-01-01T00:00:00.000000Z" };
    expect((await read()).keys[KEY_ID]).toEqual(kept);
  });

  test("whose secret came by its SHA-256 in place of its plaintext has the present one, not a former one", async () => {
    await apply(withKey("ci", { secret: SECRET }));
    await apply(withKey("ci", { secret_sha256: sha256Hex(SECRET) }));
    expect(await apply(withKey("ci", { secret: SECRET }))).toMatchObject({ changes: [], skipped: [] });
    expect((await open(SECRET)).status).toBe(200);
  });

  test.each(["one", "two"])(
    "may not have the secret that another has by its SHA-256, %s first",
    async (first) => {
      const entries = {
        one: { principal: "alice", secret: SECRET },
        two: { principal: "alice", secret_sha256: sha256Hex(SECRET) },
      };
      const second = first === "one" ? "two" : "one";
      const keys = first === "one" ? entries : { two: entries.two, one: entries.one };
      const field = second === "one" ? "secret" : "secret_sha256";
      await expectRefused({ ...alice, keys }, { code: "invalid_request", param: `keys.${second}.${field}` });
    },
  );

  const REFUSED: readonly (readonly [what: string, key: object, code: string, field: string])[] = [
    ["a secret of another form", { secret: "sk-short-secret" }, "invalid_request", "secret"],
    ["a SHA-256 that is none", { secret_sha256: "A".repeat(64) }, "invalid_request", "secret_sha256"],
    [
      "a secret beside a SHA-256",
      { secret: SECRET, secret_sha256: sha256Hex(SECRET) },
      "invalid_request",
      "secret_sha256",
    ],
    ["an expiry that is no date", { secret: SECRET, expires_at: "soon" }, "invalid_expiry", "expires_at"],
    ["models that are no list", { secret: SECRET, models: "a" }, "invalid_models", "models"],
    ["a label with a line end", { secret: SECRET, label: "a\nb" }, "invalid_label", "label"],
    ["tags that are none", { secret: SECRET, tags: ["team"] }, "invalid_tags", "tags"],
    ["a scope that is none", { secret: SECRET, scope: "all" }, "invalid_request", "scope"],
    [
      "an owner who is not there",
      { secret: SECRET, principal: "alicia" },
      "principal_not_found",
      "principal",
    ],
  ];
  test.each(REFUSED)("with %s is refused by its place in the file", async (_, key, code, field) => {
    await expectRefused(withKey("ci", key), { code, param: `keys.ci.${field}` });
  });

  test("may not have the secret of another key, be it stored or in the file, nor another owner", async () => {
    const two = { principal: "alice", secret: SECRET };
    await expectRefused(
      { ...alice, keys: { one: two, two } },
      { code: "invalid_request", param: "keys.two.secret" },
    );
    await apply(withKey(KEY_ID, { secret: SECRET }));
    await expectRefused(withKey("two", two), { code: "invalid_request", param: "keys.two.secret" });
    await expectRefused(
      { keys: { [KEY_ID]: { principal: "admin" } } },
      { code: "invalid_request", param: `keys.${KEY_ID}.principal` },
    );
  });

  test("whose place would repeat a secret is refused without its name", async () => {
    const answer = await post({ keys: { [SECRET]: { principal: "admin" } } });
    expect(await answer.clone().text()).not.toContain(SECRET);
    await expectError(answer, "400 invalid_name", "keys");
  });
});

describe("a limit of a file", () => {
  const limit = { measure: "requests", amount: 5, window: "day" };

  test("that differs goes on as the same limit, with what was used of it", async () => {
    await apply({ limits: { all: limit } });
    const ids = async () => (await (await call(harness, "GET", "/admin/v1/limits")).json()).limits;
    const [before] = await ids();
    const { changes } = await apply({ limits: { all: { ...limit, amount: 8, action: "warn" } } });
    expect(changes).toEqual([
      {
        action: "update",
        kind: "limit",
        name: "all",
        before: { amount: 5, action: "refuse" },
        after: { amount: 8, action: "warn" },
      },
    ]);
    expect(await ids()).toMatchObject([{ id: before.id, amount: 8, action: "warn" }]);
  });

  test("that differs in what it counts is refused by the field, since its use would not be what it says", async () => {
    const counted = { ...limit, subject: { tag: "team:a" } };
    await apply({ limits: { all: counted } });
    const cases: readonly (readonly [object, string])[] = [
      [{ subject: { tag: "team:b" } }, "subject"],
      [{ subject: { tag: "team:a", model: "m" } }, "subject.model"],
      [{ each: "principal" }, "each"],
      [{ fixed: true }, "fixed"],
      [{ measure: "tokens" }, "measure"],
    ];
    for (const [change, field] of cases)
      await expectRefused(
        { limits: { all: { ...counted, ...change } } },
        { code: "limit_exists", param: `limits.all.${field}` },
      );
  });

  test("of a key that neither the file nor the installation has is refused, with the one that was meant", async () => {
    const keys = { laptop: { principal: "admin", secret: SECRET } };
    const limits = { l: { ...limit, subject: { key: "latop" } } };
    const refusal = ["404 key_not_found", "limits.l.subject.key"] as const;
    expect(await expectError(await post({ keys, limits }), ...refusal)).toContain("`laptop`");
  });
});

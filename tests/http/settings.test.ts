import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { UnreachableError } from "#kernel/errors.ts";
import { startApp, type TestApp } from "../support/app.ts";
import { isOnPostgres } from "../support/engine.ts";
import { measureStored } from "../support/stored.ts";
import { createCaller, openSession, startHarness, type Harness } from "./support.ts";

describe("what an installation is", () => {
  let app: TestApp;
  beforeEach(async () => {
    app = await startApp({ usageRetentionDays: 90 });
  });
  afterEach(() => app.stop());

  test("is told to admins with the sizes of what is stored and of the journal, and without a secret or a path", async () => {
    // What is being written meanwhile lets them grow.
    const before = await measureStored(app.dataDir);
    const text = await (await app.api("GET", "/admin/v1/settings")).text();
    const told = JSON.parse(text);
    const after = await measureStored(app.dataDir);
    for (const name of ["catalog_bytes", "usage_bytes"] as const) {
      expect(before[name]).toBeGreaterThan(0);
      expect(told.storage[name]).toBeWithin(before[name], after[name] + 1);
    }
    const folder = join(app.dataDir, isOnPostgres ? "spool" : "journal");
    const files = readdirSync(folder).map((name) => statSync(join(folder, name)).size);
    expect(told.storage.journal_bytes).toBe(files.reduce((sum, bytes) => sum + bytes, 0));
    expect(told.storage.journal_bytes).toBeGreaterThan(0);
    expect(told).toMatchObject({
      version: "0.1.0",
      commit: null,
      usage_retention_days: 90,
      sso_enabled: false,
      password_enabled: true,
      sessions: [],
    });
    for (const hidden of [app.dataDir, app.adminPassword, "token_hash"]) expect(text).not.toContain(hidden);
  });
});

test("a database that cannot be reached is told in one sentence, and by no line of the log for each request", async () => {
  const measure = () =>
    Promise.reject(
      new UnreachableError("PostgreSQL cannot be reached (refused).", {
        code: "refused",
        mayBeCommitted: false,
      }),
    );
  const installation = { usageRetentionDays: null, sessionTtlSeconds: 1, measure };
  const harness = await startHarness({ installation });
  try {
    const authorization = `Bearer ${harness.adminKey}`;
    const response = await fetch(`${harness.url}/admin/v1/settings`, { headers: { authorization } });
    expect(response.status).toBe(500);
    const { error } = (await response.json()) as { error: object };
    expect(error).toMatchObject({
      code: "internal_error",
      message: "The database cannot be reached. Try again.",
    });
    expect(harness.logLines.join("")).not.toContain("a request failed");
  } finally {
    await harness.stop();
  }
});

describe("who is signed in", () => {
  let harness: Harness;
  beforeEach(async () => {
    harness = await startHarness();
  });
  afterEach(() => harness.stop());

  const ask = async (path: string, headers: Record<string, string>, method = "GET") => {
    const response = await fetch(harness.url + path, {
      method,
      headers: { ...headers, ...(method === "POST" && { origin: harness.url }) },
    });
    const body = await response.text();
    return { status: response.status, body: JSON.parse(body) };
  };

  test("is told by person to admins, and of one's own browsers to oneself, the one that asks marked and expired ones left out", async () => {
    const grace = await createCaller(harness, "grace");
    const linus = await createCaller(harness, "linus");
    const cookie = await openSession(harness, grace.principal);
    await openSession(harness, grace.principal);
    await openSession(harness, grace.principal, 0);
    await openSession(harness, linus.principal);
    const own = await ask("/my/sessions", { cookie });
    expect(own.body.sessions.map(({ current }: { current: boolean }) => current).toSorted()).toEqual([
      false,
      true,
    ]);
    const all = await ask("/admin/v1/settings", { authorization: `Bearer ${harness.adminKey}` });
    const counts = all.body.sessions.map((one: { principal: string; sessions: number }) => [
      one.principal,
      one.sessions,
    ]);
    expect(new Map(counts)).toEqual(
      new Map([
        ["grace", 2],
        ["linus", 1],
      ]),
    );
    expect(JSON.stringify(all.body)).not.toContain("hash");
  });

  test("and ends all of one's own but the one that asks; another person's go on", async () => {
    const grace = await createCaller(harness, "grace");
    const linus = await createCaller(harness, "linus");
    const cookie = await openSession(harness, grace.principal);
    const elsewhere = await openSession(harness, grace.principal);
    const other = await openSession(harness, linus.principal);
    expect(await ask("/my/sessions/revoke-others", { cookie }, "POST")).toEqual({
      status: 200,
      body: { revoked: 1 },
    });
    expect((await ask("/my/sessions", { cookie: elsewhere })).status).toBe(401);
    expect((await ask("/my/sessions", { cookie })).body.sessions).toHaveLength(1);
    expect((await ask("/my/sessions", { cookie: other })).status).toBe(200);
    // A key has no session of its own: it ends them all.
    expect(
      (await ask("/my/sessions/revoke-others", { authorization: `Bearer ${grace.key}` }, "POST")).body,
    ).toEqual({ revoked: 1 });
    expect((await ask("/my/sessions", { cookie })).status).toBe(401);
  });
});

import { expect, test } from "bun:test";
import { ProxyError } from "#kernel/errors.ts";
import type { KeyUse } from "#identity/key-use.ts";
import { call, startHarness, type Harness } from "./support.ts";

/** A ledger that refuses to tell when keys were used, or does not answer at all. */
const LEDGERS: readonly (readonly [string, KeyUse["lastUsed"]])[] = [
  ["refuses", () => Promise.reject(new ProxyError("reports_busy", "Too many reports are being made."))],
  ["is silent", () => new Promise(() => {})],
];

test.each(LEDGERS)(
  "a key or token that was changed is answered with, its new secret told, though the ledger %s",
  async (_, lastUsed) => {
    const harness = await startHarness({ keyUse: { touch: () => undefined, lastUsed } });
    try {
      await Promise.all([
        changeKey(harness, "/my/keys"),
        changeKey(harness, "/admin/v1/keys"),
        pauseToken(harness),
      ]);
    } finally {
      await harness.stop();
    }
  },
);

async function changeKey(harness: Harness, path: string): Promise<void> {
  const { id, key: former } = await (await call(harness, "POST", "/my/keys", { body: {} })).json();
  const changed = await call(harness, "PATCH", `${path}/${id}`, { body: { label: "other" } });
  expect(changed.status).toBe(200);
  expect(await changed.json()).toMatchObject({ id, label: "other", last_used_at: null });
  const rotated = await call(harness, "POST", `${path}/${id}/rotate`);
  expect(rotated.status).toBe(200);
  const { key } = await rotated.json();
  const statusOf = async (secret: string) =>
    (await call(harness, "GET", "/admin/v1/models", { headers: { authorization: `Bearer ${secret}` } }))
      .status;
  expect([await statusOf(former), await statusOf(key)]).toEqual([401, 200]);
}

async function pauseToken(harness: Harness): Promise<void> {
  const { id } = await (await call(harness, "POST", "/my/relay-tokens", { body: {} })).json();
  for (const path of ["/my/relay-tokens", "/admin/v1/relay-tokens"]) {
    const paused = await call(harness, "PATCH", `${path}/${id}`, { body: { enabled: false } });
    expect(paused.status).toBe(200);
    expect(await paused.json()).toMatchObject({ id, enabled: false });
  }
}

import { describe, expect, test } from "bun:test";
import { KeyNotices } from "#notices/notices.ts";
import type { NoticeDraft } from "#notices/notice.ts";
import type { ExpiringSecret, ExpiryRange, Telling } from "#notices/store.ts";
import { makeFolder } from "../support/folder.ts";
import { createSetClock, startWorld } from "../limits/world.ts";
import { startWebhook } from "./webhook.ts";

const DAY_US = 86_400_000_000;
const NOW_US = 20_000 * DAY_US;
const key = (id: string, more: Partial<ExpiringSecret> = {}): ExpiringSecret => ({
  kind: "api_key",
  id,
  label: "laptop",
  principalName: "ada",
  expiresAtUs: NOW_US + 7 * DAY_US,
  ...more,
});

function createWorld(secrets: readonly ExpiringSecret[]) {
  let nowUs = NOW_US;
  const told: (NoticeDraft & Omit<Telling, "notice">)[] = [];
  const store = {
    listExpiring: async ({ afterUs, untilUs }: ExpiryRange) =>
      secrets.filter(({ expiresAtUs }) => expiresAtUs > afterUs && expiresAtUs <= untilUs),
  };
  const notices = new KeyNotices({
    store,
    clock: { nowUs: () => nowUs, monotonicMs: () => 0 },
    tell: (draft, once) => void told.push({ ...draft, ...once }),
  });
  return {
    told,
    look: () => notices.look(),
    set: (days: number) => void (nowUs = NOW_US + days * DAY_US),
    names: () => told.map(({ facts, mark }) => `${JSON.stringify(facts["days_before"])}: ${mark?.name}`),
  };
}

describe("a key that expires is told of", () => {
  test("7 days and 1 day before, each once, and not after its end", async () => {
    const endUs = NOW_US + 7 * DAY_US;
    const world = createWorld([key("k", { expiresAtUs: endUs + 1 })]);
    await world.look();
    expect(world.told).toEqual([]);
    for (const day of [0.1, 0.2, 5.9, 6.1, 6.5, 6.99, 7.1]) {
      world.set(day);
      await world.look();
    }
    expect(world.names()).toEqual([`7: key.expiring k ${endUs + 1} 7`, `1: key.expiring k ${endUs + 1} 1`]);
    expect(world.told[0]).toMatchObject({
      type: "key.expiring",
      text: 'The API key "laptop" of "ada" expires at 2024-10-11T00:00:00Z, in 7 days or less.',
      facts: { key: { kind: "api_key", id: "k", label: "laptop", principal: "ada" }, days_before: 7 },
    });
    expect(world.told[1]!.text).toEndWith(", in a day or less.");
  });

  test("once where a server was down for the first time, and then for the nearest end alone", async () => {
    const world = createWorld([
      key("k", { kind: "relay_token", label: "", expiresAtUs: NOW_US + DAY_US / 2 }),
    ]);
    await world.look();
    expect(world.told).toHaveLength(1);
    expect(world.told[0]).toMatchObject({
      text: 'The relay token of "ada" expires at 2024-10-04T12:00:00Z, in a day or less.',
      alsoMarks: [{ name: `key.expiring k ${NOW_US + DAY_US / 2} 7` }],
    });
  });

  test("at once where it is made within its warning time, for the nearest end alone, and again a day before", async () => {
    const world = createWorld([
      key("three days", { expiresAtUs: NOW_US + 3 * DAY_US }),
      key("an hour", { expiresAtUs: NOW_US + DAY_US / 24 }),
    ]);
    const [threeDays, hour] = [NOW_US + 3 * DAY_US, NOW_US + DAY_US / 24];
    await world.look();
    expect(world.names()).toEqual([
      `7: key.expiring three days ${threeDays} 7`,
      `1: key.expiring an hour ${hour} 1`,
    ]);
    world.set(2.5);
    await world.look();
    await world.look();
    expect(world.names().slice(2)).toEqual([`1: key.expiring three days ${threeDays} 1`]);
  });

  test("again when it got another end", async () => {
    const secrets = [key("k")];
    const world = createWorld(secrets);
    await world.look();
    secrets[0] = key("k", { expiresAtUs: NOW_US + 6 * DAY_US });
    await world.look();
    expect(world.told).toHaveLength(2);
  });

  test("through a server once, also across restarts, with no part of its secret", async () => {
    const folder = makeFolder();
    const webhook = await startWebhook();
    const clock = createSetClock("2026-11-01T00:00:00Z");
    const options = { clock, dataDir: folder.path, webhookUrl: webhook.url };
    const first = await startWorld(options);
    const body = { principal: "admin", label: "ci", expires_at: "2026-11-20T00:00:00Z" };
    const made: any = await (await first.admin("POST", "/keys", body)).json();
    await first.admin("POST", "/keys", { ...body, label: "far", expires_at: "2026-12-20T00:00:00Z" });
    await first.stop();
    for (const day of ["2026-11-14", "2026-11-15", "2026-11-16"]) {
      clock.set(`${day}T00:00:00Z`);
      const world = await startWorld(options);
      await webhook.received(1);
      while (!/^proxy_notices_waiting 0$/m.test(await (await fetch(`${world.app.url}/metrics`)).text()));
      await world.stop();
    }
    expect(webhook.notices).toHaveLength(1);
    expect(webhook.notices[0]).toMatchObject({
      type: "key.expiring",
      key: { kind: "api_key", id: made.id, label: "ci", principal: "admin" },
    });
    expect(JSON.stringify(webhook.notices)).not.toContain(made.key);
    expect(JSON.stringify(webhook.notices)).not.toContain(made.key.slice(-6));
    await webhook.stop();
    folder.remove();
  }, 30_000);
});

import { Database } from "bun:sqlite";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect } from "bun:test";
import type { Actor } from "#audit/event.ts";
import type { Catalog } from "#catalog/catalog.ts";
import { createCatalog } from "#catalog/catalog.ts";
import type { CatalogStore } from "#catalog/store.ts";
import type { Clock } from "#kernel/clock.ts";
import { type SecretBox, createKeyring } from "#kernel/crypto.ts";
import { ProxyError } from "#kernel/errors.ts";
import type { Ids } from "#kernel/ids.ts";
import { createLog } from "#kernel/log.ts";
import { openCatalogDatabase } from "#storage/sqlite/catalog/catalog-database.ts";

export const ADMIN: Actor = { principalId: "admin-1" };

export interface TestCatalog {
  readonly catalog: Catalog;
  readonly store: CatalogStore;
  readonly secrets: SecretBox;
  /** Behind every change so far. */
  nowUs(): number;
  /** Sets the clock forward to this moment. */
  goTo(us: number): void;
  /** Runs a statement on the file behind the store's back. */
  tamper(sql: string): void;
  /** Oldest first, as `action target`. */
  audited(): Promise<readonly string[]>;
  /** Everything that a refusal must leave as it was. */
  state(): Promise<unknown>;
  /** Warnings and errors. */
  logged(): readonly unknown[];
  close(): Promise<void>;
}

/** The real store in a folder of its own; only the clock and the ids are fakes. */
export async function openTestCatalog(): Promise<TestCatalog> {
  const folder = mkdtempSync(join(tmpdir(), "catalog-test-"));
  const secrets = createKeyring(new Uint8Array(32).fill(1));
  const clock = createTestClock();
  const lines: string[] = [];
  const log = createLog({
    level: "warn",
    json: true,
    write: (line) => void lines.push(line),
    timestamp: () => "",
  });
  const options = { path: join(folder, "catalog.db"), secrets, clock, log };
  const database = await openCatalogDatabase(options);
  const audited = async () => {
    const { rows } = await database.audit.listEvents({ limit: 500, offset: 0 });
    return rows.toReversed().map((event) => `${event.action} ${event.targetRef}`);
  };
  return {
    catalog: createCatalog({ store: database.catalog, secrets, clock, ids: createTestIds() }),
    store: database.catalog,
    logged: () => lines.map((line) => JSON.parse(line)),
    secrets,
    nowUs: () => clock.nowUs(),
    goTo: (us) => clock.goTo(us),
    tamper(sql) {
      using file = new Database(options.path);
      file.run(sql);
    },
    audited,
    async state() {
      const { providers, models, prices, variantRows, feed, schedules } = await database.catalog.snapshot();
      const rows = { providers, models, prices, variantRows, feed, schedules };
      return structuredClone({ ...rows, audited: await audited() });
    },
    async close() {
      await database.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Each reading is a microsecond later than the one before, so that orders by time can be told. */
function createTestClock(): Clock & { goTo(us: number): void } {
  let us = 1_700_000_000_000_000;
  return { nowUs: () => (us += 1), monotonicMs: () => us / 1000, goTo: (to) => void (us = to) };
}

function createTestIds(): Ids {
  let count = 0;
  return {
    uuid: () => `id-${String((count += 1)).padStart(6, "0")}`,
    randomBytes: (sizeBytes) => new Uint8Array(sizeBytes).fill((count += 1)),
  };
}

export interface Refusal {
  readonly code: string;
  readonly param: string | null;
  readonly message: string;
}

/** The refusal of a call; fails when it is not refused. */
export async function refusalOf(call: () => unknown): Promise<Refusal> {
  try {
    await call();
  } catch (error) {
    if (error instanceof ProxyError) return { code: error.code, param: error.param, message: error.message };
    throw error;
  }
  throw new Error("the call was not refused");
}

/** The call is refused so, and nothing of it is left behind, in the catalog or in the audit log. */
export async function expectRefused(
  test: TestCatalog,
  call: () => unknown,
  refusal: { readonly code: string; readonly param: string | null },
): Promise<Refusal> {
  const before = await test.state();
  const given = await refusalOf(call);
  expect({ code: given.code, param: given.param }).toEqual(refusal);
  expect(await test.state()).toEqual(before);
  return given;
}

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { AuditEntry } from "#audit/event.ts";
import type { Model } from "#catalog/model.ts";
import { PROVIDER_SETTINGS } from "#catalog/provider-fields.ts";
import { toDefaults } from "#kernel/fields.ts";
import type { Provider } from "#catalog/provider.ts";
import type { CatalogPicture } from "#catalog/snapshot.ts";
import type { CatalogWrite } from "#catalog/store.ts";
import { type NewSecret, NO_TERMS } from "#identity/secret.ts";
import type { Principal } from "#identity/principal.ts";
import type { Clock } from "#kernel/clock.ts";
import { ProxyError } from "#kernel/errors.ts";
import { createKeyring, type Keyring } from "#kernel/crypto.ts";
import { createLog } from "#kernel/log.ts";
import type { NewLimit } from "#limits/store.ts";
import type { CatalogDriver } from "#storage/catalog/catalog-driver.ts";
import type { CatalogStores, LedgerReader, ServeOptions, Storage } from "#storage/engine.ts";
import type { Attempts } from "../support/invariants.ts";

export const START_US = 1_700_000_000_000_000;
export const PAGE = { limit: 500, offset: 0 };
/** The time that a report waits for what has ended to be committed: a busy machine may take longer. */
export const FLUSH_WAIT_MS_MAX = 500;
/** A keyring of its own for each opening, as processes have. */
export const toSecrets = () => createKeyring(new Uint8Array(32).fill(1));

export const silentLog = createLog({ level: "error", json: true, write: () => {}, timestamp: () => "" });

export interface FakeClock extends Clock {
  advanceMs(ms: number): void;
}

export function createFakeClock(): FakeClock {
  let elapsedMs = 0;
  return {
    nowUs: () => START_US + elapsedMs * 1000,
    monotonicMs: () => elapsedMs,
    advanceMs(ms) {
      elapsedMs += ms;
    },
  };
}

export interface TempDir extends Disposable {
  readonly path: string;
}

export function createTempDir(): TempDir {
  const path = mkdtempSync(join(tmpdir(), "lockport-storage-"));
  return { path, [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }) };
}

export interface OpenedCatalog extends CatalogStores, Pick<CatalogDriver, "change"> {
  close(): Promise<void>;
}

/** A catalog under test, which several connections may have open, as several processes would. */
export interface CatalogEngine extends AsyncDisposable {
  readonly clock: FakeClock;
  /** Another connection to the catalog, as a process has it. */
  open(options?: { readonly secrets?: Keyring }): Promise<OpenedCatalog>;
  /** Rows like the first, of a key or a relay token; where that is quicker than to make one after the other. */
  copySecrets?(first: NewSecret, copies: readonly NewSecret[]): Promise<void>;
}

/** Writes to the catalog, unaudited. */
export function put(
  { catalog }: Pick<CatalogStores, "catalog">,
  ...writes: readonly CatalogWrite[]
): Promise<CatalogPicture> {
  return catalog.change(() => ({ writes, audit: [], result: (after) => after }));
}

/** All data of an engine under test. */
export type Engine = CatalogEngine & LedgerEngine;

/** A ledger under test, and a data folder of its own. */
export interface LedgerEngine extends AsyncDisposable {
  readonly dataDir: string;
  /** True where what is committed stays in the journal for a while, for a database that is put back to an earlier state. */
  readonly keepsCommitted: boolean;
  /** The one server of the data. */
  serve(options?: Partial<ServeOptions>): Promise<Storage>;
  openReader(): Promise<LedgerReader>;
  /** A process that does this to the ledger until it is killed: see `engines/child.ts`. */
  spawn(
    task: "record" | "settle" | "reprice",
    ...words: readonly (string | number)[]
  ): Promise<Bun.Subprocess<"ignore", "pipe", "inherit">>;
  /** Asserts the invariants of the ledger, and returns its events. */
  checkLedger(attempts?: Attempts): Promise<readonly RecordedEvent[]>;
}

/** Where `engines/child.ts` finds the data. */
export type ChildPlace = Pick<ServeOptions, "dataDir" | "database">;

export function spawnLedger(place: ChildPlace, task: string, words: readonly (string | number)[]) {
  const script = join(import.meta.dir, "engines/child.ts");
  return Bun.spawn({
    cmd: [process.execPath, "--no-env-file", script, JSON.stringify(place), task, ...words.map(String)],
    stdin: "ignore",
    stdout: "pipe",
    stderr: "inherit",
  });
}

/** The columns that the checker reads of each event that is recorded. */
export interface RecordedEvent {
  readonly id: number;
  readonly outcome: string;
  readonly error_kind: string | null;
  readonly status_code: number;
  readonly cost_lo: number | null;
  readonly other_units: string | null;
}

export const AUDIT: AuditEntry = {
  actorPrincipalId: "principal-root",
  action: "principal.create",
  targetKind: "principal",
  targetRef: "principal-x",
};

export function principal(name: string, changes: Partial<Principal> = {}): Principal {
  return {
    id: `principal-${name}`,
    name,
    kind: "user",
    role: "member",
    enabled: true,
    createdAtUs: START_US,
    tags: [],
    ...changes,
  };
}

export function apiKey(name: string, principalId: string, changes: Partial<NewSecret> = {}): NewSecret {
  return {
    id: `key-${name}`,
    principalId,
    hash: `hash-${name}`,
    suffix: "abcd",
    label: name,
    createdAtUs: START_US,
    terms: NO_TERMS,
    tags: [],
    ...changes,
  };
}

export function relayToken(name: string, principalId: string, changes: Partial<NewSecret> = {}): NewSecret {
  return { ...apiKey(name, principalId), id: `token-${name}`, ...changes };
}

export function provider(name: string, changes: Partial<Provider> = {}): Provider {
  return {
    id: `provider-${name}`,
    name,
    wireFormat: "openai",
    baseUrl: `https://${name}.example/v1`,
    endpoints: {},
    sealedCredential: null,
    credentialSetAtUs: null,
    formerCredential: null,
    formerSetAtUs: null,
    formerUntilUs: null,
    ...toDefaults(PROVIDER_SETTINGS),
    enabled: true,
    createdAtUs: START_US,
    ...changes,
  };
}

export function boundModel(alias: string, providerId: string, changes: Partial<Model> = {}): Model {
  return {
    id: `model-${alias}`,
    alias,
    route: {
      kind: "binding",
      providerId,
      upstreamName: `upstream-${alias}`,
      capabilities: ["chat", "chat_stream"],
    },
    origin: "declared",
    hidden: false,
    createdAtUs: START_US,
    ...changes,
  };
}

export function nameFor(alias: string, targetId: string): Model {
  return { ...boundModel(alias, "unused"), route: { kind: "name", targetId } };
}

export function newLimit(name: string, changes: Partial<NewLimit> = {}): NewLimit {
  return {
    id: `limit-${name}`,
    name,
    subject: { kind: "everybody" },
    model: null,
    each: null,
    measure: "requests",
    amount: 5n,
    window: "day",
    action: "refuse",
    unpriced: "allow",
    unknownMax: null,
    fixed: false,
    enabled: true,
    createdAtUs: START_US,
    ...changes,
  };
}

/** Attempts a change again for as long as it has waited too long, on a busy machine: what was refused so changed nothing. */
export async function insist<Result>(attempt: () => Promise<Result>): Promise<Result> {
  for (;;) {
    try {
      return await attempt();
    } catch (cause) {
      if (!(cause instanceof ProxyError && cause.message.includes("nothing was changed"))) throw cause;
    }
  }
}

/** The code of the refusal, or `bug` for any other failure, or null when it was fulfilled. */
export async function codeOf(attempt: Promise<unknown>): Promise<string | null> {
  try {
    await attempt;
    return null;
  } catch (cause) {
    return cause instanceof Error && "code" in cause && cause.name === "ProxyError"
      ? String(cause.code)
      : "bug";
  }
}

const CHILD = join(import.meta.dir, "child.ts");

/** Starts another process on the file; see `child.ts` for what it does. */
export function spawnChild(command: "open" | "as-nobody", path: string) {
  return Bun.spawn([process.execPath, CHILD, command, path], {
    stdin: "pipe",
    stdout: "pipe",
    stderr: "inherit",
  });
}

export async function runChild(command: "as-nobody", path: string): Promise<string> {
  const child = spawnChild(command, path);
  await child.stdin.end();
  const output = await child.stdout.text();
  await child.exited;
  return output.trim();
}

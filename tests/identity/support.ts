import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Actor, AuditStore } from "#audit/event.ts";
import {
  type Authenticator,
  createAuthenticator,
  createRelayAuthenticator,
  type RelayAuthenticator,
} from "#identity/caller.ts";
import type { KeyUse } from "#identity/key-use.ts";
import { createKeys, type Keys, type OwnedSecrets, createOwnedSecrets } from "#identity/keys.ts";
import { createKeyUse } from "#identity/key-use.ts";
import { type Principals, createPrincipals } from "#identity/principals.ts";
import { createPasswordPrint, type PasswordPrint } from "#identity/password.ts";
import { type Peer, toPeer } from "#identity/peer.ts";
import { createSignInLog, type SignInLog } from "#identity/sign-in-log.ts";
import type { SessionsDeps } from "#identity/sessions.ts";
import { createUsedStates } from "#identity/sso-state.ts";
import type { IdentityStore, KeyUseStore } from "#identity/store.ts";
import type { Clock, InstantUs } from "#kernel/clock.ts";
import { createKeyring } from "#kernel/crypto.ts";
import { ProxyError } from "#kernel/errors.ts";
import { createSystemIds } from "#kernel/ids.ts";
import { createLog } from "#kernel/log.ts";
import { openTestStores } from "../support/catalog-stores.ts";

export const ADMIN: Actor = { principalId: "admin-1" };
export const ALL = { limit: 500, offset: 0 };
/** Who signs in, where it makes no difference. */
export const PEER: Peer = toPeer("192.0.2.1");
export const PASSWORD = "correct horse battery";
export const SESSION_TTL_SECONDS = 3600;

export interface TestClock extends Clock {
  advance(durationMs: number): void;
}

export function createTestClock(): TestClock {
  let us = 1_700_000_000_000_000;
  return {
    nowUs: () => us,
    monotonicMs: () => us / 1000,
    advance: (durationMs) => {
      us += Math.round(durationMs * 1000);
    },
  };
}

/** Records the values that are handed over, and nothing on disk: the ledger that keeps it has tests of its own. */
export interface RecordedKeyUse extends KeyUseStore {
  readonly saved: (readonly [id: string, atUs: InstantUs])[];
}

export function createRecordedKeyUse(): RecordedKeyUse {
  const saved: (readonly [string, InstantUs])[] = [];
  return {
    saved,
    saveLastUsed: (id, atUs) => void saved.push([id, atUs]),
    loadLastUsed: async (ids) => new Map(saved.filter(([id]) => ids.includes(id))),
  };
}

export interface TestIdentity {
  readonly store: IdentityStore;
  readonly audit: AuditStore;
  readonly clock: TestClock;
  readonly principals: Principals;
  readonly keys: Keys;
  readonly relayTokens: OwnedSecrets;
  readonly relayAuthenticator: RelayAuthenticator;
  readonly keyUse: KeyUse;
  readonly keyUseStore: RecordedKeyUse;
  readonly authenticator: Authenticator;
  /** Another process on the same data. */
  restartAuthenticator(): Authenticator;
  readonly sessions: SessionsDeps;
  readonly signIns: SignInLog;
  /** The logged lines of sign-ins, as JSON. */
  readonly logged: readonly string[];
  readonly passwordPrint: PasswordPrint;
  /** The password in force; `PASSWORD` at first. */
  setPassword(password: string): void;
  readonly path: string;
  /** Oldest first, as `action kind target`. */
  audited(): Promise<readonly string[]>;
  close(): Promise<void>;
}

export async function openTestIdentity(): Promise<TestIdentity> {
  const folder = mkdtempSync(join(tmpdir(), "identity-test-"));
  const path = join(folder, "catalog.db");
  const secrets = createKeyring(new Uint8Array(32).fill(1));
  const clock = createTestClock();
  const ids = createSystemIds();
  const log = createLog({ level: "error", json: true, write: () => {}, timestamp: () => "" });
  let password = PASSWORD;
  const passwordPrint = createPasswordPrint(() => password, secrets);
  const logged: string[] = [];
  const write = (line: string) => void logged.push(line);
  const signInLog = createLog({ level: "info", json: true, write, timestamp: () => "" });
  const database = await openTestStores(path, { secrets, clock, log });
  const store = database.identity;
  const keyUseStore = createRecordedKeyUse();
  const keyUse = createKeyUse(keyUseStore, clock);
  const signIns = createSignInLog(signInLog, clock);
  const usedStates = createUsedStates(clock);
  const createOne = () =>
    createAuthenticator({ store, keyUse, secrets, clock, passwordPrint, signIns, usedStates });
  return {
    store,
    audit: database.audit,
    clock,
    principals: createPrincipals({ store, clock, ids }),
    keys: createKeys({ store, secrets, clock, ids }),
    relayTokens: createOwnedSecrets("relayTokens", { store, secrets, clock, ids }),
    relayAuthenticator: createRelayAuthenticator({ store, keyUse, secrets, clock }),
    keyUse,
    keyUseStore,
    authenticator: createOne(),
    restartAuthenticator: createOne,
    sessions: { store, secrets, clock, ids, sessionTtlSeconds: SESSION_TTL_SECONDS },
    signIns,
    logged,
    passwordPrint,
    setPassword: (next) => void (password = next),
    path,
    async audited() {
      const { rows } = await database.audit.listEvents(ALL);
      return rows.toReversed().map((event) => `${event.action} ${event.targetKind} ${event.targetRef}`);
    },
    async close() {
      await database.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** `code` or `code param` of what a call is refused with; fails when it is not refused. */
export async function refusalOf(call: () => unknown): Promise<string> {
  try {
    await call();
  } catch (error) {
    if (error instanceof ProxyError)
      return error.param === null ? error.code : `${error.code} ${error.param}`;
    throw error;
  }
  throw new Error("the call was not refused");
}

import { LOCAL_ACTOR, toAuditEntry } from "#audit/event.ts";
import { openCredential, sealCredential } from "#catalog/provider.ts";
import { FORMER_SECRETS_MAX, type SecretBox } from "#kernel/crypto.ts";
import { ProxyError, SetupError } from "#kernel/errors.ts";
import type { Keyring, SecretState } from "#kernel/keyring.ts";
import type { Log } from "#kernel/log.ts";
import { SECRET_KEY_NAME } from "#storage/files/data-files.ts";
import { insert, select, update } from "#storage/sql/rows.ts";
import { all, run, type Script } from "#storage/sql/script.ts";
import type { RecordAudit } from "./audit.ts";
import { changed } from "./change.ts";
import { type ProviderRow, toProvider } from "./catalog-rows.ts";
import { meta, providers } from "./tables.ts";
import { UnreadableRowError } from "./unreadable.ts";

const CHECK_VALUE_KEY = "secret_check";
/** JSON array of base64; absent when no secret was ever rotated. */
const FORMER_TOKEN_KEYS_KEY = "former_token_keys";
/** The rows of `meta` that tell of secrets; a state is written by replacing both. */
const OF_SECRETS = `WHERE key IN ('${CHECK_VALUE_KEY}', '${FORMER_TOKEN_KEYS_KEY}')`;

/** Null when the catalog was made with no secret. */
export function* readSecretState(): Script<SecretState | null> {
  const rows = yield* select(meta, OF_SECRETS);
  const values = new Map(rows.map(({ key, value }) => [key, value]));
  const checkValue = values.get(CHECK_VALUE_KEY);
  if (checkValue === undefined) return null;
  const keys: unknown = JSON.parse(values.get(FORMER_TOKEN_KEYS_KEY) ?? "[]");
  const texts = Array.isArray(keys) ? keys.filter((key) => typeof key === "string") : [];
  return { checkValue, sealedTokenKeys: texts.map((text) => Buffer.from(text, "base64")) };
}

/**
 * Compares the secret of this process with the one that the catalog was made with, and takes over its former ones; a catalog
 * without one takes it. Of processes that start at once with different ones, one succeeds. Throws a SetupError for another
 * secret.
 */
export function* requireOwnSecret(secrets: Keyring, database: string): Script<void> {
  const state = (yield* readSecretState()) ?? (yield* leaveSecret(secrets));
  if (state !== null && secrets.follow(state)) return;
  throw new SetupError(
    "configuration",
    `The secret key is not the one that ${database} was made with: put the original secret.key or PROXY_SECRET_KEY back.`,
  );
}

function* leaveSecret({ checkValue }: Keyring): Script<SecretState | null> {
  yield* run("INSERT INTO meta (key, value) VALUES (?, ?) ON CONFLICT (key) DO NOTHING", [
    CHECK_VALUE_KEY,
    checkValue,
  ]);
  return yield* readSecretState();
}

/** After a change of another process, which may have rotated the secret key, or put the catalog back. */
export function followSecrets(state: SecretState | null, secrets: Keyring, log: Log): void {
  const wasPresent = secrets.isPresent;
  if (state === null || (wasPresent && state.checkValue === secrets.checkValue)) return;
  if (secrets.follow(state))
    log.info(
      wasPresent
        ? "the secret key was rotated: the new one is in use"
        : "the secret key of the catalog is this server's again",
    );
  else if (wasPresent)
    log.error(
      "the catalog has another secret key than this server, and stored credentials do not open: it was rotated, or put back to before a rotation; put its key into PROXY_SECRET_KEY or secret.key and start again",
    );
}

/**
 * To be asked under the catalog's lock before anything is sealed: what is sealed by a former secret key could not be opened any
 * more. Throws `internal_error` when the catalog's was not found.
 */
export function requireSecretPresent({ isPresent }: Pick<Keyring, "isPresent">): void {
  if (isPresent) return;
  throw new ProxyError(
    "internal_error",
    "The secret key was rotated and this server does not have the new one: nothing was changed. Start it again with the new one.",
  );
}

export interface SecretRotation {
  readonly secrets: Keyring;
  readonly next: SecretBox;
  /** Deletes all API keys and relay tokens as well, and forgets former secrets. */
  readonly revokesKeys: boolean;
}

/** Makes `next` the catalog's secret, as one change (`StorageEngine.rotateSecret`). */
export function* rotateSecret(
  { secrets, next, revokesKeys }: SecretRotation,
  recordAudit: RecordAudit,
): Script<{ credentials: number; sessions: number; revokedKeys: number }> {
  requirePresent(yield* readSecretState(), secrets);
  const state = toNextState({ secrets, next }, revokesKeys);
  const credentials = yield* resealCredentials({ secrets, next });
  const sessions = yield* run("DELETE FROM sessions");
  yield* run("DELETE FROM login_links");
  const revokedKeys = revokesKeys ? yield* revokeSecrets(recordAudit) : 0;
  yield* writeSecretState(state);
  yield* recordAudit([
    toAuditEntry(LOCAL_ACTOR, {
      action: "secret_key.rotate",
      targetKind: "secret_key",
      targetRef: SECRET_KEY_NAME,
    }),
  ]);
  for (const kind of ["secret", "catalog", "session"] as const) yield* changed(kind, null);
  return { credentials, sessions, revokedKeys };
}

/** Throws a SetupError unless the catalog's secret is still the one that `secrets` holds. */
function requirePresent(state: SecretState | null, secrets: Keyring): void {
  if (state?.checkValue === secrets.checkValue && secrets.follow(state)) return;
  throw new SetupError(
    "failure",
    "Another command has rotated the secret key meanwhile: nothing was changed by this one.",
  );
}

type Boxes = Pick<SecretRotation, "next"> & { readonly secrets: SecretBox };

/** What the catalog holds of secrets after the rotation. Throws a SetupError for too many former ones. */
function toNextState({ secrets, next }: Boxes, revokesKeys: boolean): SecretState {
  const sealedTokenKeys = revokesKeys ? [] : secrets.sealTokenKeys(next);
  if (sealedTokenKeys.length <= FORMER_SECRETS_MAX) return { checkValue: next.checkValue, sealedTokenKeys };
  throw new SetupError(
    "failure",
    `Keys are verified by ${FORMER_SECRETS_MAX} former secrets already: rotate with --revoke-keys, and have new keys made.`,
  );
}

function* writeSecretState({ checkValue, sealedTokenKeys }: SecretState): Script<void> {
  const keys = sealedTokenKeys.map((key) => Buffer.from(key).toString("base64"));
  yield* run(`DELETE FROM meta ${OF_SECRETS}`);
  yield* insert(meta, [
    { key: CHECK_VALUE_KEY, value: checkValue },
    ...(keys.length === 0 ? [] : [{ key: FORMER_TOKEN_KEYS_KEY, value: JSON.stringify(keys) }]),
  ]);
}

/** Returns how many providers have a credential. */
function* resealCredentials(boxes: Boxes): Script<number> {
  const rows = yield* select(providers, "WHERE sealed_credential IS NOT NULL");
  for (const row of rows)
    yield* update(providers, { sealedCredential: resealCredential(boxes, row) }, "id = ?", [row.id]);
  return rows.length;
}

/** Throws a SetupError for a credential that does not open: the former secret key is its last chance. */
function resealCredential({ secrets, next }: Boxes, row: ProviderRow): Uint8Array | null {
  try {
    const provider = toProvider(row);
    const apiKey = openCredential(secrets, provider);
    return apiKey === null ? null : sealCredential(next, provider, apiKey);
  } catch (cause) {
    if (cause instanceof UnreadableRowError)
      throw new SetupError(
        "failure",
        `Nothing was rotated: ${cause.message}. Correct or delete the row.`,
        cause,
      );
    if (!(cause instanceof ProxyError)) throw cause;
    throw new SetupError("failure", `Nothing was rotated. ${cause.message}`, cause);
  }
}

const REVOKED = [
  { table: "api_keys", kind: "key", action: "key.delete", targetKind: "api_key" },
  { table: "relay_tokens", kind: "relay_token", action: "relay_token.delete", targetKind: "relay_token" },
] as const;

/** Returns how many API keys and relay tokens there were. Their limits go with them: ON DELETE CASCADE. */
function* revokeSecrets(recordAudit: RecordAudit): Script<number> {
  let count = 0;
  for (const { table, kind, action, targetKind } of REVOKED) {
    const rows = yield* all<{ id: string }>(`DELETE FROM ${table} RETURNING id`);
    yield* recordAudit(
      rows.map(({ id }) => toAuditEntry(LOCAL_ACTOR, { action, targetKind, targetRef: id })),
    );
    yield* changed(kind, null);
    count += rows.length;
  }
  yield* changed("limit", null);
  return count;
}

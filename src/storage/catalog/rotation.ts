import { LOCAL_ACTOR, toAuditEntry } from "#audit/event.ts";
import { openCredential, resealFormer, sealCredential } from "#catalog/provider.ts";
import { FORMER_SECRETS_MAX, type SecretBox, type Keyring, type SecretState } from "#kernel/crypto.ts";
import { ProxyError, SetupError } from "#kernel/errors.ts";
import { SECRET_KEY_NAME } from "#storage/files/data-files.ts";
import { select, update } from "#storage/sql/rows.ts";
import { run, type Script } from "#storage/sql/script.ts";
import { recordAudit } from "./audit.ts";
import { changed } from "./change.ts";
import { readSecretState, writeSecretState } from "./secret-state.ts";
import { toListedSecret } from "./catalog-rows.ts";
import { selectListed, toSecretChange } from "./secrets.ts";
import { apiKeys, providers, type ProviderValues, relayTokens } from "./tables.ts";
import { listReadable } from "./unreadable.ts";

export interface SecretRotation {
  readonly secrets: Keyring;
  readonly next: SecretBox;
  /** Deletes all API keys and relay tokens as well, and forgets former secrets. */
  readonly revokesKeys: boolean;
}

/** The counts of what a rotation has changed. */
export interface Rotation {
  /** Credentials of providers that were sealed anew. */
  readonly credentials: number;
  /** Sessions that were ended. */
  readonly sessions: number;
  /** API keys and relay tokens that were deleted. */
  readonly revokedKeys: number;
}

/** Makes `next` the catalog's secret, as one change (`StorageEngine.rotateSecret`). */
export function* rotateSecret({ secrets, next, revokesKeys }: SecretRotation): Script<Rotation> {
  requirePresent(yield* readSecretState(), secrets);
  const state = toNextState({ secrets, next }, revokesKeys);
  const credentials = yield* resealCredentials({ secrets, next });
  const sessions = yield* run("DELETE FROM sessions");
  yield* run("DELETE FROM login_links");
  const revokedKeys = revokesKeys ? yield* revokeSecrets() : 0;
  yield* writeSecretState(state);
  yield* recordAudit([
    toAuditEntry(LOCAL_ACTOR, {
      action: "secret_key.rotate",
      targetKind: "secret_key",
      targetRef: SECRET_KEY_NAME,
    }),
  ]);
  for (const kind of ["secret", "catalog"] as const) yield* changed(kind, null);
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

/** The catalog's state of secrets after the rotation. Throws a SetupError for too many former ones. */
function toNextState({ secrets, next }: Boxes, revokesKeys: boolean): SecretState {
  const sealedTokenKeys = revokesKeys ? [] : secrets.sealTokenKeys(next);
  if (sealedTokenKeys.length <= FORMER_SECRETS_MAX) return { checkValue: next.checkValue, sealedTokenKeys };
  throw new SetupError(
    "failure",
    `Keys are verified by ${FORMER_SECRETS_MAX} former secrets already: rotate with --revoke-keys, and have new keys made.`,
  );
}

/** Returns how many providers have a credential. */
function* resealCredentials(boxes: Boxes): Script<number> {
  const rows = yield* select(
    providers,
    "WHERE sealed_credential IS NOT NULL OR former_credential IS NOT NULL",
  );
  const readable = listReadable(providers, rows, ({ table, id, column }) => {
    throw new SetupError(
      "failure",
      `Nothing was rotated: ${table} ${id}: ${column} cannot be read. Correct or delete the row.`,
    );
  });
  for (const row of readable) {
    const sealed = { sealedCredential: resealCredential(boxes, row), ...resealFormer(boxes, row) };
    yield* update(providers, sealed, "id = ?", [row.id]);
  }
  return rows.filter(({ sealedCredential }) => sealedCredential !== null).length;
}

/** Throws a SetupError for a credential that does not open: the former secret key is its last chance. */
function resealCredential({ secrets, next }: Boxes, provider: ProviderValues): Uint8Array | null {
  try {
    const apiKey = openCredential(secrets, provider);
    return apiKey === null ? null : sealCredential(next, provider, apiKey);
  } catch (cause) {
    if (!(cause instanceof ProxyError)) throw cause;
    throw new SetupError("failure", `Nothing was rotated. ${cause.message}`, cause);
  }
}

const REVOKED = [
  { table: apiKeys, kind: "key", action: "key.delete", targetKind: "api_key" },
  { table: relayTokens, kind: "relay_token", action: "relay_token.delete", targetKind: "relay_token" },
] as const;

/** Returns how many API keys and relay tokens there were. Their limits go with them: ON DELETE CASCADE. */
function* revokeSecrets(): Script<number> {
  let count = 0;
  for (const { table, kind, action, targetKind } of REVOKED) {
    const rows = yield* selectListed(table, `ORDER BY ${table.name}.created_at_us, ${table.name}.id`, []);
    yield* run(`DELETE FROM ${table.name}`);
    yield* recordAudit(
      rows.map((row) => {
        const { id, change } = toSecretChange(toListedSecret(row), null);
        return toAuditEntry(LOCAL_ACTOR, { action, targetKind, targetRef: id, change });
      }),
    );
    yield* changed(kind, null);
    count += rows.length;
  }
  yield* changed("limit", null);
  return count;
}

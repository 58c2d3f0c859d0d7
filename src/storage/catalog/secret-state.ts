import { ProxyError, SetupError } from "#kernel/errors.ts";
import type { Keyring, SecretState } from "#kernel/crypto.ts";
import type { Log } from "#kernel/log.ts";
import { insert, select } from "#storage/sql/rows.ts";
import { run, type Script } from "#storage/sql/script.ts";
import { meta } from "./tables.ts";

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

export function* writeSecretState({ checkValue, sealedTokenKeys }: SecretState): Script<void> {
  const keys = sealedTokenKeys.map((key) => Buffer.from(key).toString("base64"));
  yield* run(`DELETE FROM meta ${OF_SECRETS}`);
  yield* insert(meta, [
    { key: CHECK_VALUE_KEY, value: checkValue },
    ...(keys.length === 0 ? [] : [{ key: FORMER_TOKEN_KEYS_KEY, value: JSON.stringify(keys) }]),
  ]);
}

import { SetupError } from "#kernel/errors.ts";
import type { Keyring, SecretState } from "#kernel/keyring.ts";
import type { Log } from "#kernel/log.ts";
import { type MetaRow, SECRET_KEYS, toSecretRows, toSecretState } from "#storage/catalog/secret-state.ts";
import type { Sql } from "#storage/postgres/connection/sql.ts";
import { createRowWriter } from "./rows.ts";
import { meta } from "./schema.ts";

const writeMeta = createRowWriter(meta);

/** Null when the catalog was made with no secret. */
export async function readSecretState(sql: Sql): Promise<SecretState | null> {
  const rows = await sql.all<MetaRow>("SELECT key, value FROM meta WHERE key = ANY($1::text[])", [
    SECRET_KEYS,
  ]);
  return toSecretState(rows);
}

/** Within a transaction that holds the catalog's lock. */
export async function writeSecretState(sql: Sql, state: SecretState): Promise<void> {
  await sql.run("DELETE FROM meta WHERE key = ANY($1::text[])", [SECRET_KEYS]);
  await writeMeta(sql, toSecretRows(state));
}

/**
 * Compares the secret of this process with the one that the catalog was made with; a catalog without one takes it. Of
 * replicas that start at once with different ones, one succeeds. Throws a SetupError for another secret.
 */
export async function requireOwnSecret(sql: Sql, secrets: Keyring): Promise<void> {
  for (const { key, value } of toSecretRows({ checkValue: secrets.checkValue, sealedTokenKeys: [] }))
    await sql.run("INSERT INTO meta (key, value) VALUES ($1, $2) ON CONFLICT (key) DO NOTHING", [key, value]);
  const state = await readSecretState(sql);
  if (state !== null && secrets.follow(state)) return;
  throw new SetupError(
    "configuration",
    "The secret key is not the one that the database was made with: put the original PROXY_SECRET_KEY or secret.key back.",
  );
}

/** After a change of another process, which may have rotated the secret key. */
export function followSecrets(state: SecretState | null, secrets: Keyring, log: Log): void {
  if (state === null || state.checkValue === secrets.checkValue) return;
  if (secrets.follow(state)) log.info("the secret key was rotated: the new one is in use");
  else
    log.error(
      "the secret key was rotated and the new one was not found: put it into PROXY_SECRET_KEY or secret.key and start again",
    );
}

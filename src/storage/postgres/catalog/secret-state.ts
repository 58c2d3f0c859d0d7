import { ProxyError, SetupError } from "#kernel/errors.ts";
import type { Keyring, SecretState } from "#kernel/keyring.ts";
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
 * Compares the secret of this process with the one that the catalog was made with, and takes over its former ones; a catalog
 * without one takes it. Of replicas that start at once with different ones, one succeeds. Throws a SetupError for another secret.
 */
export async function requireOwnSecret(sql: Sql, secrets: Keyring): Promise<void> {
  const state = (await readSecretState(sql)) ?? (await leaveSecret(sql, secrets));
  if (state !== null && secrets.follow(state)) return;
  throw new SetupError(
    "configuration",
    "The secret key is not the one that the database was made with: put the original PROXY_SECRET_KEY or secret.key back.",
  );
}

async function leaveSecret(sql: Sql, { checkValue }: Keyring): Promise<SecretState | null> {
  for (const { key, value } of toSecretRows({ checkValue, sealedTokenKeys: [] }))
    await sql.run("INSERT INTO meta (key, value) VALUES ($1, $2) ON CONFLICT (key) DO NOTHING", [key, value]);
  return readSecretState(sql);
}

/**
 * Under the catalog's lock, before anything is sealed: another replica may have rotated the secret key a moment ago, and what
 * is sealed by the former one could not be opened any more. Throws `internal_error` when the present one is not found.
 */
export async function followPresentSecret(sql: Sql, secrets: Keyring): Promise<void> {
  const state = await readSecretState(sql);
  if (state === null || state.checkValue === secrets.checkValue || secrets.follow(state)) return;
  throw new ProxyError(
    "internal_error",
    "The secret key was rotated and this server does not have the new one: nothing was changed. Start it again with the new one.",
  );
}

import type { Database } from "bun:sqlite";
import type { SecretState } from "#kernel/keyring.ts";
import { type MetaRow, SECRET_KEYS, toSecretRows, toSecretState } from "#storage/catalog/secret-state.ts";

const PLACES = SECRET_KEYS.map(() => "?").join(", ");

/** Null when the catalog was made with no secret. */
export function readSecretState(client: Database): SecretState | null {
  const read = client.query<MetaRow, string[]>(`SELECT key, value FROM meta WHERE key IN (${PLACES})`);
  return toSecretState(read.all(...SECRET_KEYS));
}

export function writeSecretState(client: Database, state: SecretState): void {
  client.query<unknown, string[]>(`DELETE FROM meta WHERE key IN (${PLACES})`).run(...SECRET_KEYS);
  const insert = client.query<unknown, [string, string]>("INSERT INTO meta (key, value) VALUES (?, ?)");
  for (const { key, value } of toSecretRows(state)) insert.run(key, value);
}

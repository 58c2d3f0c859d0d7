import type { Database } from "bun:sqlite";
import type { SecretState } from "#kernel/keyring.ts";

/** The rows of `meta` that tell of secrets. */
const CHECK_VALUE_KEY = "secret_check";
/** JSON array of base64; absent when no secret was ever rotated. */
const FORMER_TOKEN_KEYS_KEY = "former_token_keys";

const READ = "SELECT value FROM meta WHERE key = ?";
const WRITE =
  "INSERT INTO meta (key, value) VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value";

/** Null when the catalog was made with no secret. */
export function readSecretState(client: Database): SecretState | null {
  const read = client.query<{ value: string }, [string]>(READ);
  const checkValue = read.get(CHECK_VALUE_KEY)?.value;
  if (checkValue === undefined) return null;
  const keys: unknown = JSON.parse(read.get(FORMER_TOKEN_KEYS_KEY)?.value ?? "[]");
  const texts = Array.isArray(keys) ? keys.filter((key) => typeof key === "string") : [];
  return { checkValue, sealedTokenKeys: texts.map((text) => Buffer.from(text, "base64")) };
}

export function writeSecretState(client: Database, { checkValue, sealedTokenKeys }: SecretState): void {
  const keys = sealedTokenKeys.map((key) => Buffer.from(key).toString("base64"));
  const write = client.query<unknown, [string, string]>(WRITE);
  write.run(CHECK_VALUE_KEY, checkValue);
  if (keys.length > 0) write.run(FORMER_TOKEN_KEYS_KEY, JSON.stringify(keys));
  else client.query<unknown, [string]>("DELETE FROM meta WHERE key = ?").run(FORMER_TOKEN_KEYS_KEY);
}

import type { SecretState } from "#kernel/keyring.ts";

/** A row of `meta`. */
export interface MetaRow {
  readonly key: string;
  readonly value: string;
}

const CHECK_VALUE_KEY = "secret_check";
/** JSON array of base64; absent when no secret was ever rotated. */
const FORMER_TOKEN_KEYS_KEY = "former_token_keys";

/** The rows of `meta` that tell of secrets; a state is written by replacing all of them. */
export const SECRET_KEYS = [CHECK_VALUE_KEY, FORMER_TOKEN_KEYS_KEY] as const;

/** Null when the catalog was made with no secret. */
export function toSecretState(rows: readonly MetaRow[]): SecretState | null {
  const values = new Map(rows.map(({ key, value }) => [key, value]));
  const checkValue = values.get(CHECK_VALUE_KEY);
  if (checkValue === undefined) return null;
  const keys: unknown = JSON.parse(values.get(FORMER_TOKEN_KEYS_KEY) ?? "[]");
  const texts = Array.isArray(keys) ? keys.filter((key) => typeof key === "string") : [];
  return { checkValue, sealedTokenKeys: texts.map((text) => Buffer.from(text, "base64")) };
}

export function toSecretRows({ checkValue, sealedTokenKeys }: SecretState): readonly MetaRow[] {
  const keys = sealedTokenKeys.map((key) => Buffer.from(key).toString("base64"));
  const check = { key: CHECK_VALUE_KEY, value: checkValue };
  return keys.length === 0 ? [check] : [check, { key: FORMER_TOKEN_KEYS_KEY, value: JSON.stringify(keys) }];
}

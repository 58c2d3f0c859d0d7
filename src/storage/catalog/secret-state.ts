import type { Keyring, SecretState } from "#kernel/keyring.ts";
import type { Log } from "#kernel/log.ts";

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

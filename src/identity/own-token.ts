import { API_KEY_PREFIX, RELAY_TOKEN_PREFIX, SECRET_LENGTH } from "./secret.ts";

const OWN_TOKEN = new RegExp(`(?:${API_KEY_PREFIX}|${RELAY_TOKEN_PREFIX})[0-9A-Za-z]{${SECRET_LENGTH}}`);

/**
 * Whether a text holds what looks like an API key or a relay token of this server, living or not: neither is ever sent
 * upstream or stored (specification, section 2.7). It is told by its form alone, without asking the store.
 */
export function containsOwnToken(text: string): boolean {
  return OWN_TOKEN.test(text);
}

import { formatInstant, type InstantUs } from "#kernel/clock.ts";
import type { SecretBox } from "#kernel/crypto.ts";
import { type ErrorCode, ProxyError } from "#kernel/errors.ts";
import { sha256Hex } from "#kernel/crypto.ts";
import { toDigestText } from "./secret.ts";
import type { FoundSecret, SecretStore } from "./store.ts";

/** The plaintext of a key or a relay token that a request brings: the secret that it belongs to, and the refusal of one that has ended. */

export interface SecretSearch {
  readonly store: Pick<SecretStore, "findByHash" | "peekByHash">;
  readonly secrets: SecretBox;
}

/** The secret with this plaintext, if memory tells; null when the store has to be asked. */
export function peekSecret({ store, secrets }: SecretSearch, plaintext: string): FoundSecret | null {
  const known = store.peekByHash(secrets.hashToken(plaintext));
  if (known !== null) return known;
  for (const hash of listOtherHashes(secrets, plaintext)) {
    const other = store.peekByHash(hash);
    if (other !== null) return other;
  }
  return null;
}

/** Everything that a plaintext may be stored under, first what a new secret is stored under. */
export function listHashes(secrets: SecretBox, plaintext: string): readonly string[] {
  return [secrets.hashToken(plaintext), ...listOtherHashes(secrets, plaintext)];
}

/** By former secret keys, and as a secret that a file has only the SHA-256 of. One at a time: most are found before the last. */
function* listOtherHashes(secrets: SecretBox, plaintext: string): Generator<string> {
  yield* secrets.formerHashes(plaintext);
  const digest = toDigestText(sha256Hex(plaintext));
  yield secrets.hashToken(digest);
  yield* secrets.formerHashes(digest);
}

/**
 * The secret with this plaintext, and its owner; null when there is none. It is stored under the hash of the secret key that
 * was in use when it was made. The store notices a rotation when it is asked: then the look-up is made once more.
 */
export async function findSecret(
  { store, secrets }: SecretSearch,
  plaintext: string,
): Promise<FoundSecret | null> {
  for (;;) {
    const { generation } = secrets;
    for (const hash of listHashes(secrets, plaintext)) {
      const found = await store.findByHash(hash);
      if (found !== null) return found;
    }
    if (secrets.generation === generation) return null;
  }
}

/** How a secret is called, and what a request with it is refused with. */
export interface SecretWords {
  readonly noun: "API key" | "relay token";
  readonly code: ErrorCode;
  readonly unknown: () => ProxyError;
}

/**
 * The refusal of a secret whose `endsAtUs` is reached. Only the holder of the right plaintext is told more than that it is
 * not valid.
 */
export function refuseEnded(
  { secret: { terms }, formerUntilUs }: FoundSecret,
  nowUs: InstantUs,
  { noun, code, unknown }: SecretWords,
): ProxyError {
  if (formerUntilUs !== null && nowUs >= formerUntilUs) return unknown();
  const { expiresAtUs, pausedBy } = terms;
  if (expiresAtUs !== null && nowUs >= expiresAtUs) {
    return new ProxyError(
      code,
      `This ${noun} expired at ${formatInstant(expiresAtUs)}. Make another one, or set a later expiry.`,
    );
  }
  const who = pausedBy === "admin" ? "An admin" : "Its owner or an admin";
  return new ProxyError(code, `This ${noun} is paused. ${who} can resume it.`);
}

import type { SecretBox } from "#kernel/crypto.ts";
import type { FoundSecret, SecretStore } from "./store.ts";

export interface SecretSearch {
  readonly store: Pick<SecretStore, "findByHash" | "peekByHash">;
  readonly secrets: SecretBox;
}

/** The secret with this plaintext, if memory tells; null when the store has to be asked. */
export function peekSecret({ store, secrets }: SecretSearch, plaintext: string): FoundSecret | null {
  const known = store.peekByHash(secrets.hashToken(plaintext));
  if (known !== null) return known;
  for (const hash of secrets.formerHashes(plaintext)) {
    const former = store.peekByHash(hash);
    if (former !== null) return former;
  }
  return null;
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
    for (const hash of [secrets.hashToken(plaintext), ...secrets.formerHashes(plaintext)]) {
      const found = await store.findByHash(hash);
      if (found !== null) return found;
    }
    if (secrets.generation === generation) return null;
  }
}

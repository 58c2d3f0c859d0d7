import { createSecretBox, type SecretBox } from "./crypto.ts";

/** What a catalog tells of the secrets that it was and is made with. */
export interface SecretState {
  /** `SecretBox.checkValue` of the present secret. */
  readonly checkValue: string;
  /** `SecretBox.sealTokenKeys`, sealed by the present secret: the former ones, the newest first. */
  readonly sealedTokenKeys: readonly Uint8Array[];
}

/** The secret box of a process: always that of the catalog's present secret, also after another process has rotated it. */
export interface Keyring extends SecretBox {
  /** Called with what the catalog says at its opening and whenever that changes. False: no secret key that there is opens it. */
  follow(state: SecretState): boolean;
}

/** `findSecret` looks for the secret key with a check value, where the installation keeps it; null when it is not there. */
export function createKeyring(
  secret: Uint8Array,
  findSecret: (checkValue: string) => Uint8Array | null = () => null,
): Keyring {
  let own = createSecretBox(secret);
  let box = own;
  /** What was read of the catalog before a rotation is sealed by the secret before it. */
  let before: SecretBox | null = null;
  let generation = 0;
  return {
    get generation() {
      return generation;
    },
    get checkValue() {
      return own.checkValue;
    },
    follow({ checkValue, sealedTokenKeys }) {
      const isSame = checkValue === own.checkValue;
      const other = isSame ? null : findSecret(checkValue);
      if (!isSame && other === null) return false;
      const next = other === null ? own : createSecretBox(other);
      try {
        box = sealedTokenKeys.length === 0 ? next : next.withFormer(sealedTokenKeys);
      } catch {
        return false;
      }
      if (!isSame) before = own;
      own = next;
      generation += 1;
      return true;
    },
    hashToken: (token) => box.hashToken(token),
    formerHashes: (token) => box.formerHashes(token),
    sealTokenKeys: (by) => box.sealTokenKeys(by),
    withFormer: (sealed) => box.withFormer(sealed),
    seal: (plaintext, context) => box.seal(plaintext, context),
    open(sealed, context) {
      try {
        return box.open(sealed, context);
      } catch (cause) {
        if (before === null) throw cause;
        return before.open(sealed, context);
      }
    },
    openFormer: (sealed, context) => box.openFormer(sealed, context),
    sign: (value) => box.sign(value),
    verify: (signed) => box.verify(signed),
    macBackup: (sha256) => box.macBackup(sha256),
  };
}

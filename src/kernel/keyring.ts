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
  /** False once the catalog has told of a secret that was not found, until it tells of one that is. */
  readonly isPresent: boolean;
}

/** What does not open while the catalog has another secret than this process: nothing is wrong with it. */
export class OtherSecretError extends Error {
  override readonly name = "OtherSecretError";
}

/** What was read of the catalog before a rotation is opened within moments: no request keeps a credential sealed for longer. */
export const FORMER_SECRET_MS_MAX = 60_000;

/** `findSecret` looks for the secret key with a check value, where the installation keeps it; null when it is not there. `isOpening`: the catalog is read for the first time. */
export function createKeyring(
  secret: Uint8Array,
  findSecret: (checkValue: string, isOpening: boolean) => Uint8Array | null = () => null,
  monotonicMs: () => number = () => performance.now(),
): Keyring {
  let own = createSecretBox(secret);
  let box = own;
  /** What was read of the catalog before a rotation is sealed by the secret before it. */
  let former: { readonly box: SecretBox; readonly untilMs: number } | null = null;
  let generation = 0;
  let isPresent = true;
  return {
    get generation() {
      return generation;
    },
    get checkValue() {
      return own.checkValue;
    },
    get isPresent() {
      return isPresent;
    },
    follow({ checkValue, sealedTokenKeys }) {
      isPresent = false;
      const isSame = checkValue === own.checkValue;
      const other = isSame ? null : findSecret(checkValue, generation === 0);
      if (!isSame && other === null) return false;
      const next = other === null ? own : createSecretBox(other);
      try {
        box = sealedTokenKeys.length === 0 ? next : next.withFormer(sealedTokenKeys);
      } catch {
        return false;
      }
      if (!isSame) former = { box: own, untilMs: monotonicMs() + FORMER_SECRET_MS_MAX };
      own = next;
      generation += 1;
      return (isPresent = true);
    },
    hashToken: (token) => box.hashToken(token),
    formerHashes: (token) => box.formerHashes(token),
    hashResponseId: (id) => box.hashResponseId(id),
    sealTokenKeys: (by) => box.sealTokenKeys(by),
    withFormer: (sealed) => box.withFormer(sealed),
    seal: (plaintext, context) => box.seal(plaintext, context),
    open(sealed, context) {
      try {
        return box.open(sealed, context);
      } catch (cause) {
        if (!isPresent) throw new OtherSecretError();
        // A secret that was seen, and rotated for it, must not open what somebody writes into the catalog now.
        if (former !== null && monotonicMs() >= former.untilMs) former = null;
        if (former === null) throw cause;
        return former.box.open(sealed, context);
      }
    },
    sign: (value) => box.sign(value),
    verify: (signed) => box.verify(signed),
    macBackup: (sha256) => box.macBackup(sha256),
  };
}

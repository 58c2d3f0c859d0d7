/** The keys derived from the one secret of an installation, each for one purpose (HKDF-SHA256, RFC 5869, distinct labels). */
export interface SecretBox {
  /** Keyed HMAC-SHA256 of an API key or relay token, as lower-case hex: all that is stored of it. */
  hashToken(token: string): string;
  /** What the token was stored as under the secrets before this one, the newest first; mostly none. */
  formerHashes(token: string): readonly string[];
  /**
   * Keyed HMAC-SHA256 of a response's id as lower-case hex: what it is kept under, and then what it would be kept under by the
   * secrets before this one. The keys follow from the token keys, so that a rotation keeps what keys can ask for.
   */
  hashResponseId(id: string): readonly [string, ...string[]];
  /** The keys behind tokens, the newest first, sealed by another box: what a rotation hands on. */
  sealTokenKeys(by: SecretBox): readonly Uint8Array[];
  /** This box with the former token keys that another one has sealed for it. Throws as `open` does. */
  withFormer(sealedTokenKeys: readonly Uint8Array[]): SecretBox;
  /** AES-256-GCM; `context` is additional data, so that a ciphertext moved to another row does not open. */
  seal(plaintext: string, context: string): Uint8Array;
  /** Throws when the ciphertext was altered, moved or made with another key. */
  open(sealed: Uint8Array, context: string): string;
  /** `<value>.<base64url HMAC>`, for cookies and state. `value` must not be secret. */
  sign(value: string): string;
  /** The value, or null when the signature does not hold. */
  verify(signed: string): string | null;
  /** HMAC-SHA256 of a backup's digest: shows that whoever wrote the backup had the secret. */
  macBackup(sha256: Uint8Array): Uint8Array;
  /** Tells a database which secret it was made with, without telling the secret. */
  readonly checkValue: string;
  /** Differs after a rotation: what was not found under a token's hashes is to be looked for once more. */
  readonly generation: number;
}

export const SECRET_KEY_BYTES = 32;
/** The first byte of a sealed text: says what its context holds. */
const SEAL_FORMAT = 2;
const IV_BYTES = 12;
const TAG_BYTES = 16;
const HEADER_BYTES = 1 + IV_BYTES + TAG_BYTES;

/** Secrets of which the token keys are kept: each costs an unknown key one more HMAC and one more look-up (some 6 µs). */
export const FORMER_SECRETS_MAX = 16;
const TOKEN_KEY_CONTEXT = "former token key";
const RESPONSE_KEY_LABEL = "lockport response id v1";

export function createSecretBox(secret: Uint8Array): SecretBox {
  return createBox(secret, []);
}

function createBox(secret: Uint8Array, formerTokenKeys: readonly Uint8Array[]): SecretBox {
  if (secret.byteLength !== SECRET_KEY_BYTES)
    throw new RangeError(`a secret key has ${SECRET_KEY_BYTES} bytes`);
  const tokenKey = deriveKey(secret, "lockport token hash v1");
  const sealKey = deriveKey(secret, "lockport credential seal v1");
  const responseKey = deriveKey(tokenKey, RESPONSE_KEY_LABEL);
  const formerResponseKeys = formerTokenKeys.map((key) => deriveKey(key, RESPONSE_KEY_LABEL));
  const signKey = deriveKey(secret, "lockport signed value v1");
  const open = (sealed: Uint8Array, context: string): string => {
    if (sealed.byteLength < HEADER_BYTES || sealed[0] !== SEAL_FORMAT)
      throw new Error("unknown sealed format");
    const decipher = loadCiphers()
      .createDecipheriv("aes-256-gcm", sealKey, sealed.subarray(1, 1 + IV_BYTES), {
        authTagLength: TAG_BYTES,
      })
      .setAAD(Buffer.from(context, "utf8"))
      .setAuthTag(sealed.subarray(1 + IV_BYTES, HEADER_BYTES));
    return Buffer.concat([decipher.update(sealed.subarray(HEADER_BYTES)), decipher.final()]).toString("utf8");
  };
  return {
    hashToken: (token) => new Bun.CryptoHasher("sha256", tokenKey).update(token).digest("hex"),
    formerHashes: (token) => formerTokenKeys.map((key) => hmacSha256(key, token).toString("hex")),
    hashResponseId: (id) => [
      hmacSha256(responseKey, id).toString("hex"),
      ...formerResponseKeys.map((key) => hmacSha256(key, id).toString("hex")),
    ],
    sealTokenKeys: (by) =>
      [tokenKey, ...formerTokenKeys].map((key) =>
        by.seal(Buffer.from(key).toString("base64"), TOKEN_KEY_CONTEXT),
      ),
    withFormer: (sealed) =>
      createBox(
        secret,
        sealed.map((key) => Buffer.from(open(key, TOKEN_KEY_CONTEXT), "base64")),
      ),
    seal(plaintext, context) {
      const iv = crypto.getRandomValues(new Uint8Array(IV_BYTES));
      const cipher = loadCiphers()
        .createCipheriv("aes-256-gcm", sealKey, iv)
        .setAAD(Buffer.from(context, "utf8"));
      const body = Buffer.concat([cipher.update(plaintext, "utf8"), cipher.final()]);
      return Buffer.concat([Uint8Array.of(SEAL_FORMAT), iv, cipher.getAuthTag(), body]);
    },
    open,
    sign: (value) => `${value}.${hmacSha256(signKey, value).toString("base64url")}`,
    verify(signed) {
      const dot = signed.lastIndexOf(".");
      if (dot < 0) return null;
      const value = signed.slice(0, dot);
      const expected = hmacSha256(signKey, value).toString("base64url");
      return equalsConstantTime(signed.slice(dot + 1), expected) ? value : null;
    },
    macBackup: (sha256) => hmacSha256(deriveKey(secret, "lockport backup mac v1"), sha256),
    checkValue: deriveKey(secret, "lockport check value v1").toString("hex"),
    generation: 0,
  };
}

/** Compares two texts without telling by its duration where they differ, nor how long the expected one is. */
export function equalsConstantTime(given: string, expected: string): boolean {
  const givenDigest = new Bun.CryptoHasher("sha256").update(given).digest();
  const expectedDigest = new Bun.CryptoHasher("sha256").update(expected).digest();
  return crypto.timingSafeEqual(givenDigest, expectedDigest);
}

/** SHA-256 as lower-case hex. For high-entropy values and file hashes only, never for a password. */
export function sha256Hex(bytes: string | Uint8Array): string {
  return new Bun.CryptoHasher("sha256").update(bytes).digest("hex");
}

/** Measured at 0.28 µs against 31 µs for WebCrypto: it runs on every request. */
function hmacSha256(key: Uint8Array, text: string | Uint8Array): Buffer {
  return new Bun.CryptoHasher("sha256", key).update(text).digest();
}

/** HKDF-SHA256 without a salt (RFC 5869, section 2): a key is as long as one block of its output. */
function deriveKey(secret: Uint8Array, label: string): Buffer {
  const pseudorandomKey = hmacSha256(new Uint8Array(32), secret);
  return hmacSha256(pseudorandomKey, Buffer.concat([Buffer.from(label, "utf8"), Uint8Array.of(1)]));
}

/** Loaded by the first credential: with it come the runtime's streams, 3 ms and 4 MB that no start has need of. */
function loadCiphers() {
  return process.getBuiltinModule("node:crypto");
}

/** The secrets that a catalog was and is made with. */
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

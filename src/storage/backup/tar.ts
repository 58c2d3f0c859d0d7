/** POSIX ustar (IEEE Std 1003.1, pax, "ustar Interchange Format"): blocks of 512 bytes, a header before each file. */
export const TAR_BLOCK_BYTES = 512;
/** Eleven octal digits; a larger size is written in base 256, as GNU tar and libarchive do and read. */
const OCTAL_SIZE_MAX = 8 ** 11 - 1;
const NAME = { at: 0, length: 100 } as const;
const SIZE = { at: 124, length: 12 } as const;
const CHECKSUM = { at: 148, length: 8 } as const;
const TYPE_AT = 156;
const REGULAR_FILE = 0x30;
const BASE_256_MARK = 0x80;

export interface TarHeader {
  /** At most 100 bytes of ASCII. */
  readonly name: string;
  readonly sizeBytes: number;
}

/** Only its owner may read it. */
const PRIVATE_MODE = 0o600;

/** The header of a regular file. `modifiedAtSeconds` counts from the Unix epoch. */
export function encodeTarHeader(
  { name, sizeBytes }: TarHeader,
  modifiedAtSeconds: number,
  mode: number = PRIVATE_MODE,
): Buffer {
  const block = Buffer.alloc(TAR_BLOCK_BYTES);
  block.write(name, NAME.at, NAME.length, "latin1");
  block.write(`${toOctal(mode, 7)}\0`, 100, "latin1");
  block.write("0000000\0", 108, "latin1");
  block.write("0000000\0", 116, "latin1");
  writeSize(block, sizeBytes);
  block.write(`${toOctal(modifiedAtSeconds, 11)} `, 136, "latin1");
  block[TYPE_AT] = REGULAR_FILE;
  block.write("ustar\u000000", 257, "latin1");
  block.write(`${toOctal(sumBytes(block), 6)}\0 `, CHECKSUM.at, "latin1");
  return block;
}

/** Null for the block of zeros that ends an archive. Throws a `RangeError` for what is no header of a regular file. */
export function parseTarHeader(block: Buffer): TarHeader | null {
  if (block.every((byte) => byte === 0)) return null;
  const sum = Number.parseInt(block.toString("latin1", CHECKSUM.at, CHECKSUM.at + CHECKSUM.length), 8);
  if (sum !== sumBytes(block)) throw new RangeError("a header whose checksum does not hold");
  if (block[TYPE_AT] !== REGULAR_FILE) throw new RangeError("an entry that is no regular file");
  const name = block.toString("latin1", NAME.at, NAME.at + NAME.length).replace(/\0.*$/s, "");
  return { name, sizeBytes: readSize(block) };
}

/** Zeros that fill the last block of a file. */
export function tarPaddingBytes(sizeBytes: number): number {
  return (TAR_BLOCK_BYTES - (sizeBytes % TAR_BLOCK_BYTES)) % TAR_BLOCK_BYTES;
}

function writeSize(block: Buffer, sizeBytes: number): void {
  if (sizeBytes <= OCTAL_SIZE_MAX) {
    block.write(`${toOctal(sizeBytes, 11)} `, SIZE.at, "latin1");
    return;
  }
  block[SIZE.at] = BASE_256_MARK;
  block.writeBigUInt64BE(BigInt(sizeBytes), SIZE.at + 4);
}

function readSize(block: Buffer): number {
  const size =
    block[SIZE.at] === BASE_256_MARK
      ? Number(block.readBigUInt64BE(SIZE.at + 4))
      : Number.parseInt(block.toString("latin1", SIZE.at, SIZE.at + SIZE.length), 8);
  if (!Number.isSafeInteger(size) || size < 0) throw new RangeError("an entry without a size");
  return size;
}

/** The sum of all bytes, those of the checksum's own field counted as blanks. */
function sumBytes(block: Buffer): number {
  let sum = 0;
  for (const [at, byte] of block.entries()) {
    sum += at >= CHECKSUM.at && at < CHECKSUM.at + CHECKSUM.length ? 0x20 : byte;
  }
  return sum;
}

function toOctal(value: number, digits: number): string {
  return value.toString(8).padStart(digits, "0");
}

const SPACE = 0x20;
const COLON = 0x3a;

/** Whether the line has this field: its name ends with a colon or with the line. */
export function isField(name: Uint8Array, bytes: Uint8Array, from: number, to: number): boolean {
  const nameEnd = from + name.length;
  return startsWith(name, bytes, from, to) && (nameEnd === to || bytes[nameEnd] === COLON);
}

/** Where the value of a field begins whose name ends at `nameEnd`. */
export function findValue(bytes: Uint8Array, nameEnd: number, to: number): number {
  const from = Math.min(nameEnd + 1, to);
  return from < to && bytes[from] === SPACE ? from + 1 : from;
}

export function startsWith(prefix: Uint8Array, bytes: Uint8Array, from: number, to: number): boolean {
  if (to - from < prefix.length) return false;
  for (let index = 0; index < prefix.length; index += 1)
    if (bytes[from + index] !== prefix[index]) return false;
  return true;
}

/** Whether the bytes are this text and ASCII. */
export function isText(text: string, bytes: Uint8Array, from: number, to: number): boolean {
  if (to - from !== text.length) return false;
  for (let index = 0; index < text.length; index += 1) {
    const byte = bytes[from + index] ?? 0;
    if (byte > 0x7f || byte !== text.charCodeAt(index)) return false;
  }
  return true;
}

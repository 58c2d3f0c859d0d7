/** Rules for names (specification, sections 2.3, 2.4 and 2.8). Lengths count code points. */
export const NAME_PATTERN = /^[a-z0-9][a-z0-9._-]*$/;
export const NAME_LENGTH_MAX = 120;
export const ALIAS_PATTERN = /^[A-Za-z0-9][A-Za-z0-9._:/-]*$/;
export const ALIAS_LENGTH_MAX = 200;
export const UPSTREAM_NAME_LENGTH_MAX = 200;
export const LABEL_LENGTH_MAX = 120;

export function codePointLength(text: string): number {
  let length = 0;
  for (const _ of text) length += 1;
  return length;
}

/** The first `lengthMax` code points; never cuts a surrogate pair in two. */
export function truncateCodePoints(text: string, lengthMax: number): string {
  if (text.length <= lengthMax) return text;
  let length = 0;
  let end = 0;
  for (const character of text) {
    if (length === lengthMax) break;
    length += 1;
    end += character.length;
  }
  return text.slice(0, end);
}

/** C0 and C1 controls and DEL: refused in names that later become header values or terminal output. */
export function hasControlCharacter(text: string): boolean {
  for (let index = 0; index < text.length; index += 1) {
    const code = text.charCodeAt(index);
    if (code < 0x20 || (code >= 0x7f && code <= 0x9f)) return true;
  }
  return false;
}

export function isName(text: string): boolean {
  return NAME_PATTERN.test(text) && codePointLength(text) <= NAME_LENGTH_MAX;
}

/** `1 change`, `3 changes`: for a noun whose plural has an s. */
export function toCounted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
}

/** Orders by UTF-16 code unit, the one order of every list (decisions, "Reports"); SQLite's BINARY agrees on ASCII names. */
export function compareCodeUnits(left: string, right: string): number {
  return left < right ? -1 : left > right ? 1 : 0;
}

/**
 * Percent-encodes the UTF-8 bytes of what is not printable ASCII, and blanks at the ends: a field value is ASCII, and does
 * not begin or end with a blank (RFC 9110, section 5.5).
 */
export function toFieldValue(name: string): string {
  const text = name.replaceAll(/^ +| +$/g, (blanks) => "%20".repeat(blanks.length));
  if (/^[\x20-\x7e]*$/.test(text)) return text;
  let value = "";
  for (const byte of Buffer.from(text)) {
    value +=
      byte >= 0x20 && byte <= 0x7e
        ? String.fromCharCode(byte)
        : `%${byte.toString(16).toUpperCase().padStart(2, "0")}`;
  }
  return value;
}

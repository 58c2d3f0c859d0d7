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

import { truncateCodePoints } from "#kernel/text.ts";
import { CLIENT_LENGTH_MAX } from "./event.ts";

/** The stored client: a User-Agent as it came, cut to 256 code points; null when there was none (specification, section 2.10). */
export function toClient(userAgent: string | null): string | null {
  if (userAgent === null || userAgent === "") return null;
  return truncateCodePoints(isAscii(userAgent) ? userAgent : decode(userAgent), CLIENT_LENGTH_MAX);
}

function isAscii(text: string): boolean {
  return /^[\0-\x7f]*$/.test(text);
}

/** A header arrives as one character per byte (RFC 9110, section 5.5): bytes that are UTF-8 were meant as such. */
function decode(text: string): string {
  if (!/^[\0-\xff]*$/.test(text)) return text;
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(Buffer.from(text, "latin1"));
  } catch {
    return text;
  }
}

import { truncateCodePoints } from "#kernel/text.ts";
import { CLIENT_LENGTH_MAX } from "./event.ts";

/** The stored client: a User-Agent as it came, cut to 256 code points; null when there was none (specification, section 2.10). */
export function toClient(userAgent: string | null): string | null {
  if (userAgent === null || userAgent === "") return null;
  return truncateCodePoints(userAgent, CLIENT_LENGTH_MAX);
}

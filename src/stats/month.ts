import { DAY_US, type InstantUs, parseInstant } from "#kernel/clock.ts";
import { ProxyError } from "#kernel/errors.ts";

/** A month, UTC. */
export interface Month {
  /** `2026-03`. */
  readonly name: string;
  readonly sinceUs: InstantUs;
  readonly untilUs: InstantUs;
}

/** The query parameter `month`: the present one when absent or empty; throws `invalid_date`. */
export function parseMonth(text: string | null, nowUs: InstantUs): Month {
  const name = text || new Date(nowUs / 1000).toISOString().slice(0, 7);
  const sinceUs = /^\d{4}-\d{2}$/.test(name) ? parseInstant(`${name}-01`) : null;
  if (sinceUs === null)
    throw new ProxyError("invalid_date", "month must be a month such as 2026-03.", { param: "month" });
  const next = new Date(sinceUs / 1000);
  next.setUTCMonth(next.getUTCMonth() + 1);
  return { name, sinceUs, untilUs: next.getTime() * 1000 };
}

/** The days of a month that have begun. */
export function listDays({ sinceUs, untilUs }: Month, nowUs: InstantUs): readonly InstantUs[] {
  const endUs = Math.min(untilUs, Math.floor(nowUs / DAY_US) * DAY_US + DAY_US);
  const count = Math.max(0, (endUs - sinceUs) / DAY_US);
  return Array.from({ length: count }, (_, index) => sinceUs + index * DAY_US);
}

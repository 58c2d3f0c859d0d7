import { formatInstant, type InstantUs } from "#kernel/clock.ts";

/** So many of the newest are kept: the page tells it, too. */
export const REFUSALS_KEPT = 1_000;

/** A request that left no usage event. */
interface RefusedRow {
  readonly id: string;
  readonly arrivedAtUs: InstantUs;
  readonly code: string;
  readonly message: string | null;
  readonly principal: string | null;
  readonly keySuffix: string | null;
  readonly model: string | null;
  readonly endpoint: string | null;
  readonly client: string | null;
}

export function toRefusalView(row: RefusedRow) {
  return {
    id: row.id,
    at: formatInstant(row.arrivedAtUs),
    code: row.code,
    principal: row.principal,
    key_suffix: row.keySuffix,
    model: row.model,
    endpoint: row.endpoint,
    client: row.client,
    ...(row.message !== null && { message: row.message }),
  };
}

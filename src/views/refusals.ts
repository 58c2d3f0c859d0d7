import { formatInstant, type InstantUs } from "#kernel/clock.ts";
import type { ErrorCode } from "#kernel/errors.ts";

/** So many of the newest are kept: the page tells it, too. */
export const REFUSALS_KEPT = 1_000;

/** A request that was refused before anything went upstream, and that therefore has no usage event. */
export interface RefusedRow {
  /** The request's id, as its answer tells it (`x-proxy-request-id`). */
  readonly id: string;
  readonly arrivedAtUs: InstantUs;
  readonly code: ErrorCode;
  /** The reason in the words of the answer, which name the nearest model as well; null where they may hold a secret. */
  readonly message: string | null;
  /** The caller's name, where it is known. */
  readonly principal: string | null;
  /** The last characters of a key in the form of this server's own, good or not. */
  readonly keySuffix: string | null;
  /** The model that was asked for, where it was read. */
  readonly model: string | null;
  /** `chat`, `completions`, `embeddings`, or the path. */
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

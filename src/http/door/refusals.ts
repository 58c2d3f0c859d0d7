import type { Peer } from "#identity/peer.ts";
import { createPeerCounts } from "#identity/peer-counts.ts";
import type { Clock, InstantUs } from "#kernel/clock.ts";
import type { ErrorCode } from "#kernel/errors.ts";
import type { Log } from "#kernel/log.ts";

/** A request that was refused before anything went upstream, and that therefore has no usage event. */
export interface Refusal {
  /** The request's id, as its answer tells it (`x-proxy-request-id`). */
  readonly id: string;
  readonly arrivedAtUs: InstantUs;
  readonly code: ErrorCode;
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

/** What was refused since the process started: in memory only. */
export interface Refusals {
  /** Never throws. */
  add(refusal: Refusal, peer: Peer): void;
  /** The newest first, at most `REFUSALS_KEPT`. */
  newest(): readonly Refusal[];
  /** How many there were of each code that there was. */
  counts(): ReadonlyMap<ErrorCode, number>;
  /** Since when is counted. */
  readonly startedAtUs: InstantUs;
}

export const REFUSALS_KEPT = 200;
/** Specification's amendments: more than these of one address in one minute are a warning. */
const WRONG_CREDENTIALS_MAX = 20;

/** A credential that is wrong wherever it is sent, and not only on the data plane. Sign-ins have warnings of their own. */
const WRONG_CREDENTIALS: ReadonlySet<ErrorCode> = new Set(["invalid_api_key", "unknown_relay_token"]);
const WRONG_SIGN_INS: ReadonlySet<ErrorCode> = new Set(["wrong_password", "invalid_login_link"]);

export function isWrongCredential(code: ErrorCode): boolean {
  return WRONG_CREDENTIALS.has(code) || WRONG_SIGN_INS.has(code);
}

export function createRefusals(log: Log, clock: Clock): Refusals {
  const newest: Refusal[] = [];
  const counts = new Map<ErrorCode, number>();
  const wrong = createPeerCounts(clock);
  return {
    startedAtUs: clock.nowUs(),
    add(refusal, peer) {
      const { id, code, principal } = refusal;
      newest.push(refusal);
      if (newest.length > REFUSALS_KEPT) newest.shift();
      counts.set(code, (counts.get(code) ?? 0) + 1);
      const { address } = peer;
      // Neither the model nor the path: a log is kept, and what was put there by mistake may be content or a secret.
      log.debug("a request was refused", { code, request_id: id, principal, address });
      if (WRONG_CREDENTIALS.has(code) && wrong.add(peer) === WRONG_CREDENTIALS_MAX + 1) {
        log.warn("many wrong credentials from one address", { code, address });
      }
    },
    newest: () => newest.toReversed(),
    counts: () => counts,
  };
}

import { type Clock, DAY_US, formatInstant } from "#kernel/clock.ts";
import { type NoticeDraft, toQuotedName } from "./notice.ts";
import type { Tell } from "./outbox.ts";
import type { ExpiringSecret, NoticeStore } from "./store.ts";

/** How long before its end a key is told of, the longest first. */
const DAYS_BEFORE = [7, 1] as const;
const FIRST_DAYS = DAYS_BEFORE[0];
/** Keys, and as many relay tokens, of which one look tells; those that end later are met by a later one. */
export const EXPIRING_ROWS_MAX = 1_000;

const NOUNS = { api_key: "API key", relay_token: "relay token" } as const;

export interface KeyNoticesDeps {
  readonly store: Pick<NoticeStore, "listExpiring">;
  readonly clock: Clock;
  readonly tell: Tell;
}

/** Tells of keys and relay tokens that are about to expire. */
export class KeyNotices {
  readonly #deps: KeyNoticesDeps;
  /** What the look before has told, so that the next one writes nothing. */
  #told = new Set<string>();

  constructor(deps: KeyNoticesDeps) {
    this.#deps = deps;
  }

  async look(): Promise<void> {
    const { store, clock, tell } = this.#deps;
    const nowUs = clock.nowUs();
    const untilUs = nowUs + FIRST_DAYS * DAY_US;
    const told = new Set<string>();
    for (const secret of await store.listExpiring({ afterUs: nowUs, untilUs, rowsMax: EXPIRING_ROWS_MAX })) {
      const due = toDueDays(secret, nowUs);
      const days = due.at(-1);
      if (days === undefined) continue;
      const toMark = (of: number) => ({
        name: `key.expiring ${secret.id} ${secret.expiresAtUs} ${of}`,
        untilUs: secret.expiresAtUs,
      });
      const mark = toMark(days);
      told.add(mark.name);
      if (!this.#told.has(mark.name))
        tell(toDraft(secret, days), { mark, alsoMarks: due.slice(0, -1).map(toMark) });
    }
    this.#told = told;
  }
}

/** The days of `DAYS_BEFORE` that are past, also where they were when the key was made. */
function toDueDays({ expiresAtUs }: ExpiringSecret, nowUs: number): readonly number[] {
  return DAYS_BEFORE.filter((days) => expiresAtUs - days * DAY_US <= nowUs);
}

function toDraft(secret: ExpiringSecret, days: number): NoticeDraft {
  const { kind, id, label, principalName, expiresAtUs } = secret;
  const named = label === "" ? "" : ` ${toQuotedName(label)}`;
  const at = formatInstant(expiresAtUs);
  return {
    type: "key.expiring",
    text: `The ${NOUNS[kind]}${named} of ${toQuotedName(principalName)} expires at ${at.slice(0, 19)}Z, in ${days === 1 ? "a day" : `${days} days`} or less.`,
    facts: { key: { kind, id, label, principal: principalName, expires_at: at }, days_before: days },
  };
}

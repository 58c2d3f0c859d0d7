import { type Notice, parseNotice } from "#notices/notice.ts";
import {
  type ExpiringSecret,
  type ExpiryRange,
  NOTICE_MARKS_MAX,
  type NoticeClaims,
  type NoticeMark,
  type NoticeStore,
  type Telling,
  type WaitingNotice,
} from "#notices/store.ts";
import { count, insert, removeAnyOf, select } from "#storage/sql/rows.ts";
import { all, dialectOf, one, run, type Script } from "#storage/sql/script.ts";
import type { RowOf } from "#storage/sql/table.ts";
import type { CatalogDriver } from "./catalog-driver.ts";
import { noticeMarks, notices } from "./tables.ts";

/** Every quarter of it each replica renews its claims, and looks for notices that no replica sends. */
const CLAIM_US = 60_000_000;
/** A claim is a mark of this name with the notice's sequence behind it. */
const CLAIM = "sending ";

/** The notices. No memory holds them. */
export function createNoticeStore(driver: CatalogDriver): NoticeStore {
  return {
    put: (tellings, nowUs) => driver.aside(() => put(tellings, nowUs)),
    list: () => driver.ask(() => list()),
    remove: (sequences) => driver.aside(() => remove(sequences)),
    ...(driver.isShared && { claims: createNoticeClaims(driver) }),
    listMarks: (prefix) => driver.ask(() => listMarks(prefix)),
    sweepMarks: (nowUs) => driver.aside(() => sweepMarks(nowUs)),
    listExpiring: (range) => driver.read(() => listExpiring(range)),
  };
}

/** Claims among the marks: one statement decides between replicas. */
function createNoticeClaims(driver: CatalogDriver): NoticeClaims {
  return {
    async take(own, nowUs) {
      // Nearly always none waits: then nothing is written.
      const isAnyWaiting = await driver.ask(() => one("SELECT 1 FROM notices LIMIT 1"));
      return isAnyWaiting === null ? [] : driver.aside(() => takeClaims(own, nowUs));
    },
    release: (sequences) => driver.put(() => dropClaims(sequences)),
  };
}

function* put(tellings: readonly Telling[], nowUs: number): Script<readonly WaitingNotice[]> {
  const isShared = yield* lockNotices();
  const marks = yield* readMarks(tellings);
  const told = tellings.filter((telling) => isTold(telling, marks, nowUs)).map(({ notice }) => notice);
  const cleared = [...marks].filter(([, untilUs]) => untilUs === null).map(([name]) => name);
  yield* removeAnyOf(noticeMarks, "name", cleared);
  const waiting = yield* append(told);
  const claims = isShared ? waiting.map(({ sequence }) => toClaim(sequence, nowUs)) : [];
  const set = [...marks].flatMap(([name, untilUs]) => (untilUs === null ? [] : { name, untilUs }));
  yield* insert(noticeMarks, [...set, ...claims], { replaces: true });
  return waiting;
}

/**
 * Replicas put one after the other: a mark is set by one of them, and notices are numbered in the order of their commits.
 * Returns whether there may be several.
 */
function* lockNotices(): Script<boolean> {
  const { hasLocks } = yield* dialectOf();
  if (hasLocks) yield* run("LOCK TABLE notices IN SHARE ROW EXCLUSIVE MODE");
  return hasLocks;
}

/** Marks by name, until when each is set; null is none. */
type Marks = Map<string, number | null>;

function* readMarks(tellings: readonly Telling[]): Script<Marks> {
  const names = tellings.flatMap(({ mark, alsoMarks = [], clears }) => [
    ...(mark === null ? [] : [mark.name]),
    ...alsoMarks.map(({ name }) => name),
    ...(clears === undefined ? [] : [clears]),
  ]);
  const { isAnyOf } = yield* dialectOf();
  const rows = yield* select(noticeMarks, `WHERE ${isAnyOf("name", "text")}`, [names]);
  return new Map(rows.map(({ name, untilUs }) => [name, untilUs]));
}

/** Tells whether it was not told already; then `marks` are as they are afterwards. */
function isTold({ mark, alsoMarks = [], clears }: Telling, marks: Marks, nowUs: number): boolean {
  const isSet = ({ name }: NoticeMark) => (marks.get(name) ?? -Infinity) > nowUs;
  if (mark !== null && isSet(mark)) return false;
  if (clears !== undefined && (marks.get(clears) ?? null) === null) return false;
  for (const set of mark === null ? alsoMarks : [mark, ...alsoMarks])
    if (!isSet(set)) marks.set(set.name, set.untilUs);
  if (clears !== undefined) marks.set(clears, null);
  return true;
}

function* append(told: readonly Notice[]): Script<readonly WaitingNotice[]> {
  const { toList } = yield* dialectOf();
  const rows = yield* all<{ sequence: number }>(
    `INSERT INTO notices (body) SELECT list.value FROM ${toList("text")} ORDER BY list.key RETURNING sequence`,
    [told.map((notice) => JSON.stringify(notice))],
  );
  return told.flatMap((notice, at) => {
    const row = rows[at];
    return row === undefined ? [] : [{ sequence: row.sequence, notice }];
  });
}

function* list(): Script<readonly WaitingNotice[]> {
  return toWaiting(yield* select(notices, "ORDER BY sequence"));
}

/** The notices of these rows, in their order, without those that this version cannot read. */
function toWaiting(rows: readonly RowOf<typeof notices>[]): readonly WaitingNotice[] {
  return rows.flatMap(({ sequence, body }) => {
    const notice = parseNotice(body);
    return notice === null ? [] : [{ sequence, notice }];
  });
}

function* remove(sequences: readonly number[]): Script<void> {
  yield* removeAnyOf(notices, "sequence", sequences);
  yield* dropClaims(sequences);
}

/**
 * Renews the claims to `own`, and claims what no replica does; in the order of the notices, so that replicas that claim the
 * same ones at once do not wait for each other in a circle.
 */
function* takeClaims(own: readonly number[], nowUs: number): Script<readonly WaitingNotice[]> {
  const { isAnyOf } = yield* dialectOf();
  const isOwn = isAnyOf("sequence", "number");
  const claim = (which: string) => `INSERT INTO notice_marks (name, until_us)
    SELECT '${CLAIM}' || sequence, CAST(? AS bigint) FROM notices WHERE ${which} ORDER BY sequence
    ON CONFLICT (name) DO UPDATE SET until_us = excluded.until_us`;
  const untilUs = nowUs + CLAIM_US;
  if (own.length > 0) yield* run(claim(isOwn), [untilUs, own]);
  const taken = yield* all<{ name: string }>(
    `${claim(`NOT (${isOwn})`)} WHERE notice_marks.until_us <= ? RETURNING name`,
    [untilUs, own, nowUs],
  );
  const sequences = taken.map(({ name }) => Number(name.slice(CLAIM.length)));
  return toWaiting(yield* select(notices, `WHERE ${isOwn} ORDER BY sequence`, [sequences]));
}

function toClaim(sequence: number, nowUs: number): NoticeMark {
  return { name: CLAIM + sequence, untilUs: nowUs + CLAIM_US };
}

/** Ends the claims to notices that are gone, or that another replica may send. */
function* dropClaims(sequences: readonly number[]): Script<void> {
  yield* removeAnyOf(
    noticeMarks,
    "name",
    sequences.map((sequence) => CLAIM + sequence),
  );
}

function* listMarks(prefix: string): Script<readonly string[]> {
  const rows = yield* all<{ name: string }>(
    `SELECT name FROM notice_marks
    WHERE substr(name, 1, length(?1)) = ?1 AND substr(name, 1, ${CLAIM.length}) <> '${CLAIM}'`,
    [prefix],
  );
  return rows.map(({ name }) => name);
}

function* sweepMarks(nowUs: number): Script<void> {
  yield* lockNotices();
  yield* run("DELETE FROM notice_marks WHERE until_us <= ?", [nowUs]);
  const beyond = (yield* count(noticeMarks)) - NOTICE_MARKS_MAX;
  if (beyond > 0)
    yield* run(
      "DELETE FROM notice_marks WHERE name IN (SELECT name FROM notice_marks ORDER BY until_us LIMIT ?)",
      [beyond],
    );
}

function* listExpiring({ afterUs, untilUs, rowsMax }: ExpiryRange): Script<readonly ExpiringSecret[]> {
  const found: ExpiringSecret[] = [];
  for (const [kind, table] of [
    ["api_key", "api_keys"],
    ["relay_token", "relay_tokens"],
  ] as const) {
    const rows = yield* all<ExpiringSecret>(
      `SELECT '${kind}' AS kind, secret.id, secret.label, principals.name AS "principalName", secret.expires_at_us AS "expiresAtUs"
      FROM ${table} AS secret JOIN principals ON principals.id = secret.principal_id
      WHERE secret.expires_at_us > ? AND secret.expires_at_us <= ? AND secret.paused_by IS NULL
        AND principals.enabled = TRUE
      ORDER BY secret.expires_at_us, secret.id LIMIT ?`,
      [afterUs, untilUs, rowsMax],
    );
    found.push(...rows);
  }
  return found;
}

/** A moment on the wall clock: whole microseconds since the Unix epoch, UTC. */
export type InstantUs = number;

export const HOUR_US = 3_600_000_000;
export const DAY_US = 24 * HOUR_US;

/** Time, passed in. Durations come from `monotonicMs`, moments from `nowUs`; the two are never mixed. */
export interface Clock {
  /** Wall clock. May jump when an operator or NTP sets it. */
  nowUs(): InstantUs;
  /** Milliseconds since some fixed moment, with a fraction; never runs backwards. */
  monotonicMs(): number;
}

/** `Date.now()` counts milliseconds; beyond this difference the wall clock was set, and the microseconds are anchored again. */
const ANCHOR_DRIFT_MS_MAX = 2;

/** The machine's clock, in microseconds: the wall clock's milliseconds refined by the monotonic clock. */
export function createSystemClock(): Clock {
  let offsetMs = Date.now() - performance.now();
  return {
    nowUs() {
      const wallMs = Date.now();
      let refinedMs = performance.now() + offsetMs;
      if (Math.abs(refinedMs - wallMs) > ANCHOR_DRIFT_MS_MAX) {
        offsetMs += wallMs - refinedMs;
        refinedMs = wallMs;
      }
      return Math.round(refinedMs * 1000);
    },
    monotonicMs: () => performance.now(),
  };
}

/** The year 0000, and the last number before the year 10000: four digits tell no other instant. */
export const FIRST_INSTANT_US = Date.UTC(-1, 12, 1) * 1000;
/** So far from 1970 a number counts in steps of 32: the microsecond before midnight would be midnight. */
export const LAST_INSTANT_US = 253_402_300_799_999_968;

/**
 * `YYYY-MM-DDTHH:MM:SS.ssssssZ`, the one spelling of a timestamp on the wire (decisions, "Reports"). An instant that it
 * cannot tell, such as one that was written by hand, is the nearest that it can: one row must not take a whole list out.
 */
export function formatInstant(instantUs: InstantUs): string {
  // A value that is no number is neither above the one nor below the other: SQLite keeps a word in a column of numbers.
  const toldUs =
    instantUs > LAST_INSTANT_US
      ? LAST_INSTANT_US
      : instantUs >= FIRST_INSTANT_US
        ? instantUs
        : FIRST_INSTANT_US;
  const micros = ((toldUs % 1000) + 1000) % 1000;
  // Beyond the year 2255 not every microsecond is a number: the difference is a whole millisecond only once it is rounded.
  const wholeMs = Math.round((toldUs - micros) / 1000);
  return `${new Date(wholeMs).toISOString().slice(0, -1)}${String(micros).padStart(3, "0")}Z`;
}

const DATE = /^(?<year>\d{4})-(?<month>\d{2})-(?<day>\d{2})/;
const TIME = /^[Tt ](?<hour>\d{2}):(?<minute>\d{2})(?::(?<second>\d{2})(?:[.,](?<fraction>\d{1,20}))?)?/;
/** RFC 3339, section 5.6, and the two shorter forms of ISO 8601. An unescaped `+` arrives as a space. */
const OFFSET = /^(?:[Zz]|(?<sign>[+\- ])(?<hours>\d{2})(?::?(?<minutes>\d{2}))?)$/;

/** An offset leads beyond it; a microsecond before it may be rounded up to it. */
const YEAR_10000_US = Date.UTC(10_000, 0, 1) * 1000;

const MINUTE_US = 60_000_000;

/**
 * An ISO 8601 date, a datetime or RFC 3339 as an instant. A date is midnight UTC, a datetime without zone is UTC. Null when the
 * text is no such date, also for a day or an hour that does not exist.
 */
export function parseInstant(text: string): InstantUs | null {
  const date = DATE.exec(text);
  if (date === null) return null;
  const midnight = toMidnight(date.groups);
  if (midnight === null) return null;
  const afterDate = text.slice(date[0].length);
  if (afterDate === "") return midnight;
  const time = TIME.exec(afterDate);
  if (time === null) return null;
  const timeUs = toTimeOfDay(time.groups);
  const offsetUs = toOffset(afterDate.slice(time[0].length));
  if (timeUs === null || offsetUs === null) return null;
  const instant = midnight + timeUs - offsetUs;
  return instant >= FIRST_INSTANT_US && instant <= YEAR_10000_US ? Math.min(instant, LAST_INSTANT_US) : null;
}

type Groups = Record<string, string | undefined> | undefined;

function toMidnight(groups: Groups): InstantUs | null {
  const [year, month, day] = [numberOf(groups, "year"), numberOf(groups, "month"), numberOf(groups, "day")];
  const date = new Date(0);
  date.setUTCFullYear(year, month - 1, day);
  // Date counts a 30th of February on into March.
  if (date.getUTCMonth() !== month - 1 || date.getUTCDate() !== day) return null;
  return date.getTime() * 1000;
}

function toTimeOfDay(groups: Groups): number | null {
  const [hour, minute, second] = [
    numberOf(groups, "hour"),
    numberOf(groups, "minute"),
    numberOf(groups, "second"),
  ];
  // A leap second (RFC 3339, section 5.7) is the first instant of the next minute: the clock has no name of its own for it.
  if (hour > 23 || minute > 59 || second > 60) return null;
  return hour * HOUR_US + minute * MINUTE_US + second * 1_000_000 + toMicros(groups?.["fraction"] ?? "");
}

/** Rounded up, so that neither end of the window takes in an event of the microsecond it lies in. */
function toMicros(fraction: string): number {
  const micros = Number(fraction.slice(0, 6).padEnd(6, "0"));
  return /[1-9]/.test(fraction.slice(6)) ? micros + 1 : micros;
}

function toOffset(text: string): number | null {
  if (text === "") return 0;
  const match = OFFSET.exec(text);
  if (match === null) return null;
  const [hours, minutes] = [numberOf(match.groups, "hours"), numberOf(match.groups, "minutes")];
  if (hours > 23 || minutes > 59) return null;
  const offsetUs = hours * HOUR_US + minutes * MINUTE_US;
  return match.groups?.["sign"] === "-" ? -offsetUs : offsetUs;
}

function numberOf(groups: Groups, name: string): number {
  return Number(groups?.[name] ?? 0);
}

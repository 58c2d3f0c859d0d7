import { InvalidArgumentError } from "commander";
import { formatInstant, type InstantUs } from "#kernel/clock.ts";
import { parseInstant } from "#kernel/instant.ts";
import { toBucketIndex, toBucketStart, type Bucket } from "#stats/bucket.ts";
import { CommandError } from "#cli/screen/failure.ts";
import { suggest } from "#cli/screen/suggest.ts";

const SECONDS_PER: { readonly [unit: string]: number } = { s: 1, m: 60, h: 3600, d: 86_400 };
const AGO = /^(?<count>[0-9]{1,6})(?<unit>[smhd])$/;

/** Words for the beginning of a part of the UTC calendar: which one, counted from the present. */
const BEGINNINGS: { readonly [word: string]: readonly [bucket: Bucket, offset: number] } = {
  today: ["day", 0],
  yesterday: ["day", -1],
  "this-week": ["week", 0],
  "last-week": ["week", -1],
  "this-month": ["month", 0],
  "last-month": ["month", -1],
};
const WORDS = Object.keys(BEGINNINGS);

export const INSTANT_FORMS = `ISO 8601 in UTC; how long ago: 90s, 15m, 12h, 7d; or when one of these began: ${WORDS.join(", ")}`;

/** The first instant that can be written. */
export const YEAR_0_US = -62_167_219_200_000_000;

/** An option's instant, as it was typed. */
export function readInstant(text: string): string {
  if (AGO.test(text) || WORDS.includes(text) || parseInstant(text.trim()) !== null) return text;
  throw new InvalidArgumentError(
    `It must be a date or a time in UTC, such as 2026-01-31 or 2026-01-31T08:00:00Z, how long ago: 90s, 15m, 12h, 7d, or one of ${WORDS.join(", ")}.${suggest(text, WORDS)}`,
  );
}

/** What was typed, as the interface takes it. Throws a `CommandError` for what lies before the year 0. */
export function toInstantText(text: string | undefined, nowUs: InstantUs): string | undefined {
  const beginning = BEGINNINGS[text ?? ""];
  if (beginning !== undefined) return formatInstant(toBeginning(nowUs, ...beginning));
  const { count, unit } = AGO.exec(text ?? "")?.groups ?? {};
  const seconds = SECONDS_PER[unit ?? ""];
  if (count === undefined || seconds === undefined) return text?.trim();
  const atUs = nowUs - Number(count) * seconds * 1_000_000;
  if (atUs >= YEAR_0_US) return formatInstant(atUs);
  throw new CommandError("usage", `${text} ago is before the year 0: leave it out for everything there is.`);
}

/** When the day, week (from Monday) or month begins that lies so many after the present one. */
export function toBeginning(nowUs: InstantUs, bucket: Bucket, offset: number): InstantUs {
  return toBucketStart(bucket, toBucketIndex(bucket, nowUs) + offset);
}

import { timeFormat, utcFormat } from "d3-time-format";
import { formatInstant } from "../../text/format.ts";
import { type TimeZone, toZoneLabel, useTimeZone } from "../../text/time-zone.ts";

/** The day is the same in many rows, and quieter; the year, and the zone of summer or winter, only where it is another one. */
export function Time({ ts }: { readonly ts: string }) {
  const zone = useTimeZone();
  const at = new Date(ts);
  const time = zone === "utc" ? formatInstant(ts, "time") : localTime(at);
  return (
    <time dateTime={ts} title={formatInstant(ts, "full")}>
      <span className="text-ink-faint">{toDay(at, zone)}</span> {time}
      {toOtherZone(at, zone)}
    </time>
  );
}

const localTime = timeFormat("%H:%M:%S");
const DAY_FORMATS = {
  utc: { day: utcFormat("%-d %b"), year: utcFormat("%Y") },
  local: { day: timeFormat("%-d %b"), year: timeFormat("%Y") },
} as const satisfies { readonly [zone in TimeZone]: unknown };

function toDay(at: Date, zone: TimeZone): string {
  const { day, year } = DAY_FORMATS[zone];
  return year(at) === year(new Date()) ? day(at) : `${day(at)} ${year(at)}`;
}

function toOtherZone(at: Date, zone: TimeZone): string | null {
  const name = toZoneLabel(at, zone);
  return name === toZoneLabel(new Date(), zone) ? null : ` ${name}`;
}

import { formatInstant, DAY_US, type InstantUs } from "#kernel/clock.ts";
import { parseInstant } from "#kernel/instant.ts";
import { GROUPS_MAX } from "#stats/series-grouping.ts";
import type { Installation } from "#cli/installation/client.ts";
import { listKeys } from "#cli/installation/lists.ts";
import { readReport, type ReportQuery } from "#cli/installation/report.ts";
import { CommandError } from "#cli/screen/failure.ts";
import type { Sums, UsageGroup } from "./usage-groups.ts";

/** Usage that the summary's rows do not tell: the series' do. */
export type SeriesDimension = "key" | "day";

interface Asked {
  readonly query: ReportQuery;
  readonly nowUs: InstantUs;
}

/** What the usage report counts: failed requests are left out. */
const COUNTED = ["ok", "cancelled"] as const;
/** Past the hundredth key the others are one row. */
const REST = "(other)";

/** Usage by day in the order of the calendar, or by key, the most expensive first; days and keys without any are left out. */
export async function readSeriesGroups(
  installation: Installation,
  by: SeriesDimension,
  asked: Asked,
): Promise<{ readonly groups: readonly UsageGroup[]; readonly notices: readonly string[] }> {
  const read = by === "day" ? readDays : readKeys;
  const { rows, notices } = await read(installation, {
    ...asked,
    query: { ...asked.query, outcome: COUNTED },
  });
  return { groups: rows, notices };
}

async function readDays(installation: Installation, { query }: Asked) {
  const asked = { ...query, bucket: "day" };
  const { body, notices } = await readReport(installation, () =>
    installation.api.callWithHeaders("GET /stats/series", { query: asked }),
  );
  const rows = body.series.map((sums) => toGroup(sums.start.slice(0, "2026-01-31".length), sums));
  return { rows: toUsed(rows), notices };
}

async function readKeys(installation: Installation, { query, nowUs }: Asked) {
  const asked = { ...toMonths(query, nowUs), group_by: "key", top: String(GROUPS_MAX) };
  const { body, notices } = await readReport(installation, () =>
    installation.api.callWithHeaders("GET /stats/series", { query: asked }),
  );
  const groups = (body.groups ?? []).map((sums) => toGroup(sums.value, sums));
  const rest = body.other ?? null;
  return { rows: toUsed(rest === null ? groups : [...groups, toGroup(REST, rest)]), notices };
}

function toGroup(name: string | null, { requests, cancelled, cost, units }: Sums): UsageGroup {
  return { name, requests, cancelled, cost, units };
}

function toUsed(groups: readonly UsageGroup[]): readonly UsageGroup[] {
  return groups.filter(({ requests }) => requests > 0);
}

/** What is counted lies between these, and every month of a series is a bucket, of which it has a limited number. */
const EARLIEST_US = 0;
const LATEST_AHEAD_US = DAY_US;

/** The query of a series in months, which are the fewest buckets that it comes in. */
export function toMonths(query: ReportQuery, nowUs: InstantUs): ReportQuery {
  const [sinceUs, untilUs] = [query["since"], query["until"]].map((text) =>
    parseInstant(typeof text === "string" ? text : ""),
  );
  return {
    ...query,
    bucket: "month",
    since: formatInstant(Math.max(sinceUs ?? EARLIEST_US, EARLIEST_US)),
    ...(typeof untilUs === "number" && {
      until: formatInstant(Math.min(untilUs, nowUs + LATEST_AHEAD_US)),
    }),
  };
}

/** How a table calls keys: `…x7Yz ada laptop`; by its id where it is gone, or who asks may not list keys. */
export async function readKeyNames({ api }: Installation): Promise<(id: string) => string> {
  const keys = await listKeys(api, { principal: undefined }).catch((cause: unknown) => {
    if (cause instanceof CommandError && cause.kind === "permission") return [];
    throw cause;
  });
  const names = new Map(
    keys.map(({ id, key_suffix: suffix, label, principal }) => [
      id,
      `…${suffix} ${principal}${label === "" ? "" : ` ${label}`}`,
    ]),
  );
  return (id) => names.get(id) ?? id;
}

import type { Catalog } from "#catalog/catalog.ts";
import { parseTeamQuery } from "#http/reports/report.ts";
import { createRequestLog } from "#http/reports/request-log.ts";
import { createUsageReports } from "#http/reports/usage-reports.ts";
import type { IdentityStore } from "#identity/store.ts";
import type { StatsStore } from "#stats/store.ts";
import type { System } from "#boot/process/system.ts";

/**
 * The team's reports for a command on the machine itself: the query and the answer are those of `/stats`, made by the same
 * code. Each throws what its route refuses with.
 */
export interface LocalReports {
  readonly summary: LocalReport;
  readonly series: LocalReport;
  readonly requests: LocalReport;
}

type LocalReport = (query: URLSearchParams) => Promise<Response>;

export interface LocalReportsDeps {
  readonly catalog: Catalog;
  readonly identity: Pick<IdentityStore, "findKeyNames">;
  readonly stats: Pick<StatsStore, "listRequests" | "readSeries" | "readGroupedSeries" | "readSummary">;
  readonly system: System;
}

export function createLocalReports({ catalog, identity, stats, system }: LocalReportsDeps): LocalReports {
  const { clock, log } = system;
  const reports = createUsageReports({ catalog, clock, stats });
  const requestLog = createRequestLog({ catalog, identity, stats, clock, log });
  const parse = async (query: URLSearchParams) => parseTeamQuery(query, await catalog.snapshot());
  return {
    summary: async (query) =>
      reports.summary(toRequest(query), await parse(query), { grouping: "team", filename: "usage.csv" }),
    series: async (query) => reports.series(toRequest(query), await parse(query)),
    requests: (query) => requestLog.answer(toRequest(query)),
  };
}

/** Only its query is looked at: nothing is sent. */
function toRequest(query: URLSearchParams): Request {
  return new Request(`http://localhost/?${query.toString()}`);
}

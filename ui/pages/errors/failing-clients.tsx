import { toClientVersion } from "#stats/client-changes.ts";
import { useQuery } from "@tanstack/react-query";
import { useMe } from "../../api/session.ts";
import {
  type ClientChange,
  clientChangesQuery,
  type RetryStorm,
  retryStormsQuery,
} from "../../api/reports.ts";
import {
  agoColumn,
  type Column,
  costColumn,
  countColumn,
  shareColumn,
  textColumn,
} from "../../components/column.ts";
import { Instant } from "../../components/instant.tsx";
import { CountedWindow } from "../../reports/answer.tsx";
import { type Report, toRefresh } from "../../search/report.ts";
import { toChosenSearch, toIso } from "../../search/window.ts";
import { formatCounted, formatPercent } from "../../text/format.ts";
import { useRequestLinks } from "./error-lists.tsx";
import { RowCard } from "./error-tables.tsx";
import { FAILURES } from "./outcomes.ts";

/** What failing clients are asked about, whatever outcome is looked at. */
export function useFailingClients({ query, window }: Report) {
  const asking = { ...query, outcome: undefined };
  const changes = useQuery({ ...clientChangesQuery(asking), ...toRefresh(window) });
  const storms = useQuery({ ...retryStormsQuery(asking), ...toRefresh(window) });
  return { changes, storms };
}

interface FailingClientsProps extends ReturnType<typeof useFailingClients> {
  readonly report: Report;
}

/** Since when a client's version fails, and who sends the same again at once. A row opens its requests. */
export function FailingClients({ report, changes, storms }: FailingClientsProps) {
  const whose = useMe().role === "admin" ? "" : " Your requests only.";
  return (
    <>
      <RowCard
        title="Client versions that fail more often"
        lead={`By day, over four weeks or more: the share that fails since it rose, and before.${whose}`}
        columns={VERSION_COLUMNS}
        rows={changes.data?.clients ?? NONE}
        busy={changes.isPending}
        getRowId={toClient}
        rowLabel={({ name, version }) => `Failed requests of ${name} ${version ?? ""}`}
        empty="No version fails more often than before."
        links={useRequestLinks(report)}
        toSearch={({ client, since }) => ({
          ...toChosenSearch(since, report.window.until),
          client_version: client,
          outcome: FAILURES,
        })}
      />
      <CountedWindow notes={storms.data?.notes} />
      <RowCard
        title="Retry storms"
        lead={`Four attempts or more by one key, each within 10 seconds after the one before failed.${whose}`}
        columns={STORM_COLUMNS}
        rows={storms.data?.storms ?? NONE}
        busy={storms.isPending}
        getRowId={toStormId}
        rowLabel={(storm) => `${formatCounted(storm.attempts, "attempt")} by ${toWho(storm)}`}
        empty="No failed request was sent again at once."
        links={useRequestLinks(report)}
        toSearch={({ key_id: key, principal, model, client, ...storm }) => ({
          ...toChosenSearch(storm.first_at, toIso(Date.parse(storm.last_at) + 1)),
          ...(key === null ? { principal } : { key }),
          ...(model !== null && { model }),
          ...(client !== null && { client }),
          outcome: undefined,
        })}
      />
    </>
  );
}

const NONE: readonly never[] = [];
const toClient = ({ client }: ClientChange) => client;
const toStormId = (storm: RetryStorm) => `${storm.first_at} ${storm.key_id} ${storm.client}`;

const VERSION_COLUMNS: readonly Column<ClientChange>[] = [
  textColumn({
    id: "client",
    header: "Client",
    rowHeader: true,
    width: "w-45",
    value: ({ name, version }) => `${name} ${version ?? ""}`,
  }),
  shareColumn({ id: "now", header: "Failed", width: "w-20", value: ({ now }) => now.share }),
  {
    id: "since",
    header: "Since",
    width: "w-26",
    sortValue: ({ since }) => since,
    cell: ({ since }) => <Instant value={since} format="date" />,
  },
  {
    id: "before",
    header: "Before",
    headerTitle: "Of this version, or where it was never better of the client's others",
    align: "end",
    width: "w-40",
    sortValue: ({ before }) => before.share,
    cell: ({ before }) => `${formatPercent(before.share)}${before.of === "client" ? ", other versions" : ""}`,
  },
  countColumn({ id: "requests", header: "Requests", width: "w-22", value: ({ now }) => now.requests }),
  shareColumn({
    id: "elsewhere",
    header: "Others",
    headerTitle: "The share of other clients’ requests that failed since then",
    width: "w-26",
    value: ({ elsewhere }) => elsewhere.share,
  }),
];

const STORM_COLUMNS: readonly Column<RetryStorm>[] = [
  textColumn({ id: "key", header: "Key", rowHeader: true, width: "w-37", value: toWho }),
  textColumn({ id: "model", header: "Model", width: "w-36", value: ({ model }) => model ?? "any model" }),
  textColumn({
    id: "client",
    header: "Client",
    width: "w-40",
    value: ({ client }) => toClientVersion(client) ?? "no User-Agent",
  }),
  countColumn({ id: "attempts", header: "Attempts", width: "w-22", value: ({ attempts }) => attempts }),
  costColumn({
    id: "cost",
    header: "Cost",
    width: "w-22",
    value: ({ cost }) => ({ value: cost, used: cost !== null }),
  }),
  agoColumn({ id: "last", header: "Last", align: "end", width: "w-22", value: ({ last_at: at }) => at }),
];

function toWho({ principal, key_label: label }: RetryStorm): string {
  return label === null ? principal : `${principal} · ${label}`;
}

import { formatInstant } from "#kernel/clock.ts";
import { toCsvRow } from "#stats/csv.ts";
import { toCost } from "#stats/series.ts";
import type { Statement, StatementRow } from "#stats/store.ts";

interface NamedStatement {
  /** `2026-03`. */
  readonly month: string;
  readonly statement: Statement;
  /** Undefined for a key that is gone. */
  readonly labelOf: (keyId: string) => string | undefined;
}

export function toStatementView({ month, statement, labelOf }: NamedStatement) {
  return {
    month,
    hash: statement.hash,
    total: toFigures(statement.total),
    repricings: statement.repricings.map(({ state, changedAtUs }) => ({
      state,
      changed_at: changedAtUs === null ? null : formatInstant(changedAtUs),
    })),
    rows: statement.rows.map((row) => {
      const label = findLabel(row, labelOf);
      const figures = toFigures(row);
      return label === null
        ? { by: row.by, value: row.value, ...figures }
        : { by: row.by, value: row.value, label, ...figures };
    }),
  };
}

function toFigures({ requests, unpricedRequests, unmeteredRequests, costPico }: Statement["total"]) {
  return {
    requests,
    unpriced_requests: unpricedRequests,
    unmetered_requests: unmeteredRequests,
    cost: toCost(costPico),
  };
}

function findLabel({ by, value }: StatementRow, labelOf: NamedStatement["labelOf"]): string | null {
  return by === "key" ? (labelOf(value) ?? null) : null;
}

const HEADER = [
  "month",
  "by",
  "value",
  "label",
  "requests",
  "unpriced_requests",
  "unmetered_requests",
  "cost",
  "hash",
];

/** Costs are exact. The hash stands in the row of the total. */
export function toStatementCsv({ month, statement, labelOf }: NamedStatement): string {
  const toCells = (row: Statement["total"]) => [
    row.requests,
    row.unpricedRequests,
    row.unmeteredRequests,
    row.costPico,
  ];
  const rows = statement.rows.map((row) =>
    toCsvRow([month, row.by, row.value, findLabel(row, labelOf), ...toCells(row), null]),
  );
  const total = toCsvRow([month, "total", null, null, ...toCells(statement.total), statement.hash]);
  return toCsvRow(HEADER) + rows.join("") + total;
}

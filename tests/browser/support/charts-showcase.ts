/** The page of charts.test.ts: each chart once, with figures that are always the same. */
import { range } from "d3-array";
import { createElement as h, useState, type ReactNode } from "react";
import { createRoot } from "react-dom/client";
import { Calendar } from "../../../ui/charts/calendar.tsx";
import { HeatMap } from "../../../ui/charts/heat-map.tsx";
import { OTHER_ID, type Series } from "../../../ui/charts/series.ts";
import { Sparkline } from "../../../ui/charts/sparkline.tsx";
import { StackedBars } from "../../../ui/charts/stacked-bars.tsx";

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
/** Summer time begins on 8 March in New York and on 29 March in Berlin. */
const T0 = Date.UTC(2026, 1, 20);
const MODELS = [
  "small",
  "large",
  "a/model-with-a-rather-long-name-that-does-not-fit",
  "embedder",
  "漢字",
  "m6",
  "m7",
  "m8",
];
const BANDS = ["<1s", "1-5s", "5-15s", "15-30s", "30-60s", "60-120s", ">=120s"];

const toStart = (ms: number) => new Date(ms).toISOString().replace("Z", "000Z");
/** Looks like chance. */
const toFigure = (a: number, b: number) => ((a * 7919 + b * 104_729) % 1009) / 100;
const toMoney = (value: number) => `$${value.toFixed(2)}`;
const toCount = (value: number) => value.toLocaleString("en-US");

const SERIES: readonly Series[] = [
  ...MODELS.slice(0, 5).map((id) => ({ id, label: id })),
  { id: OTHER_ID, label: "4 others", kind: "other" },
];
const EIGHT_SERIES = MODELS.map((id) => ({ id, label: id }));
const toBuckets = (count: number, stepMs: number, seriesCount: number) =>
  Array.from({ length: count }, (_, index) => ({
    start: toStart(T0 + index * stepMs),
    values: range(seriesCount).map((key) => toFigure(index, key)),
    unpriced: index % 9 === 4 ? 3 : 0,
  }));
const DAYS = toBuckets(45, DAY_MS, SERIES.length);
const HOURS = toBuckets(1000, HOUR_MS, EIGHT_SERIES.length);
const OUTCOMES = ["ok", "cancelled", "upstream_error", "unreachable"];
const OUTCOME_SERIES = OUTCOMES.map((id) => ({ id, label: id, kind: "outcome" }) as const);
const OUTCOME_HOURS = Array.from({ length: 48 }, (_, index) => ({
  start: toStart(T0 + index * HOUR_MS),
  values: [40, 2, 6, 3].map((size, key) => Math.round(toFigure(index, key + 1) * size)),
}));
const ROWS = MODELS.map((label, row) => ({
  id: `row-${row}`,
  label: `provider / ${label}`,
  values: range(BANDS.length).map((column) => Math.round(toFigure(row, column) ** 3)),
}));
const CALENDAR_DAYS = Array.from({ length: 200 }, (_, index) => ({
  start: toStart(T0 + index * DAY_MS),
  value: index % 31 === 5 ? null : toFigure(index, 9),
  requests: index % 17 === 3 ? 0 : index,
}));
const SINCE = toStart(T0);
const UNTIL = toStart(T0 + 200 * DAY_MS);

function Showcase(): ReactNode {
  const [chosen, setChosen] = useState("");
  const choose =
    (what: string) =>
    (...values: readonly (string | number)[]) =>
      setChosen([what, ...values].join(" "));
  return h(
    "main",
    { className: "mx-auto grid max-w-5xl gap-6 bg-surface p-4 text-ink" },
    h("h1", null, "Charts"),
    h(StackedBars, {
      buckets: DAYS,
      series: SERIES,
      bucket: "day",
      label: "Cost by model",
      format: toMoney,
      onWindow: choose("window"),
      onSeries: choose("series"),
    }),
    h(StackedBars, {
      buckets: OUTCOME_HOURS,
      series: OUTCOME_SERIES,
      bucket: "hour",
      label: "Requests by outcome",
      format: toCount,
      onWindow: choose("window"),
      onSeries: choose("outcome"),
    }),
    h(HeatMap, {
      rows: ROWS,
      columns: BANDS,
      label: "Time to failure",
      rowsLabel: "Provider and model",
      format: toCount,
      onCell: choose("cell"),
      tone: "bad",
    }),
    h(Calendar, {
      days: CALENDAR_DAYS,
      since: SINCE,
      until: UNTIL,
      label: "Cost by day",
      format: toMoney,
      onDay: choose("day"),
    }),
    h(StackedBars, {
      buckets: [],
      series: [],
      bucket: "day",
      label: "Nothing",
      format: toMoney,
      height: 120,
      onWindow: choose("window"),
    }),
    h(Sparkline, {
      values: DAYS.map(({ values }) => values[0] ?? null),
      width: 96,
      height: 24,
      hasArea: true,
    }),
    h("output", { "aria-label": "Chosen" }, chosen),
  );
}

/** A thousand buckets of eight series: as much as a report answers (specification, section 8). */
function Large(): ReactNode {
  return h(
    "main",
    { className: "mx-auto max-w-5xl bg-surface p-4 text-ink" },
    h("h1", null, "A thousand hours"),
    h(StackedBars, {
      buckets: HOURS,
      series: EIGHT_SERIES,
      bucket: "hour",
      label: "Thousand",
      format: toMoney,
      onWindow: () => {},
    }),
  );
}

const host = document.createElement("div");
document.body.append(host);
const root = createRoot(host);
root.render(h(location.pathname === "/large" ? Large : Showcase));

/** One metric with all of its series: what stands together in the text format. */
export interface MetricFamily {
  readonly name: string;
  readonly kind: "counter" | "gauge" | "summary" | "histogram";
  /** One line. */
  readonly help: string;
  readonly samples: readonly MetricSample[];
}

export interface MetricSample {
  /** The suffix that a summary or a histogram adds to the family's name. */
  readonly suffix?: "_sum" | "_count" | "_bucket";
  readonly labels?: MetricLabels;
  readonly value: number;
}

export type MetricLabels = { readonly [name: string]: string };

/** The text exposition format, version 0.0.4. */
export const EXPOSITION_TYPE = "text/plain; version=0.0.4; charset=utf-8";

export function toExposition(families: readonly MetricFamily[]): string {
  let text = "";
  for (const { name, kind, help, samples } of families) {
    text += `# HELP ${name} ${escapeHelp(help)}\n# TYPE ${name} ${kind}\n`;
    for (const { suffix = "", labels, value } of samples) {
      text += `${name}${suffix}${labels === undefined ? "" : toLabelText(labels)} ${toDecimal(value)}\n`;
    }
  }
  return text;
}

/** A metric with one series and no label. */
export function toGauge(name: string, help: string, value: number): MetricFamily {
  return { name, kind: "gauge", help, samples: [{ value }] };
}

/** A metric with one series and no label that only grows. */
export function toCounter(name: string, help: string, value: number): MetricFamily {
  return { name, kind: "counter", help, samples: [{ value }] };
}

function toLabelText(labels: MetricLabels): string {
  let text = "";
  for (const name in labels) text += `${text === "" ? "{" : ","}${name}="${escapeValue(labels[name] ?? "")}"`;
  return text === "" ? "" : `${text}}`;
}

function escapeValue(value: string): string {
  return /[\\"\n]/.test(value)
    ? value.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("\n", "\\n")
    : value;
}

function escapeHelp(help: string): string {
  return help.replaceAll("\\", "\\\\").replaceAll("\n", "\\n");
}

/** Writes whole numbers of any size with all their digits, and nothing with an exponent. */
function toDecimal(value: number): string {
  if (Number.isInteger(value)) return Number.isSafeInteger(value) ? String(value) : BigInt(value).toString();
  if (!Number.isFinite(value)) return value > 0 ? "+Inf" : value < 0 ? "-Inf" : "NaN";
  const text = String(value);
  return text.includes("e") ? value.toFixed(DECIMALS_MAX) : text;
}

const DECIMALS_MAX = 20;

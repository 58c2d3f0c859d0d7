/** One line with a figure. */
export interface ParsedSample {
  readonly name: string;
  readonly labels: { readonly [name: string]: string };
  readonly value: number;
  /** The figure as it was written. */
  readonly text: string;
}

export interface ParsedFamily {
  readonly name: string;
  readonly kind: string;
  readonly help: string;
  readonly samples: readonly ParsedSample[];
}

/** Suffixes that a family of each kind may add to its name. */
const SUFFIXES: { readonly [kind: string]: readonly string[] } = {
  counter: [""],
  gauge: [""],
  summary: ["_sum", "_count"],
  histogram: ["_bucket", "_sum", "_count"],
};

/**
 * Reads the text exposition format 0.0.4 and throws at everything that a scraper may stumble over: metadata that comes
 * late or twice, families that are not in one piece, a series twice, an escape that does not exist, an exponent, a counter
 * below zero, a histogram that is not cumulative. Written apart from what it judges.
 */
export function parseExposition(text: string): ReadonlyMap<string, ParsedFamily> {
  if (!text.endsWith("\n")) throw new Error("the last line has no end");
  if (text.includes("\r")) throw new Error("a line ends with CR");
  if (Buffer.from(text).toString() !== text) throw new Error("the text is not well-formed");
  const families = new Map<string, { name: string; kind: string; help: string; samples: ParsedSample[] }>();
  const seen = new Set<string>();
  const lines = text.slice(0, -1).split("\n");
  for (let index = 0; index < lines.length;) {
    const [, name = "", help = ""] = /^# HELP ([a-z_][a-z0-9_]*) (.+)$/.exec(lines[index] ?? "") ?? [];
    const [, typeName = "", kind = ""] = /^# TYPE ([a-z0-9_]+) ([a-z]+)$/.exec(lines[index + 1] ?? "") ?? [];
    if (name === "" || typeName !== name)
      throw new Error(`no HELP and TYPE at line ${index}: ${lines[index]}`);
    const suffixes = SUFFIXES[kind];
    if (suffixes === undefined) throw new Error(`${name} has the unknown type ${kind}`);
    if (families.has(name)) throw new Error(`${name} is not in one piece`);
    if (kind === "counter" && !name.endsWith("_total")) throw new Error(`the counter ${name} is no _total`);
    const samples: ParsedSample[] = [];
    families.set(name, { name, kind, help, samples });
    for (index += 2; index < lines.length && !lines[index]?.startsWith("#"); index += 1) {
      const sample = parseSample(lines[index] ?? "");
      if (!suffixes.some((suffix) => sample.name === name + suffix)) {
        throw new Error(`${sample.name} stands in the family ${name}`);
      }
      const series = toKey(sample.name, sample.labels);
      if (seen.has(series)) throw new Error(`twice: ${series}`);
      seen.add(series);
      if (kind !== "gauge" && sample.value < 0) throw new Error(`${sample.name} is below zero`);
      samples.push(sample);
    }
    if (kind === "histogram") checkHistogram(name, samples);
  }
  return families;
}

/** The value of the one series with exactly these labels; null when there is none. */
export function findValue(
  families: ReadonlyMap<string, ParsedFamily>,
  name: string,
  labels: { readonly [name: string]: string } = {},
): number | null {
  const wanted = toKey(name, labels);
  for (const family of families.values()) {
    for (const sample of family.samples) {
      if (toKey(sample.name, sample.labels) === wanted) {
        return sample.value;
      }
    }
  }
  return null;
}

/** The order of labels says nothing. */
function toKey(name: string, labels: { readonly [name: string]: string }): string {
  const names = Object.keys(labels).toSorted();
  return JSON.stringify([name, names.map((label) => [label, labels[label]])]);
}

function parseSample(line: string): ParsedSample {
  const [, name = ""] = /^([a-z_][a-z0-9_]*)/.exec(line) ?? [];
  if (name === "") throw new Error(`not a sample: ${line}`);
  let position = name.length;
  const labels: { [name: string]: string } = {};
  if (line[position] === "{") {
    do {
      position += 1;
      const [start = "", label = ""] = /^([a-z_]+)="/.exec(line.slice(position)) ?? [];
      if (label === "" || label in labels) throw new Error(`no label, or one twice: ${line}`);
      position += start.length;
      let value = "";
      while (line[position] !== '"') {
        if (position >= line.length) throw new Error(`a label value has no end: ${line}`);
        if (line[position] === "\\") {
          const escaped = { "\\": "\\", '"': '"', n: "\n" }[line[position + 1] ?? ""];
          if (escaped === undefined) throw new Error(`an unknown escape: ${line}`);
          value += escaped;
          position += 2;
        } else {
          value += line[position];
          position += 1;
        }
      }
      labels[label] = value;
      position += 1;
    } while (line[position] === ",");
    if (line[position] !== "}") throw new Error(`the labels have no end: ${line}`);
    position += 1;
  }
  const [, text = ""] = /^ (-?\d+(?:\.\d+)?)$/.exec(line.slice(position)) ?? [];
  if (text === "") throw new Error(`no plain decimal: ${line}`);
  return { name, labels, value: Number(text), text };
}

function checkHistogram(name: string, samples: readonly ParsedSample[]): void {
  const buckets = samples.filter((sample) => sample.name === `${name}_bucket`);
  const bounds = buckets.map(({ labels: { le = "" } }) =>
    le === "+Inf" ? Number.POSITIVE_INFINITY : Number(le),
  );
  const isRising = (numbers: readonly number[]) =>
    numbers.every((number, at) => at === 0 || number >= (numbers[at - 1] ?? 0));
  if (!isRising(bounds) || !isRising(buckets.map(({ value }) => value)))
    throw new Error(`${name} is not cumulative`);
  const count = samples.find((sample) => sample.name === `${name}_count`)?.value;
  if (bounds.at(-1) !== Number.POSITIVE_INFINITY || buckets.at(-1)?.value !== count) {
    throw new Error(`${name} does not end with its count`);
  }
  if (!samples.some((sample) => sample.name === `${name}_sum`)) throw new Error(`${name} has no sum`);
}

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { join } from "node:path";
import { toReplicaFamilies } from "#http/metrics/metrics.ts";
import { startApp, type TestApp } from "../support/app.ts";
import { parseExposition } from "../support/exposition.ts";
import { startUpstream, type ScriptedUpstream } from "../support/upstream.ts";

const root = join(import.meta.dir, "../..");
const read = (path: string) => Bun.file(join(root, path)).text();

/** Labels of Prometheus itself and of Kubernetes' or the operator's own configuration. */
const SCRAPE_LABELS: ReadonlySet<string> = new Set(["job", "instance"]);
/** Made by Prometheus for each target. */
const SCRAPE_METRICS: ReadonlySet<string> = new Set(["up"]);

let app: TestApp;
let upstream: ScriptedUpstream;
/** Series name → the labels that its samples carry. */
const served = new Map<string, Set<string>>();

beforeAll(async () => {
  app = await startApp();
  const usage = { prompt_tokens: 5, completion_tokens: 2 };
  upstream = await startUpstream({
    script: (call) => call.reply({ body: JSON.stringify({ choices: [], usage }) }),
  });
  await app.api("POST", "/admin/v1/providers", { name: "up", base_url: upstream.baseUrl });
  await app.api("POST", "/admin/v1/models", { alias: "free", provider: "up", upstream_name: "m" });
  await fetch(`${app.url}/v1/chat/completions`, {
    method: "POST",
    headers: { authorization: `Bearer ${app.adminKey}` },
    body: JSON.stringify({ model: "free", messages: [] }),
  }).then((response) => response.text());
  // Those of a server on PostgreSQL, which this one is not.
  const replica = {
    isDatabaseUp: true,
    trustLeftSeconds: 30,
    barrierSeconds: 0,
    spool: { bytes: 0, ageSeconds: 0 },
    slots: 0,
  };
  for (const { name } of toReplicaFamilies(replica, 0)) served.set(name, new Set());
  for (const family of parseExposition(await (await fetch(`${app.url}/metrics`)).text()).values()) {
    for (const { name, labels } of family.samples) {
      served.set(name, new Set([...(served.get(name) ?? []), ...Object.keys(labels)]));
    }
  }
});
afterAll(async () => {
  await app.stop();
  await upstream.stop();
});

interface Use {
  readonly metric: string;
  readonly labels: readonly string[];
}

/** The metrics of an expression with the labels that it asks for, in braces and in `by (…)`. */
function readUses(expression: string): readonly Use[] {
  const by = [...expression.matchAll(/\bby \(([^)]*)\)/g)].flatMap(([, names = ""]) => names.split(/,\s*/));
  return [...expression.matchAll(/\b((?:proxy|process)_[a-z_]+|up)\b(?:\{([^}]*)\})?/g)].map(
    ([, metric = "", matchers = ""]) => ({
      metric,
      labels: [
        ...[...matchers.matchAll(/([a-z_]+)\s*(?:=~|!~|!=|=)/g)].map(([, label = ""]) => label),
        ...by,
      ],
    }),
  );
}

function findInvented(expressions: readonly string[]): readonly string[] {
  return expressions.flatMap((expression) =>
    readUses(expression).flatMap(({ metric, labels }) => {
      if (SCRAPE_METRICS.has(metric)) return [];
      const known = served.get(metric);
      if (known === undefined) return [`${metric} is not served`];
      return labels
        .filter((label) => label !== "" && !known.has(label) && !SCRAPE_LABELS.has(label))
        .map((label) => `${metric} has no label ${label}`);
    }),
  );
}

/** Every `expr` in a document, however deep. */
function readExpressions(value: unknown): readonly string[] {
  if (Array.isArray(value)) return value.flatMap(readExpressions);
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([name, inner]) =>
    name === "expr" && typeof inner === "string" ? [inner] : readExpressions(inner),
  );
}

describe("the dashboard and the alerts ask for metrics that are served", () => {
  const documents = [
    ["contrib/grafana/dashboard.json", JSON.parse],
    ["contrib/prometheus/rules.yaml", Bun.YAML.parse],
  ] as const;
  for (const [path, parse] of documents) {
    test(`${path} names no metric and no label that /metrics does not have`, async () => {
      const expressions = readExpressions(parse(await read(path)));
      expect(expressions.length).toBeGreaterThan(0);
      expect(expressions.flatMap(readUses).length).toBeGreaterThanOrEqual(expressions.length);
      expect(findInvented(expressions)).toEqual([]);
    });
  }

  test("an invented metric, and an invented label, would be found", () => {
    expect(findInvented(["sum by (model) (rate(proxy_invented_total[5m]))"])).toEqual([
      "proxy_invented_total is not served",
    ]);
    expect(findInvented(['proxy_requests_total{principal="ada"}'])).toEqual([
      "proxy_requests_total has no label principal",
    ]);
  });

  test("both the dashboard and the rules watch units without a price", async () => {
    for (const [path, parse] of documents) {
      const expressions = readExpressions(parse(await read(path)));
      expect(expressions.some((text) => text.includes("proxy_unpriced_units_total"))).toBe(true);
    }
  });
});

const promtool = Bun.which("promtool");
describe.skipIf(promtool === null)("promtool", () => {
  test("finds nothing wrong with the rules and the configuration", () => {
    for (const [kind, path] of [
      ["rules", "contrib/prometheus/rules.yaml"],
      ["config", "contrib/prometheus/prometheus.yaml"],
    ] as const) {
      const run = Bun.spawnSync({ cmd: [promtool ?? "", "check", kind, join(root, path)] });
      expect({ kind, code: run.exitCode, said: run.stderr.toString() }).toMatchObject({ kind, code: 0 });
    }
  });
});

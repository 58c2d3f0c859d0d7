import { describe, expect, test } from "bun:test";
import * as fc from "fast-check";
import type { SummaryGrouping } from "#stats/store.ts";
import { readSummary } from "#storage/reports/summary.ts";
import { scale } from "../support/scale.ts";
import { arbitraryCase, CONTEXT, decode, openUsages } from "./reports.ts";
import type { RandomUsage } from "./usage.ts";
import { DAY_US, ENDING, EVERYTHING, NEW_YEAR_US, SUBJECT } from "./usage.ts";

/** Sums of all rows by principal, in whole micros: parts of seconds and of money do not add up exactly in JSON. */
function toTotals(rows: readonly any[]) {
  const totals: Record<string, number> = {};
  for (const { principal = "", requests, cancelled, cost, units } of rows) {
    const add = (total: string, value: number) => (totals[total] = (totals[total] ?? 0) + value);
    for (const [name, value] of Object.entries({ requests, cancelled, cost: cost ?? 0 }))
      add(`${principal} ${name}`, value);
    // A unit is called `requests` as well.
    for (const [unit, quantity] of Object.entries<number>(units)) add(`${principal} unit ${unit}`, quantity);
  }
  return Object.fromEntries(Object.entries(totals).map(([name, total]) => [name, Math.round(total * 1e6)]));
}

describe("the usage summary", () => {
  test("of too many subjects for memory has lost nothing of what each principal used, for every grouping, filter and window", () => {
    fc.assert(
      fc.property(arbitraryCase, ({ usages, queries, ...options }) => {
        using ledger = openUsages(usages, options);
        for (const query of queries) {
          for (const grouping of ["own", "admin", "team"] as const) {
            const asked = { ...query, grouping, format: "json", context: CONTEXT } as const;
            const read = (sumsMax?: number) =>
              toTotals(JSON.parse(decode(ledger.read(readSummary(asked, sumsMax)))).usage);
            expect({ query, grouping, totals: read(2) }).toEqual({ query, grouping, totals: read() });
          }
        }
      }),
      { numRuns: 6 * scale },
    );
  }, 30_000);

  test("leaves out what asks for an answer of before or counts, and the relay's count of the same kind stays", () => {
    const endpoints = [
      ["responses", 0],
      ["responses/retrieve", 0],
      ["responses/cancel", 0],
      ["responses/delete", 0],
      ["responses/input_items", 0],
      ["responses/input_tokens", 0],
      ["messages/count_tokens", 0],
      ["/v1/messages/count_tokens", 0],
      ["responses/retrieve", 3],
    ] as const;
    const usages = endpoints.map(([endpoint, days], index) => ({
      subject: { ...SUBJECT, endpoint, arrivedAtUs: NEW_YEAR_US + days * DAY_US + index },
      ending: ENDING,
    }));
    // Sealed days have cells, and others have none.
    using ledger = openUsages(usages, { sealBeforeUs: NEW_YEAR_US + DAY_US });
    for (const grouping of ["own", "admin", "team"] as const)
      for (const sumsMax of [undefined, 1]) {
        const query = { ...EVERYTHING, grouping, format: "json", context: CONTEXT } as const;
        const { usage }: { usage: { endpoint: string }[] } = JSON.parse(
          decode(ledger.read(readSummary(query, sumsMax))),
        );
        expect(usage.map(({ endpoint }) => endpoint)).toEqual(["/v1/messages/count_tokens", "responses"]);
      }
  });

  test("adds money and tokens without losing a digit, over months, days and rows", () => {
    const costPico = 9_007_199_254_740_993n;
    const usages = [0, 20, 40, 60, 61].map((days, index) => ({
      subject: { ...SUBJECT, arrivedAtUs: NEW_YEAR_US + days * DAY_US + index },
      ending: {
        ...ENDING,
        costPico,
        usage: {
          shape: "inclusive" as const,
          quantities: { output_tokens: 2 ** 50 + 1 },
        },
      },
    }));
    using ledger = openUsages(usages, { sealBeforeUs: NEW_YEAR_US + 60 * DAY_US });
    const window = { sinceUs: NEW_YEAR_US, untilUs: NEW_YEAR_US + 61 * DAY_US + 10 };
    const query = { ...EVERYTHING, window, grouping: "own", format: "csv", context: CONTEXT } as const;
    expect(decode(ledger.read(readSummary(query)))).toBe(
      "model,endpoint,requests,cancelled,cost,input_tokens,output_tokens,cached_input_tokens,audio_seconds\r\n" +
        `fast,chat,5,0,45035.996273704965,,${5 * (2 ** 50 + 1)},,\r\n`,
    );
  });

  test("calls a provider what it is called now, also when it was asked for before", () => {
    const usages = [{ subject: SUBJECT, ending: ENDING }];
    using ledger = openUsages(usages);
    const read = (names: readonly (readonly [string, string])[]) => {
      const context = { ...CONTEXT, providerNames: new Map(names) };
      const report = ledger.read(readSummary({ ...EVERYTHING, grouping: "team", format: "json", context }));
      return JSON.parse(decode(report)).usage.map(({ provider }: any) => provider);
    };
    expect(read([["provider-1", "before"]])).toEqual(["before"]);
    expect(read([["provider-1", "after"]])).toEqual(["after"]);
    expect(read([])).toEqual(["(deleted)"]);
  });

  test("tells a model and a path that a caller of the relay made up together with others, once there are too many", () => {
    const usages = ["a", "b", "c", "c"].map((model, index): RandomUsage => ({
      subject: {
        ...SUBJECT,
        providerId: "transparent:messages",
        model,
        upstreamName: model,
        endpoint: `/v1/${model}`,
        arrivedAtUs: NEW_YEAR_US + index,
      },
      ending: ENDING,
    }));
    using ledger = openUsages(usages);
    const query = { ...EVERYTHING, grouping: "own", format: "json", context: CONTEXT } as const;
    expect(JSON.parse(decode(ledger.read(readSummary(query, 1)))).usage).toMatchObject([
      { model: "(other)", endpoint: "(other)", requests: 2 },
      { model: "c", endpoint: "/v1/c", requests: 2 },
    ]);
  });

  test("of more combinations than may be in memory tells the most used, and the others together as (other), with nothing lost", () => {
    const tags = ["trace:1", "trace:2", "app:wiki", "trace:3", "app:wiki"];
    const usages = tags.map((tag, index): RandomUsage => ({
      subject: { ...SUBJECT, tags: [tag], arrivedAtUs: NEW_YEAR_US + index },
      ending: ENDING,
    }));
    using ledger = openUsages(usages);
    const ask = (grouping: SummaryGrouping, sumsMax: number) =>
      JSON.parse(
        decode(
          ledger.read(readSummary({ ...EVERYTHING, grouping, format: "json", context: CONTEXT }, sumsMax)),
        ),
      ).usage;
    const one = ask("team", 4)[0];
    expect(ask("team", 4)).toHaveLength(4);
    expect(ask("team", 1)).toEqual([
      {
        ...one,
        client: "(other)",
        tags: ["(other)"],
        app: "(other)",
        requests: 3,
        cost: one.cost * 1.5,
        units: Object.fromEntries(
          Object.entries<number>(one.units).map(([unit, quantity]) => [unit, quantity * 1.5]),
        ),
      },
      one,
    ]);
    expect(one).toMatchObject({ tags: ["app:wiki"], requests: 2 });
    for (const grouping of ["own", "admin"] as const)
      expect(ask(grouping, 1)).toMatchObject([{ requests: 5 }]);
    const ofTeam = { ...EVERYTHING, grouping: "team", format: "json", context: CONTEXT } as const;
    expect(ledger.read(readSummary(ofTeam, 4)).truncated).toBe(false);
    expect(ledger.read(readSummary(ofTeam, 1)).truncated).toBe(true);
  });
});

import { afterEach, beforeEach, expect, test } from "bun:test";
import { countRepriceable, listBackdated } from "#http/api/repriceable.ts";
import { ProxyError } from "#kernel/errors.ts";
import { compareCodeUnits } from "#kernel/text.ts";
import { openTestCatalog, type TestCatalog } from "../catalog/support.ts";
import type { Caller } from "#identity/caller.ts";

const YEAR_US = 365 * 86_400_000_000;
const UNITS_OF = { unit: "input_tokens", price_per_million: 1 };
const caller = { principal: { id: "admin" } } as Caller;

let one: TestCatalog;
beforeEach(async () => {
  one = await openTestCatalog();
  const { catalog } = one;
  await catalog.createProvider({ name: "acme", base_url: "http://10.0.0.1/v1" }, null);
  const bind = (alias: string, upstreamName: string, rest = {}) =>
    catalog.createModel({ alias, provider: "acme", upstreamName, ...rest }, null);
  await bind("base", "up");
  await catalog.createModel({ alias: "name", target: "base" }, null);
  await bind("own", "up", { pricing: { input_tokens: 9 } });
  await bind("other", "up-2");
});
afterEach(() => one.close());

/** Each name has as many requests as its letters, whenever it is asked for. */
async function count(entries: readonly unknown[], answer?: () => never) {
  const asked: [names: readonly string[], fromUs: number][] = [];
  const deps = {
    catalog: one.catalog,
    clock: { nowUs: () => 60 * YEAR_US },
    stats: {
      readSeries({ filter, window }: any) {
        answer?.();
        const names = [...filter.models].toSorted(compareCodeUnits);
        asked.push([names, window.sinceUs]);
        return Promise.resolve({ buckets: names.map(({ length }) => ({ requests: length })) });
      },
    },
  };
  await one.catalog.loadFeed({ version: "v", entries }, null);
  const told = await countRepriceable(deps as never, listBackdated({ version: "v", entries }), {
    request: new Request("http://localhost/"),
    caller,
  });
  return { told, asked };
}
const DATES = ["1980-01-01", "1990-01-01"] as const;
const [EIGHTIES, NINETIES] = DATES.map((date) => Date.parse(date) * 1000);

test("prices that are dated back are counted by name, each from its own date, for all that have them and for no others", async () => {
  const entries = [
    { ...UNITS_OF, model: "up", effective_from: DATES[1] },
    { ...UNITS_OF, model: "up-2", effective_from: DATES[0] },
    { ...UNITS_OF, model: "up-2", unit: "output_tokens", effective_from: DATES[1] },
    { ...UNITS_OF, model: "undated" },
    { ...UNITS_OF, model: "future", effective_from: "2999-01-01" },
  ];
  const { told, asked } = await count(entries);
  // The one from the eighties on is no request of the nineties once more; the model with a price of its own has none of this one.
  expect(asked.toSorted(([, left], [, right]) => left - right)).toEqual([
    [["other", "up-2"], EIGHTIES],
    [["base", "name", "up"], NINETIES],
  ] as never);
  expect(told).toEqual({ repriceable_requests: "otherup-2basenameup".length });
  expect(await count([{ ...UNITS_OF, model: "undated" }])).toEqual({ told: {}, asked: [] });
});

test("a change that was made is answered as such where its requests cannot be counted", async () => {
  const entries = [{ ...UNITS_OF, model: "up", effective_from: DATES[0] }];
  for (const cause of [new ProxyError("reports_busy", "Busy."), new Error("reader")]) {
    const { told } = await count(entries, () => {
      throw cause;
    });
    expect(told).toEqual({});
  }
  // Each date is a report of its own.
  const many = Array.from({ length: 40 }, (_, at) => ({
    ...UNITS_OF,
    model: `name-${at}`,
    effective_from: `${1970 + at}-01-01`,
  }));
  expect(await count(many)).toEqual({ told: {}, asked: [] });
});

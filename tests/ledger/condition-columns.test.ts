import { Database } from "bun:sqlite";
import { afterAll, describe, expect, test } from "bun:test";
import { join } from "node:path";
import { SILENT_LOG } from "#kernel/log.ts";
import { openLedgerReader } from "#storage/sqlite/ledger/ledger-reader.ts";
import { prepareUsageDatabase } from "#storage/sqlite/ledger/file/database.ts";
import { RELAY_PROVIDER, type UsageBeginning, type UsageEnding } from "#usage/event.ts";
import { checkLedger } from "../support/invariants.ts";
import { makeFolder } from "../support/folder.ts";
import { ENDING, NEW_YEAR_US, SUBJECT, writeUsages } from "./usage.ts";

const folder = makeFolder();
afterAll(() => folder.remove());

const UNTOLD = { usage: null, costPico: null, unpriced: false } as const;
const DOWN = {
  ...ENDING,
  ...UNTOLD,
  outcome: "unreachable",
  errorKind: "connection_error",
  statusCode: 502,
} as const;
const RELAYED = { ...SUBJECT, keyId: null, relayTokenId: "token-1", providerId: RELAY_PROVIDER } as const;

function write(name: string, requests: readonly (readonly [Partial<UsageBeginning>, UsageEnding])[]): string {
  const dataDir = join(folder.path, name);
  const { reader, writer } = writeUsages(
    dataDir,
    requests.map(([subject, ending], index) => ({
      subject: { ...SUBJECT, ...subject, arrivedAtUs: NEW_YEAR_US + index },
      ending,
    })),
  );
  reader.close();
  writer.close();
  return dataDir;
}

/** As the version before left it. */
function takeBack(dataDir: string): string {
  const path = join(dataDir, "usage.db");
  const database = new Database(path);
  database.run("DROP INDEX result_once");
  database.run("ALTER TABLE combination DROP COLUMN tier");
  database.run("ALTER TABLE result DROP COLUMN failure");
  database.run("CREATE UNIQUE INDEX result_once ON result (outcome, ifnull(error_kind, ''), status_code)");
  database.close();
  return path;
}

async function readAll(dataDir: string) {
  const reader = openLedgerReader({ dataDir, log: SILENT_LOG });
  const query = {
    window: { sinceUs: null, untilUs: null },
    filter: {
      principals: null,
      keyIds: null,
      models: null,
      clientPrefixes: null,
      tags: [],
      outcomes: null,
      errorKinds: null,
      statuses: null,
      rows: null,
    },
    providers: { include: null, exclude: [] },
    principalId: null,
  } as const;
  const context = { nowUs: NEW_YEAR_US + 5, providerNames: new Map<string, string>() };
  const { rows } = await reader.stats.listRequests(query, { limit: 100, offset: 0 });
  const { rows: missing } = await reader.stats.readMissingPrices(query);
  const errors = await reader.stats.readErrors({ ...query, bucket: "day", context });
  const { total } = await reader.stats.readBreakdown({
    ...query,
    context,
    by: { field: "model" },
    sort: "cost",
    limit: 10,
  });
  await reader.close();
  const text = errors.chunks.map((chunk) => new TextDecoder().decode(chunk)).join("");
  return { rows, missing, breakdown: JSON.parse(text).breakdown, unmetered: total.unmeteredRequests };
}

describe("a ledger from before tiers and failures", () => {
  const requests = [
    [{}, ENDING],
    [{}, DOWN],
    [
      { ...RELAYED, endpoint: "/v1/messages/count_tokens" },
      { ...ENDING, ...UNTOLD },
    ],
    [
      { ...RELAYED, endpoint: "/v1/responses" },
      { ...ENDING, ...UNTOLD },
    ],
  ] as const;

  test("is read as it is, also before a server has opened it", async () => {
    const dataDir = write("read", requests);
    const before = await readAll(dataDir);
    takeBack(dataDir);
    expect(await readAll(dataDir)).toEqual(before);
  });

  test("gets both with the first server, loses nothing, and tells what counted tokens from what is not known", async () => {
    const dataDir = write("opened", requests);
    const { rows, missing } = await readAll(dataDir);
    const path = takeBack(dataDir);
    for (let start = 0; start < 2; start += 1) prepareUsageDatabase(path);
    const after = await readAll(dataDir);
    const plain = (list: typeof rows) => list.map((row) => Object.assign({}, row, { usage: null }));
    expect(plain(after.rows)).toEqual(plain(rows));
    expect(after.missing).toEqual(missing);
    expect(after.unmetered).toBe(1);
    checkLedger(dataDir);
  });

  test("keeps what comes then, one label set and one result for each", async () => {
    const flex = { ...ENDING, tier: "flex", prices: {}, costPico: null };
    const dataDir = write("new", [
      [{}, ENDING],
      [{}, flex],
      [{}, flex],
      [{}, DOWN],
      [{}, { ...DOWN, failure: "refused" }],
      [{}, { ...DOWN, failure: "tls" }],
    ]);
    const { rows, missing, breakdown } = await readAll(dataDir);
    expect(rows.map(({ tier, failure }) => tier ?? failure ?? null).toReversed()).toEqual([
      null,
      "flex",
      "flex",
      null,
      "refused",
      "tls",
    ]);
    expect(missing.filter(({ tier }) => tier === "flex")).toMatchObject([
      { unit: "input_tokens", requests: 2, quantity: 140 },
      { unit: "output_tokens", requests: 2, quantity: 40 },
      { unit: "cached_input_tokens", requests: 2, quantity: 60 },
    ]);
    expect(breakdown.map(({ failure }: { failure?: string }) => failure ?? null)).toEqual([
      null,
      null,
      "refused",
      "tls",
    ]);
    const database = new Database(join(dataDir, "usage.db"), { readonly: true });
    const count = (table: string) => database.query(`SELECT count(*) AS n FROM ${table}`).get();
    expect([count("combination"), count("result")]).toEqual([{ n: 3 }, { n: 4 }]);
    // No byte more for label sets without a tier: they are found by what they were found by before.
    expect(database.query("SELECT count(*) AS n FROM combination WHERE tier IS NULL").get()).toEqual({
      n: 2,
    });
    database.close();
    checkLedger(dataDir);
  });
});

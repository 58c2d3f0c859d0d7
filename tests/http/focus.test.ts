import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import Papa from "papaparse";
import { picoToDecimal } from "#kernel/units.ts";
import { expectError } from "./support.ts";
import { bearer, startTeam, type Team } from "./team.ts";

let team: Team;
beforeAll(async () => {
  team = await startTeam();
  const { alice, bob } = team;
  await team.record(
    { at: "2026-02-28T23:59:59.999999Z", by: alice },
    { at: "2026-03-01T00:00:00Z", by: alice },
    { at: "2026-03-01T10:00:00Z", by: alice },
    // The price of the same unit changed during the day.
    {
      at: "2026-03-01T11:00:00Z",
      by: alice,
      prices: { input_tokens: 3_000_000 },
      costPico: 18_000_000n,
      unpriced: true,
    },
    {
      at: "2026-03-02T10:00:00Z",
      by: bob,
      tier: "flex",
      prices: { lacks: "tier" },
      costPico: null,
      unpriced: true,
    },
    // Each request is rounded by itself where it has fractions of a second: 0.3333333 s at 7 pico are 2.3 pico.
    ...[1, 2, 3].map((minute) => ({
      at: `2026-03-03T10:0${minute}:00Z`,
      by: bob,
      model: "hear",
      usage: { shape: "inclusive" as const, quantities: { audio_seconds: 0.3333333 } },
      prices: { audio_seconds: 7 },
      costPico: 2n,
    })),
    { at: "2026-04-01T00:00:00Z", by: bob },
  );
});
afterAll(() => team.stop());

interface Row {
  readonly [column: string]: string;
}

async function read(query = "?month=2026-03", headers?: Record<string, string>): Promise<readonly Row[]> {
  const response = await team.get(`/stats/focus${query}`, headers);
  expect(response.status).toBe(200);
  expect(response.headers.get("content-type")).toStartWith("text/csv");
  return Papa.parse<Row>((await response.text()).trimEnd(), { header: true }).data;
}

const toPico = (decimal: string) => {
  const [whole = "0", fraction = ""] = decimal.split(".");
  return BigInt(whole + fraction.padEnd(12, "0"));
};
const on = (rows: readonly Row[], day: string) =>
  rows.filter((row) => row["ChargePeriodStart"] === `${day}T00:00:00Z`);

/** FOCUS 1.4, "Cost and Usage": columns that are mandatory, and whether one may be null. */
const MANDATORY = {
  BilledCost: false,
  BillingAccountId: false,
  BillingAccountName: true,
  BillingCurrency: false,
  BillingPeriodEnd: false,
  BillingPeriodStart: false,
  ChargeCategory: false,
  ChargeClass: true,
  ChargeDescription: true,
  ChargePeriodEnd: false,
  ChargePeriodStart: false,
  ContractedCost: false,
  EffectiveCost: false,
  HostProviderName: false,
  InvoiceIssuerName: false,
  ListCost: false,
  PricingQuantity: true,
  PricingUnit: true,
  ServiceCategory: false,
  ServiceName: false,
  ServiceProviderName: false,
} as const;
const COSTS = ["BilledCost", "ContractedCost", "EffectiveCost", "ListCost"] as const;

describe("GET /stats/focus", () => {
  test("has a row for each day, model, unit, tier, person and key of the month, and none of another month", async () => {
    const rows = await read();
    expect(
      rows.map((row) =>
        [
          row["ChargePeriodStart"]?.slice(0, 10),
          row["x_Principal"],
          row["ServiceName"],
          row["x_Tier"],
          row["x_Unit"],
          row["ConsumedQuantity"],
          row["ListUnitPrice"],
          row["BilledCost"],
          row["x_UnpricedReason"],
        ].join("|"),
      ),
    ).toEqual([
      "2026-03-01|alice|fast||cached_input_tokens|4|||no price",
      "2026-03-01|alice|fast||cached_input_tokens|8|0.0000005|0.000004|",
      "2026-03-01|alice|fast||input_tokens|18||0.00003|",
      "2026-03-01|alice|fast||output_tokens|2|||no price",
      "2026-03-01|alice|fast||output_tokens|4|0.000002|0.000008|",
      "2026-03-02|bob|fast|flex|cached_input_tokens|4|||tier: flex",
      "2026-03-02|bob|fast|flex|input_tokens|6|||tier: flex",
      "2026-03-02|bob|fast|flex|output_tokens|2|||tier: flex",
      "2026-03-03|bob|hear||audio_seconds|0.999999|0.000000000007|0.000000000006|",
    ]);
    for (const row of rows) {
      expect(row["SubAccountId"]).toBe(row["x_Principal"] === "alice" ? team.alice.keyId : team.bob.keyId);
      expect(row["BillingPeriodStart"]).toBe("2026-03-01T00:00:00Z");
      expect(row["BillingPeriodEnd"]).toBe("2026-04-01T00:00:00Z");
    }
  });

  test("adds up to the ledger's cost of each day, to the pico", async () => {
    const rows = await read();
    const { series } = await team.read("/stats/series?since=2026-03-01&until=2026-04-01");
    for (const { start, cost } of series) {
      const sum = on(rows, start.slice(0, 10)).reduce(
        (all, row) => all + toPico(row["BilledCost"] || "0"),
        0n,
      );
      expect(Number(picoToDecimal(sum))).toBe(cost ?? 0);
    }
    expect(series.filter(({ cost }: { cost: number | null }) => cost !== null)).toHaveLength(2);
  });

  test("keeps the column and null rules of FOCUS 1.4, but that what is unpriced has no cost", async () => {
    for (const row of await read()) {
      const isUnpriced = row["x_UnpricedReason"] !== "";
      for (const [column, mayBeNull] of Object.entries(MANDATORY)) {
        const isCost = COSTS.some((name) => name === column);
        expect(row).toHaveProperty(column);
        if (!mayBeNull && !(isCost && isUnpriced))
          expect({ column, row: row[column] }).not.toEqual({ column, row: "" });
        if (isCost && isUnpriced) expect(row[column]).toBe("");
      }
      for (const column of Object.keys(row)) expect(column).toMatch(/^(x_)?[A-Z][A-Za-z]+$/);
      expect(row["ChargeCategory"]).toBe("Usage");
      expect(row["ChargeClass"]).toBe("");
      expect(row["ServiceCategory"]).toBe("AI and Machine Learning");
      expect(row["BillingCurrency"]).toMatch(/^[A-Z]{3}$/);
      for (const column of Object.keys(row).filter((name) => /Period(Start|End)$/.test(name)))
        expect(row[column]).toMatch(/^\d{4}-\d\d-\d\dT00:00:00Z$/);
      for (const column of [...COSTS, "PricingQuantity", "ConsumedQuantity", "ListUnitPrice"])
        expect(row[column]).toMatch(/^(\d+(\.\d+)?)?$/);
      // A price of a SKU stands where a unit price does, and nowhere else.
      expect(row["SkuPriceId"] === "").toBe(row["ListUnitPrice"] === "");
      expect(row["SubAccountName"] === "").toBe(row["SubAccountId"] === "");
      expect(row["PricingUnit"] === "").toBe(row["PricingQuantity"] === "");
    }
  });

  test("shows a member what it used itself, and nothing of others", async () => {
    const rows = await read("?month=2026-03", bearer(team.bob));
    expect(rows.length).toBeGreaterThan(0);
    expect(new Set(rows.map((row) => row["x_Principal"]))).toEqual(new Set(["bob"]));
  });

  test("is the present month without one, in the currency that is named, and nothing but its header for a month without usage", async () => {
    const [rows, inEuros] = [await read(), await read("?currency=EUR")];
    expect(inEuros.map((row) => row["BilledCost"])).toEqual(rows.map((row) => row["BilledCost"]));
    expect(new Set(rows.map((row) => row["BillingCurrency"]))).toEqual(new Set(["USD"]));
    expect(new Set(inEuros.map((row) => row["BillingCurrency"]))).toEqual(new Set(["EUR"]));
    expect(await read("?month=2025-12")).toEqual([]);
    expect(await read("?month=2027-01")).toEqual([]);
  });

  test("refuses what is no month and no currency", async () => {
    for (const query of ["month=2026", "month=2026-13", "month=2026-00", "month=2026-03-01"])
      await expectError(await team.get(`/stats/focus?${query}`), "400 invalid_date");
    await expectError(await team.get("/stats/focus?currency=euro"), "400 invalid_request");
  });
});

import { describe, expect, test } from "bun:test";
import * as fc from "fast-check";
import {
  KEY_MODELS_MAX,
  KEY_SCOPES,
  NO_TERMS,
  parseTerms,
  reviseTerms,
  type SecretTerms,
  type TermsChange,
} from "#identity/secret.ts";
import { ProxyError } from "#kernel/errors.ts";
import { refusalOf } from "./support.ts";

const NOW_US = Date.UTC(2026, 10, 23, 12) * 1000;

describe("terms that are written", () => {
  test.each([
    ["2026-11-23T12:00:01Z", NOW_US + 1_000_000],
    ["2026-11-23T12:00:00.000001Z", NOW_US + 1],
    ["2026-11-23t13:30z", NOW_US + 5_400_000_000],
    ["2026-11-23T14:30:00+02:00", NOW_US + 1_800_000_000],
    ["2026-11-24T00:00:00", NOW_US + 12 * 3_600_000_000],
    ["9999-12-31T23:59:59Z", Date.UTC(9999, 11, 31, 23, 59, 59) * 1000],
  ])("have the expiry %s", (expiresAt, expiresAtUs) => {
    expect(parseTerms({ expiresAt }, NOW_US)).toEqual({ expiresAtUs });
  });

  test.each([
    "",
    "tomorrow",
    "30d",
    "2026-12-01",
    "2026-13-01T00:00:00Z",
    "2026-02-30T00:00:00Z",
    "2026-12-01T24:00:00Z",
    "2026-12-01T00:00:00 02:00",
    "2026-11-23T12:00:00Z",
    "2026-11-23T13:00:00+02:00",
    "2020-01-01T00:00:00Z",
    " 2026-12-01T00:00:00Z",
    1_800_000_000,
    true,
    {},
    [["2026-12-01T00:00:00Z"]],
  ])("with the expiry %p are invalid_expiry", async (expiresAt) => {
    expect(await refusalOf(() => parseTerms({ expiresAt }, NOW_US))).toBe("invalid_expiry expires_at");
  });

  const aliases = (count: number) => Array.from({ length: count }, (_, index) => `m-${index}`);
  test("have 1 to 100 models, each once and in their order, also those that are not in the catalog", () => {
    expect(parseTerms({ models: ["b", "a/x:1", "b"] }, NOW_US)).toEqual({ models: new Set(["b", "a/x:1"]) });
    expect(parseTerms({ models: aliases(KEY_MODELS_MAX) }, NOW_US).models?.size).toBe(100);
  });

  test.each([
    [[]],
    ["gpt"],
    [{}],
    [{ length: 1, 0: "gpt" }],
    [false],
    [7],
    [["gpt", 7]],
    [[null]],
    [["gpt", ""]],
    [["-gpt"]],
    [["gpt 4"]],
    [["gpt\n"]],
    [["x".repeat(201)]],
    [aliases(101)],
  ])("with the models %p are invalid_models", async (models) => {
    expect(await refusalOf(() => parseTerms({ models }, NOW_US))).toBe("invalid_models models");
  });

  test("change nothing where they are left out, and lift what is null", () => {
    expect(parseTerms({}, NOW_US)).toEqual({});
    expect(parseTerms({ expiresAt: null, models: null }, NOW_US)).toEqual({
      expiresAtUs: null,
      models: null,
    });
  });
});

const models = fc.option(
  fc.subarray(["a", "b", "c"], { minLength: 1 }).map((list) => new Set(list)),
  { nil: null },
);
const expiresAtUs = fc.option(fc.integer({ min: 1, max: 5 }), { nil: null });
const change: fc.Arbitrary<TermsChange> = fc.record(
  { expiresAtUs, models, enabled: fc.boolean(), scope: fc.constantFrom(...KEY_SCOPES) },
  { requiredKeys: [] },
);
const changes = fc.array(fc.tuple(fc.constantFrom("owner" as const, "admin" as const), change), {
  maxLength: 12,
});

describe("terms that change", () => {
  test("are what an admin sets, whatever was before; an owner never gets beyond what an admin has set last", () => {
    fc.assert(
      fc.property(changes, (steps) => {
        let terms: SecretTerms = NO_TERMS;
        // The admin's last word on each, told without the rule under test.
        let latest: number | null = null;
        let widest: ReadonlySet<string> | null = null;
        let isHeld = false;
        let isScoped = false;
        for (const [setter, step] of steps) {
          const before = terms;
          try {
            terms = reviseTerms(terms, step, setter);
          } catch (refusal) {
            if (!(refusal instanceof ProxyError)) throw refusal;
            expect([setter, refusal.code]).toEqual(["owner", "admin_required"]);
            const isLater = (step.expiresAtUs ?? Infinity) > (latest ?? Infinity);
            const isWider =
              widest !== null && (step.models === null || !(step.models ?? new Set()).isSubsetOf(widest));
            const wrong: (string | null | false)[] = [
              step.expiresAtUs !== undefined && isLater && "expires_at",
              step.models !== undefined && isWider && "models",
              step.enabled === true && isHeld && "enabled",
              step.scope === "full" && isScoped && "scope",
            ];
            expect(wrong).toContain(refusal.param);
            expect(terms).toBe(before);
            continue;
          }
          if (setter === "admin") {
            if (step.expiresAtUs !== undefined) latest = step.expiresAtUs;
            if (step.models !== undefined) widest = step.models;
            if (step.enabled !== undefined) isHeld = !step.enabled;
            if (step.scope !== undefined) isScoped = step.scope === "inference";
          }
          for (const field of ["expiresAtUs", "models"] as const) {
            expect(terms[field]).toEqual(step[field] === undefined ? before[field] : step[field]);
          }
          if (step.enabled !== undefined) expect(terms.pausedBy === null).toBe(step.enabled);
          else expect(terms.pausedBy).toBe(before.pausedBy);
          if (step.scope !== undefined) expect(terms.scopedBy === null).toBe(step.scope === "full");
          else expect(terms.scopedBy).toBe(before.scopedBy);
          expect(terms.expiresAtUs ?? Infinity).toBeLessThanOrEqual(latest ?? Infinity);
          if (widest !== null)
            expect([...(terms.models ?? ["every"])].every((one) => widest?.has(one))).toBe(true);
          if (isHeld) expect(terms.pausedBy).toBe("admin");
          if (isScoped) expect(terms.scopedBy).toBe("admin");
        }
      }),
      { numRuns: 2_000 },
    );
  });

  test("by their owner are taken back by it, as far as an admin allows", async () => {
    const byAdmin = reviseTerms(NO_TERMS, { expiresAtUs: 9, models: new Set(["a", "b"]) }, "admin");
    const tight = reviseTerms(byAdmin, { expiresAtUs: 5, models: new Set(["b"]), enabled: false }, "owner");
    expect(tight).toMatchObject({ expiresAtUs: 5, models: new Set(["b"]), pausedBy: "owner" });
    expect(
      reviseTerms(tight, { expiresAtUs: 9, models: new Set(["b", "a"]), enabled: true }, "owner"),
    ).toEqual({
      ...byAdmin,
      models: new Set(["b", "a"]),
    });
    const loosen = (step: TermsChange) => refusalOf(() => reviseTerms(tight, step, "owner"));
    expect(await loosen({ expiresAtUs: 10 })).toBe("admin_required expires_at");
    expect(await loosen({ expiresAtUs: null })).toBe("admin_required expires_at");
    expect(await loosen({ models: new Set(["b", "c"]) })).toBe("admin_required models");
    expect(await loosen({ models: null })).toBe("admin_required models");
  });
});

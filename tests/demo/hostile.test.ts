import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { join } from "node:path";
import { isUpstreamName } from "#catalog/model.ts";
import { hasControlCharacter, truncateCodePoints } from "#kernel/text.ts";
import { fillDemo } from "../../contrib/demo/fill.ts";
import { fillHostile, type FilledHostile } from "../../contrib/demo/hostile-fill.ts";
import { CONTROL_TEXTS, HOSTILE_TEXTS } from "../../contrib/demo/hostile-texts.ts";
import { startApp, type TestApp } from "../support/app.ts";
import { makeFolder } from "../support/folder.ts";
import { checkLedger, checkReports } from "../support/invariants.ts";

const WAIT_MS_MAX = 60_000;
const folder = makeFolder();
let filled: FilledHostile;
let app: TestApp;

beforeAll(async () => {
  filled = await fillHostile(join(folder.path, "data"));
  app = await startApp({ dataDir: filled.dataDir });
}, WAIT_MS_MAX);

afterAll(async () => {
  await app.stop();
  folder.remove();
}, WAIT_MS_MAX);

test("there are sixty hostile texts or more, each with a name of its own and none with a control character", () => {
  expect(HOSTILE_TEXTS.length).toBeGreaterThanOrEqual(60);
  const all = [...HOSTILE_TEXTS, ...CONTROL_TEXTS];
  expect(new Set(all.map(({ name }) => name)).size).toBe(all.length);
  expect(new Set(all.map(({ text }) => text)).size).toBe(all.length);
  expect(HOSTILE_TEXTS.filter(({ text }) => hasControlCharacter(text))).toEqual([]);
  expect(CONTROL_TEXTS.filter(({ text }) => !hasControlCharacter(text))).toEqual([]);
});

describe("a folder of hostile texts", () => {
  test("keeps every invariant, and every report counts the same requests", async () => {
    expect(filled.planted).toHaveLength(HOSTILE_TEXTS.length + CONTROL_TEXTS.length);
    checkLedger(filled.dataDir, { isAtRest: true, eventCount: filled.events });
    await checkReports(app.url, app.adminKey);
  });

  test("holds each text in every field that takes it, and gives it back as it is", async () => {
    const { requests } = await read("/stats/requests?limit=500");
    const { models } = await read("/admin/v1/models?limit=500");
    const { keys } = await read("/admin/v1/keys?limit=500");
    const { relay_tokens: tokens } = await read("/admin/v1/relay-tokens?limit=500");
    const { principals } = await read("/admin/v1/principals?limit=500");
    const all = (rows: readonly Row[], field: string) => new Set(rows.map((row) => row[field]));
    const [clients, asked] = [all(requests, "client"), all(requests, "model")];
    const [aliases, upstreamNames] = [all(models, "alias"), all(models, "upstream_name")];
    const kinds = all(requests, "error_kind");
    const names = all(principals, "name");
    for (const { text, ...planted } of filled.planted) {
      const isHostile = HOSTILE_TEXTS.some((each) => each.text === text);
      expect(names).toContain(planted.principalName);
      expect(kinds).toContain(planted.errorKind);
      expect(aliases).toContain(planted.alias);
      expect(asked).toContain(planted.alias);
      if (!isHostile) continue;
      // Only its length may have been cut.
      expect(planted.keyLabel).toBe(truncateCodePoints(text, 120));
      expect(all(keys, "label")).toContain(planted.keyLabel);
      expect(all(tokens, "label")).toContain(planted.relayTokenLabel);
      expect(planted.upstreamName).toBe(truncateCodePoints(text, 200));
      expect(upstreamNames).toContain(planted.upstreamName);
      expect(asked).toContain(planted.relayedModel);
      expect(planted.client).toBe(truncateCodePoints(text, 256));
      expect(clients).toContain(planted.client);
    }
    const tags = new Set(requests.flatMap((request: { tags: string[] }) => request.tags));
    for (const tag of ["text:constructor", "null:text", "javascript:void"]) expect(tags).toContain(tag);
    expect(filled.planted.filter(({ isAlias }) => isAlias).length).toBeGreaterThan(6);
    expect(names).not.toContain("__proto__");
    const { entries } = await read("/admin/v1/pricing");
    const priced = new Set(entries.map((price: { model: string }) => price.model));
    for (const { text } of HOSTILE_TEXTS.filter((each) => isUpstreamName(each.text)))
      expect(priced).toContain(text);
  });

  test("never becomes a formula in a spreadsheet, nor a line of its own", async () => {
    const headers = { authorization: `Bearer ${app.adminKey}`, accept: "text/csv" };
    const response = await app.api("GET", "/stats/requests", undefined, headers);
    expect(response.headers.get("content-type")).toContain("text/csv");
    const records = readCsv(await response.text());
    // And the header line.
    expect(records).toHaveLength(filled.events + 1);
    expect(new Set(records.map((cells) => cells.length)).size).toBe(1);
    const cells = new Set(records.flat());
    expect([...cells].filter((cell) => /^[=+@＝-]/.test(cell))).toEqual([]);
    expect(cells.has("'=cmd|'/c calc'!A0")).toBe(true);
    expect(cells.has("one\u2028two\u2029three")).toBe(true);
  });

  test(
    "is planted into an installation that was filled before, without touching what was there",
    async () => {
      const dataDir = join(folder.path, crypto.randomUUID());
      const untilUs = Date.now() * 1000;
      const before = await fillDemo(dataDir, { days: 3, untilUs });
      const after = await fillHostile(dataDir, { untilUs });
      checkLedger(dataDir, { isAtRest: true, eventCount: before.events + after.events });
      const refusal: unknown = await fillHostile(dataDir).catch((cause: unknown) => cause);
      expect(refusal).toMatchObject({ code: "provider_exists" });
      checkLedger(dataDir, { isAtRest: true, eventCount: before.events + after.events });
    },
    WAIT_MS_MAX,
  );
});

type Row = { readonly [field: string]: unknown };

async function read(path: string) {
  const response = await app.api("GET", path);
  const text = await response.text();
  if (response.status !== 200) throw new Error(`${path} answered ${response.status}: ${text}`);
  return JSON.parse(text);
}

/** RFC 4180: the cells of each record. */
function readCsv(text: string): string[][] {
  const records: string[][] = [];
  let cells: string[] = [];
  for (const [, quoted, plain = "", end] of text.matchAll(/(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r\n|$)/g)) {
    cells.push(quoted === undefined ? plain : quoted.replaceAll('""', '"'));
    if (end === ",") continue;
    if (end === "\r\n") records.push(cells);
    cells = [];
  }
  return records;
}

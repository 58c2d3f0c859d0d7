import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { brotliDecompressSync, gunzipSync, zstdDecompressSync } from "node:zlib";
import { bearer, startTeam, type Team } from "./team.ts";

const DECODE = { zstd: zstdDecompressSync, br: brotliDecompressSync, gzip: gunzipSync } as const;
const EVENTS = 60;

let team: Team;
beforeAll(async () => {
  team = await startTeam();
  const at = (index: number) => `2026-03-02T00:00:${String(index).padStart(2, "0")}Z`;
  const { alice, bob } = team;
  await team.record(
    ...Array.from({ length: EVENTS }, (_, index) => ({
      at: at(index),
      by: index % 2 === 0 ? alice : bob,
      client: `client-${index}`,
    })),
  );
});
afterAll(() => team.stop());

/** As it came: not decoded on the way. */
async function get(path: string, coding: string, headers: Record<string, string> = bearer(team.alice)) {
  const response = await fetch(`${team.url}${path}`, {
    headers: { ...headers, "accept-encoding": coding },
    decompress: false,
  });
  return { response, bytes: await response.bytes() };
}

const varies = (response: Response) =>
  (response.headers.get("vary") ?? "").split(", ").includes("accept-encoding");

describe("an answer in JSON", () => {
  test.each([
    "/stats/requests",
    "/stats/summary",
    "/stats/errors?bucket=month",
    "/stats/series?bucket=hour&since=2026-03-01",
    "/stats/series?bucket=hour&since=2026-03-01&group_by=client",
    "/stats/requests/facets",
    "/stats/breakdown?by=client",
    "/openapi.json",
  ])("of %s is the same in each coding, and a fraction of the bytes", async (path) => {
    const plain = await get(path, "identity");
    expect(plain.response.headers.get("content-encoding")).toBeNull();
    expect(varies(plain.response)).toBe(true);
    for (const coding of ["zstd", "br", "gzip"] as const) {
      const { response, bytes } = await get(path, coding);
      expect(response.headers.get("content-encoding")).toBe(coding);
      expect(response.headers.get("content-type")).toBe(plain.response.headers.get("content-type"));
      expect(varies(response)).toBe(true);
      expect(Buffer.from(DECODE[coding](bytes)).equals(Buffer.from(plain.bytes))).toBe(true);
      expect(bytes.length).toBeLessThan(plain.bytes.length / 2);
    }
  });

  test("is in the coding with the greatest quality, of equal ones in the quickest", async () => {
    for (const [header, coding] of [
      ["gzip, deflate, br, zstd", "zstd"],
      ["gzip, br;q=0.9", "gzip"],
      ["br;q=0.5, gzip;q=0.4", "br"],
      ["deflate", null],
      ["zstd;q=0, gzip;q=0", null],
    ] as const) {
      const { response } = await get("/stats/requests", header);
      expect([header, response.headers.get("content-encoding")]).toEqual([header, coding]);
    }
  });

  test("that is small goes out as it is, and a look for what is new in less than 2 kB, headers included", async () => {
    const { response, bytes } = await get("/stats/requests?after=", "zstd");
    expect(response.headers.get("content-encoding")).toBeNull();
    expect(JSON.parse(new TextDecoder().decode(bytes))).toMatchObject({ requests: [], gap: false });
    const head = [...response.headers].reduce(
      (sum, [name, value]) => sum + name.length + value.length + 4,
      0,
    );
    expect(head + bytes.length).toBeLessThan(1_000);
  });

  test.each(["/stats/requests", "/stats/errors?bucket=month", "/stats/requests?after=", "/openapi.json"])(
    "of %s is told to a HEAD to vary as it does to a GET, whatever coding was asked for, and nothing of it is sent",
    async (path) => {
      for (const coding of ["identity", "zstd"]) {
        const { response } = await get(path, coding);
        const head = await fetch(`${team.url}${path}`, {
          method: "HEAD",
          headers: { ...bearer(team.alice), "accept-encoding": coding },
          decompress: false,
        });
        expect(varies(head)).toBe(true);
        expect(head.headers.get("vary")).toBe(response.headers.get("vary"));
        expect((await head.bytes()).length).toBe(0);
      }
    },
  );

  test("as a table of a reader is compressed as CSV too", async () => {
    const headers = { ...bearer(team.alice), accept: "text/csv" };
    const { response, bytes } = await get("/stats/summary", "gzip", headers);
    expect(response.headers.get("content-encoding")).toBe("gzip");
    expect(new TextDecoder().decode(gunzipSync(bytes)).split("\r\n")).toHaveLength(EVENTS + 2);
  });
});

describe("what is never compressed", () => {
  test("a key that was made, beside a label that others may have chosen", async () => {
    const response = await fetch(`${team.url}/my/keys`, {
      method: "POST",
      headers: {
        ...bearer(team.alice),
        "accept-encoding": "zstd, br, gzip",
        "content-type": "application/json",
      },
      body: JSON.stringify({
        label: "x".repeat(120),
        models: Array.from({ length: 60 }, (_, n) => `model-of-a-long-name-${n}`),
      }),
      decompress: false,
    });
    expect(response.status).toBe(201);
    expect(response.headers.get("content-encoding")).toBeNull();
    expect((await response.text()).length).toBeGreaterThan(1_024);
  });

  test("an answer of the data plane, a refusal, and the answer to a HEAD", async () => {
    const models = await get("/v1/models", "zstd");
    expect(models.response.headers.get("content-encoding")).toBeNull();
    expect(varies(models.response)).toBe(false);
    const refused = await get(`/stats/series?group_by=${"x".repeat(2_000)}`, "zstd");
    expect([refused.response.status, refused.response.headers.get("content-encoding")]).toEqual([400, null]);
    const head = await fetch(`${team.url}/stats/requests`, {
      method: "HEAD",
      headers: { ...bearer(team.alice), "accept-encoding": "zstd" },
    });
    expect([head.status, head.headers.get("content-encoding")]).toEqual([200, null]);
  });
});

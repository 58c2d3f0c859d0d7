import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { RELAY_PROVIDER } from "#usage/event.ts";
import { createCaller, expectError } from "./support.ts";
import {
  bearer,
  CANCELLED,
  LIMITED,
  signedIn,
  startTeam,
  UNREACHABLE,
  type Member,
  type Team,
} from "./team.ts";

let team: Team;
/** Bore the name `carol` and left; somebody else bears it now. */
let formerCarol: Member;
let carol: Member;

beforeAll(async () => {
  team = await startTeam();
  const { alice, bob } = team;
  formerCarol = await createCaller(team, "carol");
  await team.record({ at: "2026-03-08T10:00:00Z", by: formerCarol, model: "slow" });
  await team.deps.principals.delete(formerCarol.principal.id, null);
  carol = await createCaller(team, "carol");
  await team.record(
    { at: "2026-03-08T23:59:59.999999Z", by: alice },
    { at: "2026-03-09T00:00:00Z", by: alice, endpoint: "embeddings" },
    { at: "2026-03-09T00:00:01Z", by: bob, model: "Zeta" },
    { at: "2026-03-10T00:00:00Z", by: alice, model: "Zeta", provider: "gone" },
    { at: "2026-03-10T00:00:01Z", by: alice, ...CANCELLED },
    { at: "2026-03-10T00:00:02Z", by: alice, ...LIMITED },
    { at: "2026-03-10T00:00:03Z", by: alice, ...UNREACHABLE },
    {
      at: "2026-03-10T00:00:04Z",
      by: alice,
      provider: RELAY_PROVIDER,
      endpoint: "/v1/messages",
      model: null,
    },
    { at: "2026-03-11T10:00:00Z", by: carol },
  );
});
afterAll(() => team.stop());

const units = { input_tokens: 6, output_tokens: 2, cached_input_tokens: 4 };
const twice = { input_tokens: 12, output_tokens: 4, cached_input_tokens: 8 };
const row = { model: "fast", endpoint: "chat", requests: 1, cancelled: 0, cost: 0.000012, units };

describe("GET /my/usage", () => {
  test("groups by model and endpoint, sorted by alias, with exactly the keys of a summary row", async () => {
    expect(await team.read("/my/usage", bearer(team.alice))).toEqual({
      usage: [
        { ...row, model: "Zeta" },
        { ...row, requests: 2, cancelled: 1, cost: 0.000024, units: twice },
        { ...row, endpoint: "embeddings" },
      ],
    });
  });

  test("is the caller's own by any of its credentials, and empty for one that used nothing", async () => {
    expect(await team.read("/my/usage", await signedIn(team, team.bob))).toEqual({
      usage: [{ ...row, model: "Zeta" }],
    });
    expect(await team.read("/my/usage")).toEqual({ usage: [] });
  });

  test("never shows what another used who once had the caller's name", async () => {
    expect(await team.read("/my/usage", bearer(carol))).toEqual({ usage: [row] });
    const { series } = await team.read("/my/usage/series?since=2026-03-08", bearer(carol));
    expect(series.map(({ requests }: any) => requests)).toEqual([0, 0, 0, 1]);
  });

  test("takes since inclusive and until exclusive, and an empty window is no usage", async () => {
    const read = (query: string) => team.read(`/my/usage?${query}`, bearer(team.alice));
    expect(await read("since=2026-03-09&until=2026-03-10")).toEqual({
      usage: [{ ...row, endpoint: "embeddings" }],
    });
    expect(await read("since=2026-03-10&until=2026-03-10")).toEqual({ usage: [] });
    expect(await read("since=2026-03-10&until=2026-03-09")).toEqual({ usage: [] });
  });

  test("knows no filter but the window: nobody reads another's usage with one, and a wrong one is no error", async () => {
    const all = await team.read("/my/usage", bearer(team.alice));
    const query = "principal=bob&key=x&provider=up&model=Zeta&outcome=nope&tag=a:1&bucket=minute";
    expect(await team.read(`/my/usage?${query}`, bearer(team.alice))).toEqual(all);
    const { series } = await team.read("/my/usage/series?principal=bob&outcome=nope", bearer(team.alice));
    expect(series.map(({ requests }: any) => requests)).toEqual([1, 1, 5, 0]);
  });

  test("comes as CSV with the columns of a row", async () => {
    const response = await team.get("/my/usage", { ...bearer(team.alice), accept: "text/csv" });
    expect([
      response.headers.get("content-type"),
      response.headers.get("content-disposition"),
      response.headers.get("vary"),
    ]).toEqual([
      "text/csv; charset=utf-8; header=present",
      'attachment; filename="my-usage.csv"',
      "accept, accept-encoding",
    ]);
    expect((await response.text()).split("\r\n")).toEqual([
      "model,endpoint,requests,cancelled,cost,input_tokens,output_tokens,cached_input_tokens,audio_seconds",
      "Zeta,chat,1,0,0.000012,6,2,4,",
      "fast,chat,2,1,0.000024,12,4,8,",
      "fast,embeddings,1,0,0.000012,6,2,4,",
      "",
    ]);
  });
});

describe("GET /my/usage/series", () => {
  test("starts at the caller's own first event, not at another's, and fills the gaps", async () => {
    const { bucket, series } = await team.read("/my/usage/series", bearer(team.alice));
    expect(bucket).toBe("day");
    expect(series.map(({ start, ok, cancelled, failed }: any) => [start, ok, cancelled, failed])).toEqual([
      ["2026-03-08T00:00:00.000000Z", 1, 0, 0],
      ["2026-03-09T00:00:00.000000Z", 1, 0, 0],
      ["2026-03-10T00:00:00.000000Z", 2, 1, 2],
      ["2026-03-11T00:00:00.000000Z", 0, 0, 0],
    ]);
    const weeks = await team.read("/my/usage/series?bucket=week", bearer(team.alice));
    expect(weeks.series.map(({ start, requests }: any) => [start.slice(0, 10), requests])).toEqual([
      ["2026-03-02", 1],
      ["2026-03-09", 6],
    ]);
  });

  test("is grouped like the team's, but not by principal, of which there is one", async () => {
    const { series, groups, other } = await team.read("/my/usage/series?group_by=model", bearer(team.alice));
    expect(groups.map(({ value, requests }: any) => [value, requests])).toEqual([
      ["fast", 5],
      [null, 1],
      ["Zeta", 1],
    ]);
    expect(other).toBeNull();
    expect(groups[0].series).toHaveLength(series.length);
    await expectError(
      await team.get("/my/usage/series?group_by=principal", bearer(team.alice)),
      "400 invalid_request",
      "group_by",
    );
  });

  test("is empty for a caller without an event", async () => {
    expect(await team.read("/my/usage/series")).toEqual({ bucket: "day", series: [] });
  });
});

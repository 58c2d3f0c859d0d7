import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { call, expectError } from "./support.ts";
import { bearer, startTeam, type Team, type Used } from "./team.ts";

let team: Team;
beforeAll(async () => {
  team = await startTeam();
});
afterAll(() => team.stop());

const FAILED = { outcome: "upstream_error", statusCode: 500, usage: null, costPico: null } as const;
const HUNG_UP = { outcome: "cancelled", statusCode: 499, usage: null, costPico: null } as const;

/** Requests of one client on a day of March 2026. */
const onDay = (
  day: number,
  rest: Partial<Used> & Pick<Used, "by">,
  [ended, failed]: readonly [number, number],
) =>
  Array.from({ length: ended }, (_, index): Used => ({
    at: `2026-03-${String(day).padStart(2, "0")}T10:${String(index).padStart(2, "0")}:00Z`,
    ...rest,
    ...(index < failed && FAILED),
  }));

/** A request at each of some seconds of 10 March 2026. */
const atSeconds = (hour: number, seconds: readonly number[], rest: Omit<Used, "at">) =>
  seconds.map((second): Used => Object.assign({ at: `2026-03-10T${hour}:00:0${second}Z` }, rest));

describe("versions of clients that fail more often", () => {
  beforeAll(async () => {
    const { alice, bob } = team;
    const old = "Continue/1.3.20 (linux)";
    await team.record(
      ...[2, 3, 4].flatMap((day) => onDay(day, { by: alice, client: old }, [20, 1])),
      // Two User-Agents of one version, neither of which has enough requests by itself.
      ...[6, 7].flatMap((day) => onDay(day, { by: alice, client: "Continue/1.3.21 (linux)" }, [8, 4])),
      ...[6, 7].flatMap((day) => onDay(day, { by: alice, client: "Continue/1.3.21 (mac)" }, [8, 4])),
      ...[2, 3, 9].flatMap((day) => onDay(day, { by: bob, client: "curl/8.5" }, [20, day === 9 ? 15 : 0])),
      ...Array.from({ length: 5 }, (_, index) => ({
        at: `2026-03-07T20:0${index}:00Z`,
        by: alice,
        client: "Continue/1.3.21 (linux)",
        ...HUNG_UP,
      })),
      // A prefix of the version, and one that it is a prefix of.
      { at: "2026-03-08T10:00:00Z", by: alice, client: "Continue/1.3.2", ...FAILED },
      { at: "2026-03-08T10:01:00Z", by: alice, client: "Continue/1.3.210 (linux)", ...FAILED },
    );
  });

  const WINDOW = "since=2026-03-05T12:00:00Z&until=2026-03-10";

  test("are told to an admin with the day and both shares, of the four weeks before the window's end", async () => {
    const answer = await team.read(`/stats/errors/clients?${WINDOW}`);
    expect(answer).toEqual({
      since: "2026-02-10T00:00:00.000000Z",
      until: "2026-03-10T00:00:00.000000Z",
      clients: [
        {
          client: "curl/8.5",
          name: "curl",
          version: "8.5",
          since: "2026-03-09",
          now: { requests: 20, failed: 15, share: 0.75 },
          before: { of: "version", requests: 40, failed: 0, share: 0 },
          elsewhere: { requests: 0, failed: 0, share: 0 },
        },
        {
          client: "Continue/1.3.21",
          name: "Continue",
          version: "1.3.21",
          since: "2026-03-06",
          now: { requests: 32, failed: 16, share: 0.5 },
          before: { of: "client", requests: 60, failed: 3, share: 0.05 },
          elsewhere: { requests: 20, failed: 15, share: 0.75 },
        },
      ],
    });
  });

  test("lead to exactly those requests by the version that is told, which no longer version meets", async () => {
    const count = async (filter: string) => {
      const query = `since=2026-03-06&until=2026-03-10&outcome=upstream_error&${filter}`;
      return (await team.read(`/stats/requests?${query}`)).total;
    };
    expect(await count("client_version=Continue/1.3.21")).toBe(16);
    expect(await count("client=Continue/1.3.21")).toBe(17);
    expect(await count("client_version=Continue/1.3.2")).toBe(1);
    expect(await count("client_version=Continue/1.3.2&client_version=Continue/1.3.21")).toBe(17);
    expect(await count("client_version=Continue/1.3")).toBe(0);
  });

  test("are a member's own alone, and obey every filter", async () => {
    const clientsOf = async (query: string, headers?: Record<string, string>) =>
      (await team.read(`/stats/errors/clients?${WINDOW}${query}`, headers)).clients.map(
        ({ client }: { client: string }) => client,
      );
    expect(await clientsOf("", bearer(team.bob))).toEqual(["curl/8.5"]);
    expect(await clientsOf("", bearer(team.alice))).toEqual(["Continue/1.3.21"]);
    expect(await clientsOf("&client=Continue")).toEqual(["Continue/1.3.21"]);
    expect(await clientsOf("&model=none")).toEqual([]);
    // Counted row by row.
    expect(await clientsOf("&min_duration_ms=1")).toEqual(["curl/8.5", "Continue/1.3.21"]);
  });

  test("of before the window, which no longer fail in it, are not told", async () => {
    const { clients } = await team.read("/stats/errors/clients?since=2026-03-08&until=2026-03-10");
    expect(clients.map(({ client }: { client: string }) => client)).toEqual(["curl/8.5"]);
  });
});

describe("storms of retries", () => {
  beforeAll(async () => {
    const { alice, bob } = team;
    const rest = { by: alice, client: "loop/1", durationUs: 200_000 };
    const failed = { ...rest, ...FAILED };
    await team.record(
      ...atSeconds(10, [0, 2, 4, 6, 8], failed),
      ...atSeconds(10, [9], rest),
      // As often without a failure; to another model, by another key; and too fast for anybody but a program.
      ...atSeconds(11, [0, 2, 4, 6, 8], rest),
      ...atSeconds(12, [0, 2, 4], { ...failed, model: "slow" }),
      ...atSeconds(12, [1, 3, 5], { ...failed, by: bob }),
      ...atSeconds(13, [1, 3, 5, 7], { ...failed, by: bob, keyId: null, durationUs: 1000 }),
    );
  });

  const WINDOW = "since=2026-03-10&until=2026-03-11";

  test("are told to an admin with key, model, client, tokens, cost and how long they took", async () => {
    const answer = await team.read(`/stats/errors/retries?${WINDOW}`);
    expect(answer).toMatchObject({
      storms: [
        {
          principal: "alice",
          model: "fast",
          client: "loop/1",
          attempts: 6,
          failed: 5,
          first_at: "2026-03-10T10:00:00.000000Z",
          last_at: "2026-03-10T10:00:09.000000Z",
        },
        {
          principal: "bob",
          key_id: null,
          key_label: null,
          attempts: 4,
          failed: 4,
          input_tokens: null,
          cost: null,
        },
      ],
      total: { storms: 2, attempts: 10 },
    });
    const [{ key_id: keyId, key_label: label, input_tokens: input, cost }] = answer.storms;
    const { requests } = await team.read(
      `/stats/requests?since=2026-03-10T10:00:00Z&until=2026-03-10T10:00:09.000001Z&key=${keyId}&model=fast&client=loop/1`,
    );
    expect(requests).toHaveLength(6);
    expect([label, cost]).toEqual([requests[0].key_label, requests[0].cost]);
    expect(input).toBe(requests[0].units.input_tokens);
    expect(answer.total.cost).toBe(cost);
  });

  test("are a member's own alone, and obey every filter", async () => {
    const peopleOf = async (query: string, headers?: Record<string, string>) =>
      (await team.read(`/stats/errors/retries?${WINDOW}${query}`, headers)).storms.map(
        ({ principal }: { principal: string }) => principal,
      );
    expect(await peopleOf("", bearer(team.alice))).toEqual(["alice"]);
    expect(await peopleOf("", bearer(team.bob))).toEqual(["bob"]);
    expect(await peopleOf("&principal=alice", bearer(team.bob))).toEqual([]);
    expect(await peopleOf("&model=slow")).toEqual([]);
    expect(await peopleOf("&max_duration_ms=10")).toEqual(["bob"]);
  });

  test("refuse a date that is none by the name of its parameter, as versions of clients do", async () => {
    for (const path of ["retries", "clients"])
      await expectError(
        await call(team, "GET", `/stats/errors/${path}?since=then`, { headers: team.asAdmin }),
        "400 invalid_date",
        "since",
      );
  });
});

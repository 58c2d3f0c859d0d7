import { CAPABILITIES } from "#catalog/capability.ts";
import { afterEach, beforeAll, expect, test } from "bun:test";
import { ENDPOINT_NAMES, toRow } from "#catalog/endpoint.ts";
import { checkInvariants } from "../invariants/invariants.ts";
import { executable } from "../support/executable.ts";
import { callApi, provide } from "../support/installation.ts";
import { toTaggedId } from "../support/invariants.ts";
import { readNumber } from "../support/scale.ts";
import { startUpstream, type ScriptedUpstream, type UpstreamCall } from "../support/upstream.ts";
import { BODIES } from "./bodies.ts";
import { judge, runCells, toLastRuns, toLimitMs, toSent, type Cell, type Run } from "./cells.ts";
import { EDGES, type Opened } from "./edges.ts";
import { ENDPOINTS, KINDS, toMaking, toWhole, type Endpoint } from "./endpoints.ts";
import { HEADS } from "./heads.ts";
import { CONNECT_SECONDS, MODEL, startSite, type Site } from "./site.ts";

/**
 * Every way in which an upstream fails × every endpoint, against the built executable: what the caller gets and how soon,
 * what is recorded, and that nothing of it is tried twice.
 */

const SETUP_MS_MAX = 120_000;
const TEST_MS_MAX = 400_000;
/** Cells that wait longer run only where this says so: the relay connects for 10 s and waits for 300 s. */
const WAIT_MS_MAX = (readNumber("LOCKPORT_FAULT_WAIT_SECONDS") ?? 2) * 1_000;
const isLongRun = WAIT_MS_MAX > 2_000;
const WIDTH = 6;
/** More than there are of those that wait for a limit. */
const WIDTH_OF_WAITING = 32;
const BEHAVIOURS = [...HEADS, ...BODIES];

let lockport: string;
const running: { stop(): unknown }[] = [];

beforeAll(async () => {
  lockport = await executable();
}, SETUP_MS_MAX);
afterEach(async () => {
  for (const each of running.splice(0).toReversed()) await each.stop();
});

async function openSite(baseUrl: string, relayUrl = baseUrl): Promise<Site> {
  const site = await startSite({ lockport, baseUrl, relayUrl });
  running.push({ stop: () => site.installation.remove() });
  return site;
}

const isWaitedFor = (cell: Cell) => toLimitMs(cell) <= WAIT_MS_MAX;

/** The cells that one behaviour has, one for each of these endpoints. */
function toCells(
  name: string,
  id: string,
  toCell: (endpoint: Endpoint) => Pick<Cell, "expected" | "limit" | "model">,
  endpoints: readonly Endpoint[] = KINDS,
): readonly Cell[] {
  return endpoints.map((endpoint) => ({
    id: `${id}-${endpoint.name}`,
    what: `an upstream that ${name}, ${endpoint.name}`,
    endpoint,
    ...toCell(endpoint),
  }));
}

interface Checked {
  readonly site: Site;
  readonly runs: readonly Run[];
  readonly upstream: ScriptedUpstream;
  readonly abandoned?: readonly UpstreamCall[];
}

/** What is wrong with the runs, once everything that holds for all of them has been looked at. */
async function check({ site, runs, upstream, abandoned = [] }: Checked): Promise<readonly string[]> {
  const ids = runs.map(({ cell }) => cell.id);
  const well = { "x-proxy-tags": "id:well" };
  const { events } = await checkInvariants({
    ...site,
    ask: () =>
      callApi(site.server.url, site.asked.key, "POST", "/v1/chat/completions", { model: MODEL }, well),
    answers: runs.map(({ answer }) => answer),
    abandoned,
    received: upstream.requests.filter(({ headers }) => headers.get("x-api-key") === undefined),
    attempts: {
      arrivals: countArrivals(upstream),
      ended: ids,
      sent: [...toSent(runs.map(({ cell }) => cell)), "well"],
    },
  });
  const byId = new Map(events.map((event) => [toTaggedId(event), event]));
  return toLastRuns(runs)
    .map((run) => judge(run, byId.get(run.cell.id)))
    .filter((wrong) => wrong !== null);
}

function countArrivals(upstream: ScriptedUpstream): ReadonlyMap<string, number> {
  const arrivals = new Map<string, number>();
  for (const { headers } of upstream.requests) {
    const id = headers.get("x-cell");
    if (id !== undefined) arrivals.set(id, (arrivals.get(id) ?? 0) + 1);
  }
  return arrivals;
}

test("every row of the table of endpoints has cells, whole and streamed", () => {
  expect(new Set(ENDPOINTS.map(({ row }) => row))).toEqual(new Set([...ENDPOINT_NAMES, "relay"] as const));
  const streamed = ENDPOINT_NAMES.filter(
    (name) => toRow(name).fields.includes("stream") && toRow(name).kind === "metered",
  );
  for (const name of streamed) expect(ENDPOINTS.filter(({ row }) => row === name)).toHaveLength(2);
});

test(
  "whatever an upstream does, its caller has a clean answer or a broken connection in time, and one event is recorded",
  async () => {
    const cells = BEHAVIOURS.flatMap(({ name, expect: toExpected, limit, isDear = false }, index) =>
      toCells(
        name,
        String(index),
        (endpoint) => ({
          expected: toExpected(endpoint),
          limit: limit?.(endpoint) ?? null,
          model: MODEL,
        }),
        isLongRun || (limit === undefined && !isDear) ? ENDPOINTS : KINDS,
      ),
    );
    const calls = new Map<string, UpstreamCall>();
    const played = new Map<string, number>();
    const upstream = await startUpstream({
      script: async (call) => {
        const id = call.request.headers.get("x-cell") ?? "";
        const [index, endpointName] = id.split("-");
        const { parts } = ENDPOINTS.find(({ name }) => name === endpointName) ?? ENDPOINTS[0]!;
        const made = call.request.headers.get("x-made");
        calls.set(id, call);
        if (made !== undefined) await call.reply({ body: toMaking(made).answer });
        else
          await (id === ""
            ? call.reply({ body: toWhole(parts) })
            : BEHAVIOURS[Number(index)]!.play(call, parts));
        played.set(id, performance.now());
      },
    });
    running.push(upstream);
    const site = await openSite(upstream.baseUrl);
    const wanted = cells.filter(isWaitedFor);
    const isPatient = (cell: Cell) => toLimitMs(cell) > 1_000;
    const [patient, runs] = await Promise.all([
      runCells(site, wanted.filter(isPatient), { width: WIDTH_OF_WAITING, played }),
      runCells(
        site,
        wanted.filter((cell) => !isPatient(cell)),
        { width: WIDTH, played },
      ),
    ]);
    const left = wanted.filter(({ expected }) => expected.kind === "left").map(({ id }) => calls.get(id)!);
    await Promise.all(left.map(({ closed }) => closed));
    const ran = [...patient, ...runs];
    expect(await check({ site, runs: ran, upstream, abandoned: left })).toEqual([]);
    report("cells of an upstream that is reached", ran, cells.length);
  },
  TEST_MS_MAX,
);

test(
  "an upstream that no request gets to is a clean 502 in time, nothing is sent to it, and one event is recorded",
  async () => {
    const upstream = await startUpstream({
      script: (call) => call.reply({ body: toWhole(ENDPOINTS[0]!.parts) }),
    });
    running.push(upstream);
    const site = await openSite(upstream.baseUrl);
    const edges = (
      await Promise.all(EDGES.map(async (edge) => ({ edge, opened: await edge.open() })))
    ).filter((one): one is typeof one & { opened: Opened } => one.opened !== null);
    running.push(...edges.map(({ opened }) => opened));
    const sites: { readonly site: Site; readonly cells: readonly Cell[] }[] = [];
    for (const [index, { edge, opened }] of edges.entries()) {
      const model = `edge-${index}`;
      await provide(site.server.url, site.asked.key, {
        name: model,
        baseUrl: opened.baseUrl,
        models: { [model]: "um" },
        capabilities: CAPABILITIES,
        more: { timeout_connect: CONNECT_SECONDS },
      });
      const cells = toCells(edge.name, model, () => ({ expected: edge.expect(), limit: edge.limit, model }));
      const isRelay = ({ endpoint }: Cell) => endpoint.name === "relay";
      sites.push({ site, cells: cells.filter((cell) => !isRelay(cell)) });
      // A server has one relay: each edge takes one of its own, of which the usual run starts the first.
      if (isLongRun || index === 0)
        sites.push({
          site: await openSite(upstream.baseUrl, opened.baseUrl),
          cells: cells.filter(isRelay).filter(isWaitedFor),
        });
    }
    const runs = await Promise.all(
      sites.map(async (one) => ({
        site: one.site,
        runs: await runCells(one.site, one.cells, { width: WIDTH }),
      })),
    );
    const ofSite = Map.groupBy(runs, (one) => one.site);
    for (const [of, some] of ofSite) {
      const ran = some.flatMap((one) => one.runs);
      expect(await check({ site: of, runs: ran, upstream })).toEqual([]);
    }
    expect(upstream.requests.filter(({ headers }) => headers.has("x-cell"))).toEqual([]);
    report(
      "cells of an upstream that is not reached",
      runs.flatMap((one) => one.runs),
      EDGES.length * KINDS.length,
    );
  },
  TEST_MS_MAX,
);

function report(what: string, runs: readonly Run[], count: number): void {
  const last = toLastRuns(runs);
  const lateMs = Math.round(Math.max(...last.map((run) => run.lateMs)));
  console.log(
    `${last.length} of ${count} ${what}, ${runs.length - last.length} run again; at most ${lateMs} ms late`,
  );
}

import { CAPABILITIES } from "#catalog/capability.ts";
import { afterEach, beforeAll, expect, test } from "bun:test";
import { openCaller } from "../forward/caller.ts";
import { checkInvariants } from "../invariants/invariants.ts";
import { executable } from "../support/executable.ts";
import { callApi, provide } from "../support/installation.ts";
import { toTaggedId } from "../support/invariants.ts";
import type { CheckedEvent } from "../support/ledger-totals.ts";
import { openBlackHole, startUpstream, type BlackHole, type UpstreamCall } from "../support/upstream.ts";
import { busyLimit } from "../support/waiting.ts";
import { toRequestBytes } from "./ask.ts";
import { make, toSent } from "./cells.ts";
import { ENDPOINTS, toMaking, toWhole, type Endpoint } from "./endpoints.ts";
import { PHASES, type Phase } from "./phases.ts";
import { MODEL, startSite, type Site } from "./site.ts";

/** Every moment at which a caller can leave × every endpoint, against the built executable. */

const SETUP_MS_MAX = 120_000;
const TEST_MS_MAX = 120_000;
/** Invariant 7. */
const CLOSING_MS_MAX = 1_000;
/** Longer than any of this takes: whatever ends does so because its caller left. */
const PATIENCE_SECONDS = 100;
const WIDTH = 6;
const HOLE_MODEL = "hole";

let lockport: string;
const running: { stop(): unknown }[] = [];

beforeAll(async () => {
  lockport = await executable();
}, SETUP_MS_MAX);
afterEach(async () => {
  for (const each of running.splice(0).toReversed()) await each.stop();
});

interface Cell {
  readonly id: string;
  readonly phase: Phase;
  readonly endpoint: Endpoint;
}

interface Left {
  readonly cell: Cell;
  /** Null where no connection to an upstream was there to be closed. */
  readonly call: UpstreamCall | null;
  readonly closedAfterMs: number;
}

/** Calls of the upstream by the cell that they belong to, also those that have not come yet. */
class Calls {
  readonly #calls = new Map<string, PromiseWithResolvers<UpstreamCall>>();

  of(id: string): PromiseWithResolvers<UpstreamCall> {
    const known = this.#calls.get(id) ?? Promise.withResolvers();
    this.#calls.set(id, known);
    return known;
  }
}

async function openSite(baseUrl: string, relayUrl?: string): Promise<Site> {
  const more = { timeout_connect: PATIENCE_SECONDS, timeout_read: PATIENCE_SECONDS };
  const site = await startSite({ lockport, baseUrl, more, ...(relayUrl === undefined ? {} : { relayUrl }) });
  running.push({ stop: () => site.installation.remove() });
  return site;
}

/** Asks, leaves in this phase, and waits until the upstream is left, too. */
async function leave(site: Site, { id, phase, endpoint }: Cell, calls: Calls): Promise<Left> {
  const headers = { "x-cell": id, "x-proxy-tags": `id:${id}`, ...site.asked.headers };
  const model = phase.isConnecting === true ? HOLE_MODEL : MODEL;
  if (endpoint.isById === true) await make(site, id);
  const request = toRequestBytes(endpoint.ask(model, { ...site.asked, headers }));
  const caller = await openCaller({
    port: site.port,
    raw: (phase.cut?.(request) ?? request).toString("latin1"),
  });
  if (phase.seen === undefined && phase.leave !== undefined) caller.stopReading();
  const call = phase.play === undefined ? null : await calls.of(id).promise;
  if (call !== null) await phase.play?.(call, endpoint.parts);
  // It was let in at least when a request that came later has been answered.
  else await (await fetch(`${site.server.url}/v1/models`)).text();
  const seen = phase.seen?.(endpoint.parts);
  if (seen !== undefined && !endpoint.isHeld) await caller.waitFor(Buffer.from(seen).toString("latin1"));
  expect(call?.isClosed() ?? false).toBe(false);
  const leftAtMs = performance.now();
  if (phase.leave === undefined) caller.hangUp();
  else phase.leave(caller);
  await call?.closed;
  const closedAfterMs = performance.now() - leftAtMs;
  caller.hangUp();
  return { cell: { id, phase, endpoint }, call, closedAfterMs };
}

/** What is asked for by its id has no body, and is where it was made: an upstream that answers no attempt has made none. */
const canBeById = ({ name, isConnecting }: Phase) => name !== "inside its body" && isConnecting !== true;

function judge({ cell, closedAfterMs }: Left, event: CheckedEvent | undefined): string | null {
  const { name, recorded } = cell.phase;
  const expected = recorded(cell.endpoint);
  const seen = event && { outcome: event.outcome, isMetered: event.input_tokens !== null };
  const what = `a caller that leaves ${name}, ${cell.endpoint.name}`;
  if (closedAfterMs > busyLimit(CLOSING_MS_MAX)) return `${what}: closed after ${closedAfterMs} ms`;
  if (Bun.deepEquals(seen ?? null, expected)) return null;
  return `${what}: ${JSON.stringify(seen)} in place of ${JSON.stringify(expected)}`;
}

async function check(site: Site, left: readonly Left[]): Promise<readonly string[]> {
  const recorded = left.filter(({ cell }) => cell.phase.recorded(cell.endpoint) !== null);
  const ids = recorded.map(({ cell }) => cell.id);
  const reached = left.filter(({ call }) => call !== null);
  const { events } = await checkInvariants({
    ...site,
    ask: () =>
      callApi(
        site.server.url,
        site.asked.key,
        "POST",
        "/v1/chat/completions",
        { model: MODEL },
        {
          "x-proxy-tags": "id:well",
        },
      ),
    abandoned: reached.map(({ call }) => call!),
    attempts: {
      arrivals: new Map(reached.map(({ cell }) => [cell.id, 1])),
      ended: ids,
      sent: [...toSent(left.map(({ cell }) => cell)), "well"],
    },
  });
  const byId = new Map(events.map((event) => [toTaggedId(event), event]));
  return left.map((one) => judge(one, byId.get(one.cell.id))).filter((wrong) => wrong !== null);
}

test(
  "in whatever phase a caller leaves, its upstream is left within a second, and what it got is one event",
  async () => {
    const calls = new Calls();
    const upstream = await startUpstream({
      script: (call) => {
        const id = call.request.headers.get("x-cell");
        const made = call.request.headers.get("x-made");
        if (made !== undefined) return call.reply({ body: toMaking(made).answer });
        if (id === undefined) return call.reply({ body: toWhole(ENDPOINTS[0]!.parts) });
        return calls.of(id).resolve(call);
      },
    });
    running.push(upstream);
    const hole: BlackHole | null = await openBlackHole();
    if (hole !== null) running.push(hole);
    const site = await openSite(upstream.baseUrl);
    const relaySite = hole === null ? null : await openSite(upstream.baseUrl, hole.baseUrl);
    if (hole !== null)
      await provide(site.server.url, site.asked.key, {
        name: HOLE_MODEL,
        baseUrl: hole.baseUrl,
        models: { [HOLE_MODEL]: "um" },
        capabilities: CAPABILITIES,
        more: { timeout_connect: PATIENCE_SECONDS },
      });

    const all = PHASES.flatMap((phase, index) =>
      ENDPOINTS.filter(({ isById }) => isById !== true || canBeById(phase)).map((endpoint) => ({
        id: `${index}-${endpoint.name}`,
        phase,
        endpoint,
      })),
    );
    const cells = hole === null ? all.filter(({ phase }) => phase.isConnecting !== true) : all;
    const left: Left[] = [];
    const waiting = [...cells];
    const work = async () => {
      for (let cell = waiting.shift(); cell !== undefined; cell = waiting.shift()) {
        const isOfRelay = cell.phase.isConnecting === true && cell.endpoint.name === "relay";
        left.push(await leave((isOfRelay ? relaySite : site) ?? site, cell, calls));
      }
    };
    await Promise.all(Array.from({ length: WIDTH }, work));
    const isOfRelay = ({ cell }: Left) => cell.phase.isConnecting === true && cell.endpoint.name === "relay";
    expect(
      await check(
        site,
        left.filter((one) => !isOfRelay(one)),
      ),
    ).toEqual([]);
    if (relaySite !== null) expect(await check(relaySite, left.filter(isOfRelay))).toEqual([]);
    const slowestMs = Math.round(Math.max(...left.map(({ closedAfterMs }) => closedAfterMs)));
    console.log(`${left.length} of ${all.length} cells of callers that leave; closed within ${slowestMs} ms`);
  },
  TEST_MS_MAX,
);

import { expect } from "bun:test";
import { readFileSync } from "node:fs";
import { findValue, parseExposition } from "../support/exposition.ts";
import type { Installation } from "../support/installation.ts";
import { checkLedger, checkReports, type Attempts } from "../support/invariants.ts";
import type { CheckedEvent } from "../support/ledger-totals.ts";
import type { RunningProcess } from "../support/process.ts";
import type { ReceivedRequest, UpstreamCall } from "../support/upstream.ts";
import { checkRefusal, isUpstreams, readAnswer, type Answer } from "./answers.ts";
import { Planted, readFiles } from "./planted.ts";

const RECOVERY_MS_MAX = 5_000;
const RESIDENT_MIB_MAX = 512;
/** Series of `/metrics`, far above what a scenario with a handful of models may make. */
const SERIES_MAX = 3_000;
const RETRY_MS = 50;
/** A part of a thousand means something only with some thousands of looks at the loop. */
const LAG_LOOKS_MIN = 3_000;

/** Facts that a scenario knows of itself when it is over. */
export interface Scenario {
  readonly installation: Installation;
  readonly server: RunningProcess;
  /** A request as any other, of which the answer is to be 200. */
  readonly ask: () => Promise<Response>;
  readonly attempts?: Attempts;
  /** Answers that callers got. */
  readonly answers?: readonly Answer[];
  /** Requests that reached the `/v1` upstreams. */
  readonly received?: readonly ReceivedRequest[];
  /** Upstream calls whose callers have left. */
  readonly abandoned?: readonly UpstreamCall[];
  /** Prompts, completions, credentials. Those of the installation come by themselves. */
  readonly planted?: Planted;
  /** Files in which a planted thing may stand, by what it is. */
  readonly places?: Readonly<Record<string, RegExp>>;
}

export interface Figures {
  readonly events: readonly CheckedEvent[];
  readonly peakMib: number;
  readonly recoveredAfterMs: number;
  /** Null where the loop was looked at too seldom. */
  readonly lagMsAtP999: number | null;
}

/** Where the installation's own secrets are meant to be. */
const OWN_PLACES: Readonly<Record<string, RegExp>> = {
  "the admin password": /^admin-password$/,
  "the secret key": /^secret\.key$/,
};

/**
 * Rules that hold after every scenario, whatever happened in it. The server has to be running: it is asked once more, looked
 * at from outside, and stopped, and what it leaves behind is read. Bytes relayed, the matrix of rights and what is committed
 * (invariants 4, 9, 10 and 11) are a scenario's own to look at, since only it knows what it asked for.
 */
export async function checkInvariants(scenario: Scenario): Promise<Figures> {
  const { installation, server, answers = [], attempts = {} } = scenario;
  const recoveredAfterMs = await checkRecovery(scenario);
  const { metrics, lagMsAtP999 } = await checkMetrics(server);
  for (const call of scenario.abandoned ?? []) expect(call.isClosed()).toBe(true);
  for (const answer of answers) checkRefusal(answer);
  await checkReports(server.url, installation.adminKey);
  const peakMib = readPeakMib(server.pid);
  expect(peakMib).toBeLessThan(RESIDENT_MIB_MAX);
  expect({ code: await server.stop(), output: findBugs(server.output()) }).toEqual({ code: 0, output: [] });
  const events = checkLedger(installation.dataDir, { ...attempts, isAtRest: true });
  checkSecrecy(scenario, metrics);
  return { events, peakMib, recoveredAfterMs, lagMsAtP999 };
}

/** Invariant 6: within five seconds of a fault's end a usual request succeeds and reports are whole, in the same process. */
async function checkRecovery({ ask, server }: Scenario): Promise<number> {
  const startMs = performance.now();
  const exited = server.exited.then((code) => {
    throw new Error(`the server has ended with ${code}: ${server.output().slice(-2_000)}`);
  });
  exited.catch(() => undefined);
  for (;;) {
    const answer = await Promise.race([ask().then(readAnswer, String), exited]);
    if (typeof answer !== "string" && answer.status === 200) break;
    if (performance.now() - startMs > RECOVERY_MS_MAX) {
      throw new Error(`no request succeeds: ${JSON.stringify(answer)}`);
    }
    await Bun.sleep(RETRY_MS);
  }
  await journalIsRead(server.url);
  const tookMs = performance.now() - startMs;
  expect(tookMs).toBeLessThan(RECOVERY_MS_MAX);
  return tookMs;
}

/** Fulfilled when all that was recorded is in the database: reports that are read before count less. */
export async function journalIsRead(url: string): Promise<void> {
  for (;;) {
    const metrics = parseExposition(await (await fetch(`${url}/metrics`)).text());
    if (findValue(metrics, "proxy_journal_uncommitted_bytes") === 0) return;
    await Bun.sleep(RETRY_MS);
  }
}

/** Invariant 12: the series are bounded, and the event loop is seldom late. */
async function checkMetrics(server: RunningProcess) {
  const metrics = await (await fetch(`${server.url}/metrics`)).text();
  const families = parseExposition(metrics);
  expect(metrics.split("\n").filter((line) => /^[a-z]/.test(line)).length).toBeLessThan(SERIES_MAX);
  const looks = findValue(families, "proxy_event_loop_lag_seconds_count") ?? 0;
  if (looks < LAG_LOOKS_MIN) return { metrics, lagMsAtP999: null };
  const buckets = families.get("proxy_event_loop_lag_seconds")?.samples ?? [];
  const bound = buckets.find(({ value }) => value >= looks * 0.999)?.labels["le"];
  return { metrics, lagMsAtP999: Number(bound?.replace("+Inf", "Infinity")) * 1_000 };
}

/** The most that it ever had in memory. Linux only; 0 elsewhere. */
export function readPeakMib(pid: number): number {
  if (process.platform !== "linux") return 0;
  const [, kib = ""] = /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8")) ?? [];
  return Math.round(Number(kib) / 1024);
}

/** Lines that tell of a bug, not of a fault outside. */
function findBugs(output: string): readonly string[] {
  return output.split("\n").filter((line) => /unhandled|uncaught|internal_error|panic/i.test(line));
}

/** Invariants 3 and 8: nothing that was planted is where it does not belong. */
function checkSecrecy(scenario: Scenario, metrics: string): void {
  const { installation, server, answers = [], received = [], planted = new Planted() } = scenario;
  const places = { ...OWN_PLACES, ...scenario.places };
  const files = readFiles(installation.dataDir);
  const readOwn = (name: string) => files.get(name)?.toString().trim() ?? "";
  const own = new Planted();
  own.plant("the admin's key", installation.adminKey);
  own.plant("the admin password", readOwn("admin-password"));
  own.plant("the secret key", readOwn("secret.key"));
  const found: string[] = [];
  const look = (where: string, bytes: Buffer, from: readonly Planted[]) => {
    for (const what of from.flatMap((one) => one.findIn(bytes))) {
      if (places[what]?.test(where) !== true) found.push(`${what} in ${where}`);
    }
  };
  for (const [name, bytes] of files) look(name, bytes, [own, planted]);
  look("what it said", Buffer.from(server.output()), [own, planted]);
  look("the metrics", Buffer.from(metrics), [own, planted]);
  for (const answer of answers.filter((one) => one.status >= 400 && !isUpstreams(one))) {
    const text = `${[...answer.headers].join("\n")}\n${answer.body}`;
    look(`a ${answer.status}: ${answer.body.slice(0, 300)}`, Buffer.from(text), [own, planted]);
  }
  for (const { head, body } of received) {
    look("a request to an upstream", Buffer.concat([Buffer.from(head), body]), [own]);
  }
  expect(found).toEqual([]);
}

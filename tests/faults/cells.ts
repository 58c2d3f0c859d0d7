import { expect } from "bun:test";
import type { CheckedEvent } from "../support/ledger-totals.ts";
import { askRaw, type RawAnswer } from "./ask.ts";
import type { Expected, Limit } from "./behaviour.ts";
import { callApi } from "../support/installation.ts";
import { toMaking, type Endpoint } from "./endpoints.ts";
import {
  CONNECT_SECONDS,
  MODEL,
  READ_SECONDS,
  RELAY_CONNECT_SECONDS,
  RELAY_SILENCE_SECONDS,
  type Site,
} from "./site.ts";

/** One behaviour of an upstream at one endpoint. */
export interface Cell {
  readonly id: string;
  readonly what: string;
  readonly endpoint: Endpoint;
  /** The model that is asked for. */
  readonly model: string;
  readonly expected: Expected;
  readonly limit: Limit;
}

/** A cell's caller has its answer, or its end, so soon after the limit that it waits for. */
const GRACE_MS = 500;
const AGAIN_MAX = 2;
/** The runtime's timers may be so much ahead. */
const EARLY_MS = 10;
/** More than any answer but one without an end. */
const LEAVE_AFTER_BYTES = 2 * 1024 * 1024;

/** What the cell's caller waits for, from its request on; with no limit it waits for the upstream to do what it does. */
export function toLimitMs({ endpoint, limit }: Cell): number {
  if (limit === null) return 0;
  const isRelay = endpoint.name === "relay";
  if (limit === "connect") return (isRelay ? RELAY_CONNECT_SECONDS : CONNECT_SECONDS) * 1_000;
  return (isRelay ? RELAY_SILENCE_SECONDS : READ_SECONDS) * 1_000;
}

/** What became of a cell's request. */
export interface Run {
  readonly cell: Cell;
  readonly answer: RawAnswer;
  /** How long after what it waited for the caller had its answer, or its end. */
  readonly lateMs: number;
}

/** When an upstream had done all that it does, by the cell. */
export type Played = ReadonlyMap<string, number>;

/** Makes the response that a cell asks for. */
export async function make({ server, asked }: Site, cell: string): Promise<void> {
  const { headers } = toMaking(cell);
  const made = await callApi(server.url, asked.key, "POST", "/v1/responses", { model: MODEL }, headers);
  expect(made.status).toBe(200);
  await made.text();
}

/** The tagged ids that these cells leave: their own, and those of what was made for them. */
export const toSent = (cells: readonly Pick<Cell, "id" | "endpoint">[]) =>
  cells.flatMap(({ id, endpoint }) => (endpoint.isById === true ? [id, `made-${id}`] : [id]));

async function runCell(site: Site, cell: Cell, played: Played): Promise<Run> {
  const headers = { "x-cell": cell.id, "x-proxy-tags": `id:${cell.id}`, ...site.asked.headers };
  const asking = cell.endpoint.ask(cell.model, { ...site.asked, headers });
  if (cell.endpoint.isById === true) await make(site, cell.id);
  const startMs = performance.now();
  const leaves = cell.expected.kind === "left" ? { leaveAfterBytes: LEAVE_AFTER_BYTES } : {};
  const answer = await askRaw(site.port, asking, leaves);
  const fromMs = cell.limit === null ? (played.get(cell.id) ?? startMs) : startMs + toLimitMs(cell);
  return { cell, answer, lateMs: performance.now() - fromMs };
}

/**
 * Runs of the cells, so many at a time. One that comes late beside others is run again alone, as another request, at most
 * twice, and its last run counts: what is late then is not late for want of a processor.
 */
export async function runCells(
  site: Site,
  cells: readonly Cell[],
  { width, played = new Map() }: { readonly width: number; readonly played?: Played },
): Promise<readonly Run[]> {
  const runs: Run[] = [];
  const waiting = [...cells];
  const work = async () => {
    for (let cell = waiting.shift(); cell !== undefined; cell = waiting.shift())
      runs.push(await runCell(site, cell, played));
  };
  await Promise.all(Array.from({ length: width }, work));
  for (let again = 1; again <= AGAIN_MAX; again += 1) {
    for (const { cell } of toLastRuns(runs).filter(({ lateMs }) => lateMs > GRACE_MS))
      runs.push(await runCell(site, { ...cell, id: `${cell.id}-${again}` }, played));
  }
  return runs;
}

/** The run of each cell that counts. */
export function toLastRuns(runs: readonly Run[]): readonly Run[] {
  return [...new Map(runs.map((run) => [run.cell.what, run])).values()];
}

/** What is wrong with it; null: nothing. */
export function judge(run: Run, event: CheckedEvent | undefined): string | null {
  try {
    expectAnswer(run);
    expectEvent(run, event);
    expect(run.lateMs).toBeLessThan(GRACE_MS);
    // A limit that cuts short what it should wait for.
    if (run.cell.limit !== null) expect(run.lateMs).toBeGreaterThan(-EARLY_MS);
    return null;
  } catch (error) {
    return `${run.cell.what}: ${Bun.stripANSI(String(error))}`;
  }
}

function expectAnswer({ cell, answer }: Run): void {
  const { expected } = cell;
  const { status, headers, body, isWhole } = answer;
  // Whether the first bytes of a stream had gone to its caller before the end came is chance.
  if (expected.kind === "refused" || (expected.kind === "broken" && status === 502)) {
    expect({ status, isWhole, source: headers.get("x-proxy-error-source"), body }).toEqual({
      status: 502,
      isWhole: true,
      source: "proxy",
      body: expect.stringContaining(expected.error),
    });
    expect(JSON.parse(body).error.code).toBe("provider_unreachable");
    return;
  }
  if (expected.kind === "passed") {
    const isSame = body === expected.body;
    const seen = { status, isWhole, isSame, body: isSame ? "" : body.slice(0, 500) };
    expect(seen).toEqual({ status: expected.status, isWhole: true, isSame: true, body: "" });
    expect(headers.has("x-proxy-error-source") && headers.get("x-proxy-error-source")).not.toBe("proxy");
    return;
  }
  expect({ status, isWhole }).toEqual({ status: 200, isWhole: false });
}

function expectEvent({ cell }: Run, event: CheckedEvent | undefined): void {
  const { expected } = cell;
  const { outcome, status_code, error_kind, input_tokens, output_tokens } = Object(event);
  const seen = { outcome, status_code, error_kind };
  switch (expected.kind) {
    case "refused":
      return expect(seen).toEqual({ outcome: "unreachable", status_code: 502, error_kind: expected.error });
    case "broken":
      return expect(seen).toEqual({ outcome: "unreachable", status_code: 502, error_kind: expected.error });
    case "left":
      return expect(seen).toEqual({ outcome: "cancelled", status_code: 200, error_kind: null });
    case "passed":
      return expect({ ...seen, input_tokens, output_tokens }).toEqual({
        outcome: expected.outcome,
        status_code: expected.status,
        error_kind: expected.errorKind,
        input_tokens: expected.units?.input_tokens ?? null,
        output_tokens: expected.units?.output_tokens ?? null,
      });
  }
}

import { expect, test } from "bun:test";
import { createMetricsText } from "#http/metrics/operation.ts";
import { createUsageMetrics } from "#usage/metrics.ts";
import { findValue, parseExposition } from "../support/exposition.ts";

const REQUEST = { endpoint: "chat", provider: "up", model: "fast" };
const ENDING = {
  statusCode: 200,
  outcome: "ok",
  errorKind: null,
  durationUs: 1,
  timeToFirstByteUs: null,
  usage: null,
  prices: {},
  costPico: null,
  unpriced: false,
} as const;

/** Every look at the monotonic clock takes this long. */
function startPage(lookMs: number) {
  let nowMs = 0;
  let openStreams = 0;
  const usage = createUsageMetrics();
  const text = createMetricsText(
    {
      usage,
      limits: { refusals: () => [], peersAgeMs: () => 0 },
      notices: null,
      exchange: { activeCount: () => 0, activeStreamCount: () => openStreams, waitingCount: () => 0 },
      health: () => ({ isServing: true, replica: null }),
      ledger: () => ({
        filesLost: 0,
        filesMissing: 0,
        journalPendingBytes: 0,
        journalReservedBytes: 1_048_576,
        journalUncommittedBytes: 0,
        writerRunning: true,
        writerCommits: 0,
        writerEvents: 0,
        writerFailures: 0,
        writerLastCommitMs: 0,
        readerWaiting: 0,
        combinations: 0,
      }),
      refusals: { counts: () => new Map() },
      loopLag: { histogram: () => ({ counts: [], count: 0, sumMs: 0 }), maxMs: () => 0 },
    },
    { nowUs: () => 0, monotonicMs: () => (nowMs += lookMs) },
  );
  const read = (name: string, labels: Record<string, string>) =>
    findValue(parseExposition(text()), name, labels);
  return {
    count: () => usage.open(REQUEST).count(ENDING),
    countedThere: () => read("proxy_requests_total", { ...REQUEST, outcome: "ok" }),
    openStreams: () => read("proxy_open_streams", {}),
    openStream: () => void (openStreams += 1),
    pass: (ms: number) => void (nowMs += ms),
  };
}

test("what was counted is on the page at once, however often it is asked for, as long as spelling it is quick", () => {
  const page = startPage(0.1);
  for (let count = 1; count <= 300; count += 1) {
    page.count();
    expect([page.countedThere(), page.countedThere()]).toEqual([count, count]);
  }
});

test("past its share of a second the page is not spelled again for anybody, and is right again with the next second", () => {
  const page = startPage(30);
  const seen = Array.from({ length: 8 }, () => {
    page.count();
    return page.countedThere();
  });
  expect(seen).toEqual([1, 2, 3, 4, 4, 4, 4, 4]);
  page.pass(1000);
  expect(page.countedThere()).toBe(8);
});

test("asking again when nothing was counted uses nothing of that share, and the gauges are never old", () => {
  const page = startPage(30);
  for (let turn = 1; turn <= 20; turn += 1) {
    page.openStream();
    expect(page.openStreams()).toBe(turn);
  }
  page.count();
  expect(page.countedThere()).toBe(1);
  for (let turn = 0; turn < 5; turn += 1) {
    page.count();
    page.openStream();
    page.countedThere();
  }
  expect(page.openStreams()).toBe(25);
});

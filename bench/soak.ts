/**
 * A long mixed load on the executable: `bun bench/soak.ts [--minutes 30] [--binary dist/lockport]` (after `npm run build`).
 * Unary answers, streams, embeddings, relayed streams and reports, 5 % of the callers hanging up. Fails when resident memory
 * grows by more than 1 MB a minute after the first fifth, or when the recorded rows are not what the upstream saw.
 */
import { parseArgs } from "node:util";
import { toLockport } from "./contenders.ts";
import { BINARY, readCpuMs, readPeakMb, readResidentMb } from "./executable.ts";
import { toSoakRequests } from "./scenes.ts";
import { runLoad, startUpstream, writeRequests } from "./wire.ts";

const PER_SECOND = 250;
const CONNECTIONS = 600;
const HANGUP_SHARE = 0.05;
const SLOPE_MAX = 1;
const SAMPLE_MS = 5_000;
/** Caches fill and the heap finds its size. */
const SETTLING_SHARE = 0.2;
const RECORDED_DEADLINE_MS = 10_000;

const { values: options } = parseArgs({
  options: { minutes: { type: "string", default: "30" }, binary: { type: "string", default: BINARY } },
});
const seconds = Number(options.minutes) * 60;
const upstream = await startUpstream();
await upstream.set({ events: 50, interval: 10_000 });
const running = await toLockport(options.binary).start(`http://127.0.0.1:${upstream.port}`);
const samples: { readonly minute: number; readonly residentMb: number }[] = [];
let reports = 0;
const startedMs = performance.now();
const timer = setInterval(() => {
  const residentMb = readResidentMb(running.pid);
  samples.push({ minute: (performance.now() - startedMs) / 60_000, residentMb });
  if (samples.length % 12 === 0) console.error(`${samples.length / 12} min: ${residentMb.toFixed(0)} MB`);
  void running.ask("/admin/v1/usage/summary").then(() => (reports += 1));
}, SAMPLE_MS);

try {
  const load = await runLoad(writeRequests(toSoakRequests(running)), running.port, {
    connections: CONNECTIONS,
    rate: PER_SECOND,
    seconds,
    hangup: HANGUP_SHARE,
  });
  clearInterval(timer);
  const { requests: seen, open } = await upstream.seen();
  const deadline = performance.now() + RECORDED_DEADLINE_MS;
  let recorded = await running.countRecorded();
  for (; recorded !== seen && performance.now() < deadline; recorded = await running.countRecorded())
    await Bun.sleep(250);
  const settled = samples.slice(Math.floor(samples.length * SETTLING_SHARE));
  const slope = toSlope(settled);
  const isSteady = slope <= SLOPE_MAX;
  const isWhole = recorded === seen && load.failures === 0;
  const first = settled[0]?.residentMb ?? Number.NaN;
  console.log(
    [
      `${options.minutes} minutes at ${PER_SECOND} requests/s: ${load.requests} answered, ${load.hangups} hung up, ${load.failures} failed ${load.firstFailure}, ${load.unsent} never sent, ${reports} reports`,
      `recorded ${recorded}, the upstream saw ${seen} (${open} streams still open): ${isWhole ? "equal" : "**not equal**"}`,
      `resident ${first.toFixed(0)} MB after a fifth, ${readResidentMb(running.pid).toFixed(0)} in the end, ${readPeakMb(running.pid).toFixed(0)} at most; slope ${slope.toFixed(2)} MB a minute, goal ${SLOPE_MAX}: ${isSteady ? "met" : "**missed**"}`,
      `${((readCpuMs(running.pid) * 1000) / seen).toFixed(0)} µs of CPU a request; answer p50 ${load.latencyUs?.p50} µs, p99 ${load.latencyUs?.p99} µs; delay of an event p50 ${load.delayUs?.p50} µs, p99 ${load.delayUs?.p99} µs`,
    ].join("\n"),
  );
  process.exitCode = isSteady && isWhole ? 0 : 1;
} finally {
  clearInterval(timer);
  await running.stop();
  await upstream.stop();
}

/** Megabytes a minute, by least squares. */
function toSlope(of: typeof samples): number {
  const mean = (read: (sample: (typeof samples)[number]) => number) =>
    of.reduce((sum, sample) => sum + read(sample), 0) / of.length;
  const minute = mean((sample) => sample.minute);
  const residentMb = mean((sample) => sample.residentMb);
  const together = mean((sample) => (sample.minute - minute) * (sample.residentMb - residentMb));
  return together / mean((sample) => (sample.minute - minute) ** 2);
}

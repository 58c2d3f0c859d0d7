/**
 * The page's cost in a browser on a filled installation, run by hand: `bun bench/page.ts` (needs two quiet cores and some
 * minutes). It builds the executable, fills 60 days of a demonstration, and prints a table: the largest paint of a cold
 * first look, what it transfers by encoding, how far anything moves, a scroll through 500 requests, and what an hour of the
 * live tail with 20,000 requests leaves in memory, its clock turned as fast as the page follows (`--polls`: so many looks
 * instead of 1,800). `--only first`, `scroll` or `tail`
 * measures that alone. Exits 1 when a goal is missed.
 */
import { cpus } from "node:os";
import { parseArgs } from "node:util";
import type { CDPSession } from "playwright-core";
import { findChromium, launchChromium } from "../tests/browser/support/chromium.ts";
import { rest } from "../tests/browser/support/rest.ts";
import { signInAsAdmin } from "../tests/browser/support/sign-in.ts";
import { startSite } from "../tests/browser/support/site.ts";
import { openVisitor, type Visitor } from "../tests/browser/support/visitor.ts";
import { readVitals } from "../tests/browser/support/vitals.ts";
import { callApi, provide } from "../tests/support/installation.ts";
import { startUpstream } from "../tests/support/upstream.ts";
import { below, createTable, toFigure, type Goal } from "./table.ts";

const LOOKS = 7;
const PAINT_GOAL_MS = 400;
const FIRST_LOAD_GOAL_KB = 230;
const ENCODINGS = ["gzip", "br"] as const;
/** The tail looks every 2 s: so often in an hour. */
const POLLS = "1800";
const POLL_MS = 2_000;
/** Shares of all polls after which memory is read; from the first one on the tail holds its full number of rows. */
const READ_AT_SHARES = [0.1, 0.4, 0.7, 1];
/** 19,800 in an hour of looks. */
const REQUESTS_A_POLL = 11;
const HEAP_GROWTH_GOAL_MB = 2;

type Part = "first" | "later" | "answer";
const PARTS: readonly (readonly [part: Part, name: string])[] = [
  ["first", "What the page needs to begin"],
  ["later", "What Overview loads besides"],
  ["answer", "What the reports answer"],
];

const { values: options } = parseArgs({
  options: { polls: { type: "string", default: POLLS }, only: { type: "string" } },
});
const polls = Number(options.polls);

const path = findChromium();
if (path === null) throw new Error("There is no Chromium on this machine: install one, or set CHROMIUM.");
const table = createTable();
let isHeld = true;
const report = (name: string, text: string, goal: Goal | null = null) => {
  table.report(name, text, goal);
  isHeld &&= goal?.isMet ?? true;
};

const upstream = await startUpstream({
  script: (call) => call.reply({ body: '{"usage":{"prompt_tokens":1000,"completion_tokens":10}}' }),
});
const site = await startSite({ demo: { days: 60 } });
const browser = await launchChromium(path);
try {
  await provide(site.url, await site.adminKey(), {
    name: "bench",
    baseUrl: upstream.baseUrl,
    models: { "bench-model": "bench-upstream" },
    pricing: { input_tokens: 2, output_tokens: 4 },
  });
  for (const [name, measure] of Object.entries({
    first: measureFirstLook,
    scroll: measureScroll,
    tail: measureTail,
  })) {
    if (options.only === undefined || options.only === name) await measure();
  }
} finally {
  await browser.close();
  await site.stop();
  await upstream.stop();
}
const machine = `${cpus()[0]?.model ?? "unknown processor"}, ${cpus().length} cores, ${browser.version()}`;
table.print(`The page on ${new Date().toISOString().slice(0, 10)} (${machine})`, ["figure"]);
process.exitCode = isHeld ? 0 : 1;

async function visit(): Promise<Visitor> {
  const visitor = await openVisitor(browser, { baseUrl: site.url });
  await signInAsAdmin(visitor, site);
  return visitor;
}

async function measureFirstLook(): Promise<void> {
  const paints: number[] = [];
  let cls = 0;
  let fetched: readonly Fetched[] = [];
  for (let look = 0; look < LOOKS; look += 1) {
    // A profile of its own: nothing is cached.
    const { page, context } = await visit();
    const seen: Fetched[] = [];
    page.on("request", (request) =>
      seen.push({ url: request.url(), part: toPart(request.resourceType(), seen) }),
    );
    await page.goto("/");
    await page.getByRole("rowheader").first().waitFor();
    await rest(page);
    const vitals = await readVitals(page);
    paints.push(vitals.lcpMs ?? Number.NaN);
    cls = Math.max(cls, vitals.cls);
    fetched = seen;
    await context.close();
  }
  const paint = median(paints);
  report(
    "Largest paint of a cold first look",
    `median ${toFigure(paint)} ms, worst ${toFigure(Math.max(...paints))} ms`,
    below(paint, PAINT_GOAL_MS, " ms"),
  );
  report("Layout shift of the first look", cls.toFixed(4), below(cls, 0, ""));
  for (const encoding of ENCODINGS) {
    let filesKb = 0;
    for (const [part, name] of PARTS) {
      const urls = fetched.filter((one) => one.part === part).map(({ url }) => url);
      const kilobytes = await transfer(urls, encoding);
      if (part !== "answer") filesKb += kilobytes;
      report(`${name}, ${encoding}`, `${toFigure(kilobytes)} kB in ${urls.length}`);
    }
    const goal = below(filesKb, FIRST_LOAD_GOAL_KB, " kB");
    report(`The page's files of a first look, ${encoding}`, `${toFigure(filesKb)} kB`, goal);
  }
}

interface Fetched {
  readonly url: string;
  readonly part: Part;
}

/** The page has begun when it asks who is signed in. */
function toPart(resourceType: string, seen: readonly Fetched[]): Part {
  if (resourceType === "fetch") return "answer";
  return seen.some(({ part }) => part === "answer") ? "later" : "first";
}

/** Kilobytes of bodies as they come over the wire to who takes this encoding alone. */
async function transfer(urls: readonly string[], encoding: (typeof ENCODINGS)[number]): Promise<number> {
  let sizeBytes = 0;
  for (const url of urls) {
    const headers = { "accept-encoding": encoding, authorization: `Bearer ${await site.adminKey()}` };
    const response = await fetch(url, { headers, decompress: false });
    if (!response.ok) throw new Error(`${url} answered ${response.status}`);
    sizeBytes += (await response.arrayBuffer()).byteLength;
  }
  return sizeBytes / 1000;
}

/** From the first of 500 rows to the last by the wheel. */
async function measureScroll(): Promise<void> {
  const { page, context } = await visit();
  await page.goto("/requests?range=all&rows=500");
  const region = page.getByRole("region", { name: "Requests", exact: true });
  await region.locator("tr[data-index]").first().waitFor();
  await rest(page);
  const before = (await readVitals(page)).longTasks.length;
  await region.hover();
  for (let isMore = true; isMore;) {
    await page.mouse.wheel(0, 240);
    await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(resolve)));
    isMore = await region.evaluate((box) => box.scrollTop + box.clientHeight < box.scrollHeight - 1);
  }
  const tasks = (await readVitals(page)).longTasks.slice(before);
  const longest = Math.max(0, ...tasks.map(({ durationMs }) => durationMs));
  report(
    "Scroll through 500 requests",
    `${tasks.length} long tasks, longest ${toFigure(longest)} ms`,
    below(tasks.length, 0, ""),
  );
  await context.close();
}

/** An hour of the tail with some requests in each of its looks, by a clock that is turned for it. */
async function measureTail(): Promise<void> {
  const { page, context } = await visit();
  await page.clock.install({ time: Date.now() });
  await page.goto("/requests?live=1&range=24h");
  await page.getByText("Live: updates every 2 seconds").waitFor();
  const session = await context.newCDPSession(page);
  const begunMs = performance.now();
  const seen: Memory[] = [];
  const looks = READ_AT_SHARES.map((share) => Math.ceil(polls * share));
  for (let poll = 1; poll <= polls; poll += 1) {
    await Promise.all(Array.from({ length: REQUESTS_A_POLL }, ask));
    const looked = page.waitForResponse((response) => response.url().includes("/stats/requests?"));
    await page.clock.runFor(POLL_MS);
    await looked;
    if (looks.includes(poll)) seen.push(await readMemory(session));
  }
  const speed = (polls * POLL_MS) / (performance.now() - begunMs);
  const growthMb = (seen.at(-1)?.heapMb ?? Number.NaN) - (seen[0]?.heapMb ?? Number.NaN);
  const after = `after ${looks.join(", ")} looks`;
  report(
    `Live tail, ${polls * REQUESTS_A_POLL} requests (× ${toFigure(speed)}): MB ${after}`,
    seen.map(({ heapMb }) => toFigure(heapMb)).join(", "),
    below(growthMb, HEAP_GROWTH_GOAL_MB, " MB more"),
  );
  report(`Live tail: elements ${after}`, seen.map(({ nodes }) => nodes).join(", "));
  await context.close();
}

async function ask(): Promise<void> {
  const body = { model: "bench-model", messages: [{ role: "user", content: "hello" }] };
  const response = await callApi(site.url, await site.adminKey(), "POST", "/v1/chat/completions", body);
  await response.arrayBuffer();
  if (response.status !== 200) throw new Error(`the request answered ${response.status}`);
}

interface Memory {
  readonly heapMb: number;
  readonly nodes: number;
}

async function readMemory(session: CDPSession): Promise<Memory> {
  // The second pass frees what the first one's finalizers let go.
  await session.send("HeapProfiler.collectGarbage");
  await session.send("HeapProfiler.collectGarbage");
  const { usedSize } = await session.send("Runtime.getHeapUsage");
  const { nodes } = await session.send("Memory.getDOMCounters");
  return { heapMb: usedSize / 1e6, nodes };
}

function median(figures: readonly number[]): number {
  return figures.toSorted((a, b) => a - b)[Math.floor(figures.length / 2)] ?? Number.NaN;
}

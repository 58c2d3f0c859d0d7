/** The scenes of `npm run bench`: what is sent, what the upstream answers, and what is read off. */
import { toLockport, type Caller, type Contender } from "./contenders.ts";
import { percentile } from "./table.ts";
import { toRequest, type Answers, type Load, type LoadOptions } from "./wire.ts";

export interface Measured {
  readonly load: Load;
  /** CPU time of all threads of the process, of streams once all are open; null where there is no process. */
  readonly cpuMs: number | null;
  /** CPU time until all streams were open; null where none is held. */
  readonly openCpuMs: number | null;
  /** Resident, twice a second while streams are open, else once in the end. */
  readonly residentMb: readonly number[];
}

export interface Figure {
  readonly name: string;
  /** `beside` has what others of the same round measured. */
  readonly read: (of: Measured, beside: (contender: string) => Measured | undefined) => number | null;
  readonly digits: number;
}

export interface Scene {
  readonly name: string;
  readonly about: string;
  readonly answers: Answers;
  readonly load: LoadOptions;
  readonly rounds: number;
  readonly figures: readonly Figure[];
  readonly toRequest: (caller: Caller) => string;
  /** Each starts anew for each of its rounds, so that what is read of its memory comes from that round alone. */
  readonly isFresh?: boolean;
  /** In place of those of the run. */
  readonly contenders?: readonly Contender[];
  /** Names of those that would tell nothing. */
  readonly leavesOut?: readonly string[];
}

const rate: Figure = { name: "requests/s", digits: 0, read: ({ load }) => load.requests / load.seconds };
const ofNginx: Figure = {
  name: "rate, of nginx",
  digits: 3,
  read: (of, beside) => ratio(rate.read(of, beside), beside("nginx"), (nginx) => rate.read(nginx, beside)),
};
const cost: Figure = {
  name: "CPU, µs a request",
  digits: 1,
  read: ({ load, cpuMs }) => (cpuMs === null ? null : (cpuMs * 1000) / load.requests),
};
const ofBare: Figure = {
  name: "CPU, of bare",
  digits: 2,
  read: (of, beside) => ratio(cost.read(of, beside), beside("bare"), (bare) => cost.read(bare, beside)),
};
const eventRate: Figure = { name: "events/s", digits: 0, read: ({ load }) => load.events / load.seconds };
const eventsOfNginx: Figure = {
  name: "events/s, of nginx",
  digits: 2,
  read: (of, beside) =>
    ratio(eventRate.read(of, beside), beside("nginx"), (it) => eventRate.read(it, beside)),
};
const eventCost: Figure = {
  name: "CPU, µs an event",
  digits: 2,
  read: ({ load, cpuMs }) => (cpuMs === null ? null : (cpuMs * 1000) / (load.delayUs?.n ?? 0)),
};
const openCost: Figure = {
  name: "CPU, µs a stream that opens, its events until then included",
  digits: 0,
  read: ({ load, openCpuMs }) => (openCpuMs === null ? null : (openCpuMs * 1000) / (load.openUs?.n ?? 0)),
};
const resident: readonly Figure[] = [
  { name: "resident, least, MB", digits: 0, read: ({ residentMb }) => Math.min(...residentMb) },
  { name: "resident, median, MB", digits: 0, read: ({ residentMb }) => percentile(residentMb, 0.5) },
  { name: "resident, most, MB", digits: 0, read: ({ residentMb }) => Math.max(...residentMb) },
];
/** The most of the last third, of that of the second: memory that has a bound is no higher in the end. */
const residentTrend: Figure = {
  name: "resident, trend",
  digits: 2,
  read({ residentMb }) {
    const third = Math.floor(residentMb.length / 3);
    return Math.max(...residentMb.slice(-third)) / Math.max(...residentMb.slice(third, -third));
  },
};
const delayOfBare: Figure = {
  name: "delay p99, of bare",
  digits: 2,
  read: (of, beside) => ratio(toDelay(of), beside("bare"), toDelay),
};
const unsent: Figure = {
  name: "never sent, the rate was not kept",
  digits: 0,
  read: ({ load }) => load.unsent || null,
};

function ratio(
  value: number | null,
  other: Measured | undefined,
  read: (of: Measured) => number | null,
): number | null {
  const divisor = other === undefined ? null : read(other);
  return value === null || divisor === null ? null : value / divisor;
}

function toDelay({ load }: Measured): number | null {
  return load.delayUs?.p99 ?? null;
}

/** Percentiles as measured, and above those of no proxy in the same round. */
function toPercentiles(
  of: "latencyUs" | "openUs" | "delayUs",
  what: string,
  points: readonly ("p50" | "p99" | "p999")[] = ["p50", "p99", "p999"],
): readonly Figure[] {
  return points.flatMap((point): readonly Figure[] => [
    { name: `${what} ${point}, µs`, digits: 0, read: ({ load }) => load[of]?.[point] ?? null },
    {
      name: `${what} ${point} over direct, µs`,
      digits: 0,
      read({ load }, beside) {
        const direct = beside("direct")?.load[of]?.[point];
        const seen = load[of]?.[point];
        return direct === undefined || seen === undefined ? null : seen - direct;
      },
    },
  ]);
}

const CHAT = "/v1/chat/completions";

function toChat(sizeBytes: number, stream: boolean) {
  return ({ headers, model }: Caller) => {
    const text = "Say something short, please. ".repeat(Math.ceil(sizeBytes / 29)).slice(0, sizeBytes - 150);
    const messages = [
      { role: "system", content: "You are terse." },
      { role: "user", content: text },
    ];
    const body = stream ? { model, stream, messages } : { model, messages, temperature: 0.2 };
    return toRequest(CHAT, headers, JSON.stringify(body));
  };
}

const small = toChat(1_000, false);
const stream = toChat(1_000, true);

/** What is read off requests that are sent on the clock. */
const LATENCY: readonly Figure[] = [...toPercentiles("latencyUs", "answer"), cost, unsent];

export const SCENES: readonly Scene[] = [
  {
    name: "unary",
    about: "1 KB in, a short answer, 64 connections",
    answers: {},
    load: { connections: 64, seconds: 4 },
    rounds: 4,
    figures: [rate, ofNginx, cost, ofBare],
    toRequest: small,
  },
  {
    name: "latency-3000",
    about: "unary, 1 KB, 3,000 requests/s on the clock",
    answers: {},
    load: { connections: 256, rate: 3_000, seconds: 5, warm: 1 },
    rounds: 4,
    figures: LATENCY,
    toRequest: small,
  },
  {
    name: "streams",
    about: "200 events each, back to back, 16 to a write; 64 at once",
    answers: { events: 200 },
    load: { connections: 64, seconds: 4 },
    rounds: 3,
    figures: [eventRate, eventsOfNginx, eventCost],
    toRequest: stream,
  },
  {
    name: "chunks",
    about: "200 streams at once, an event each 10 ms",
    answers: { events: 1_000_000, interval: 10_000 },
    load: { connections: 200, hold: 1, seconds: 4 },
    rounds: 3,
    figures: [...toPercentiles("delayUs", "delay"), delayOfBare, eventCost],
    toRequest: stream,
  },
  {
    name: "bodies",
    about: "100 KB in, 10 KB out, 64 connections",
    answers: { answer: 10_000 },
    load: { connections: 64, seconds: 3 },
    rounds: 2,
    figures: [rate, ofNginx, cost],
    toRequest: toChat(100_000, false),
  },
  {
    name: "open-5000",
    about:
      "5,000 streams opened within five seconds, two events a second on each, read for five seconds more",
    isFresh: true,
    answers: { events: 1_000_000, interval: 500_000 },
    load: { connections: 5_000, hold: 1, ramp: 1_000, seconds: 5 },
    rounds: 3,
    figures: [
      ...toPercentiles("openUs", "opening", ["p50", "p99"]),
      openCost,
      ...toPercentiles("delayUs", "delay", ["p50", "p99"]),
      eventCost,
      ...resident,
    ],
    toRequest: stream,
  },
  {
    name: "long-streams",
    about: "1,000 streams of 2 KB each 100 ms, over 60 s",
    isFresh: true,
    answers: { events: 1_000_000, interval: 100_000, size: 2_000 },
    load: { connections: 1_000, hold: 1, ramp: 500, seconds: 60 },
    rounds: 1,
    leavesOut: ["direct", "nginx"],
    figures: [...toPercentiles("delayUs", "delay", ["p50", "p99"]), eventCost, ...resident, residentTrend],
    toRequest: stream,
  },
];

const SIZES = [10, 1_000, 10_000];
const KEYS_OF_PRINCIPAL = 500;
const AMOUNT = 1_000_000_000;
/** All of the largest size have their turn in a round. */
const GROWTH_LOAD = { connections: 256, rate: 2_500, seconds: 5, warm: 1 };

/** Brings in so many of a kind as a catalog file; callers use each of them. */
type Grow = (
  numbers: readonly number[],
  caller: Caller,
) => { readonly file?: object; readonly callers: readonly Caller[] };

const KINDS: { readonly [kind: string]: Grow } = {
  keys(numbers, { model }) {
    const toPrincipal = (index: number) => `bench-${Math.floor(index / KEYS_OF_PRINCIPAL)}`;
    const toId = (index: number) => `00000000-0000-4000-8000-${String(index).padStart(12, "0")}`;
    const toSecret = (index: number) => `lp_${String(index).padStart(43, "0")}`;
    const toKey = (index: number) => ({ principal: toPrincipal(index), secret: toSecret(index) });
    return {
      file: {
        principals: Object.fromEntries(numbers.map((index) => [toPrincipal(index), {}])),
        keys: Object.fromEntries(numbers.map((index) => [toId(index), toKey(index)])),
      },
      callers: numbers.map((index) => ({ headers: `authorization: Bearer ${toSecret(index)}\r\n`, model })),
    };
  },
  models(numbers, { headers }) {
    const prices = { input_tokens: 2.5, output_tokens: 10 };
    const settings = { provider: "bench", capabilities: ["chat"], prices };
    const toModel = (index: number) => ({ ...settings, upstream_name: `bench-${index}` });
    return {
      file: { models: Object.fromEntries(numbers.map((index) => [`bench-${index}`, toModel(index)])) },
      callers: numbers.map((index) => ({ headers, model: `bench-${index}` })),
    };
  },
  // Each limit holds for a tag of its own: what it costs is what it costs more than `tags`.
  limits(numbers, caller) {
    const toLimit = (index: number) => ({
      subject: { tag: `bench:${index}` },
      measure: "requests",
      window: "day",
      amount: AMOUNT,
    });
    return {
      file: { limits: Object.fromEntries(numbers.map((index) => [`bench-${index}`, toLimit(index)])) },
      callers: toTagged(numbers, caller),
    };
  },
  tags: (numbers, caller) => ({ callers: toTagged(numbers, caller) }),
};

function toTagged(numbers: readonly number[], { headers, model }: Caller): readonly Caller[] {
  return numbers.map((index) => ({ headers: `${headers}x-proxy-tags: bench:${index}\r\n`, model }));
}

/** The executable with so many of a kind. */
function toGrown(grow: Grow, size: number): Contender {
  const lockport = toLockport(undefined, size.toLocaleString("en"));
  return {
    ...lockport,
    async start(upstream) {
      const running = await lockport.start(upstream);
      const numbers = Array.from({ length: size }, (_, index) => index);
      const { file, callers } = grow(numbers, running);
      const providers = { bench: { base_url: `${upstream}/v1`, verify_tls: false } };
      if (file !== undefined)
        await running.ask("/admin/v1/catalog", { lockport_catalog: 1, providers, ...file });
      return { ...running, callers };
    },
  };
}

/** Scenes of a request's cost beside 10, 1,000 and 10,000 keys, models, limits or tags; the requests go through all of them. */
export function toGrowth(): readonly Scene[] {
  return Object.entries(KINDS).map(([kind, grow]) => ({
    name: `growth-${kind}`,
    about: `unary of 1 KB, ${GROWTH_LOAD.rate.toLocaleString("en")} requests/s over all ${kind}`,
    answers: {},
    load: GROWTH_LOAD,
    rounds: 3,
    figures: LATENCY.filter(({ name }) => /answer p(50|99), µs|CPU|never sent/.test(name)),
    contenders: SIZES.map((size) => toGrown(grow, size)),
    toRequest: small,
  }));
}

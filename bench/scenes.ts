/** The scenes of `npm run bench`: what is sent, what the upstream answers, and what is read off. */
import { toRequest, type Answers, type Load, type LoadOptions } from "./wire.ts";

export interface Measured {
  readonly load: Load;
  /** CPU time of all threads of the process; null where there is no process. */
  readonly cpuMs: number | null;
  /** Resident, while streams are open; null elsewhere. */
  readonly residentMb: number | null;
}

export interface Figure {
  readonly name: string;
  /** `beside` has what others of the same round measured. */
  readonly read: (of: Measured, beside: (contender: string) => Measured | undefined) => number | null;
  readonly digits: number;
}

interface Target {
  readonly headers: string;
  readonly model: string;
  readonly relayPath?: string;
}

export interface Scene {
  readonly name: string;
  readonly about: string;
  readonly answers: Answers;
  readonly load: LoadOptions;
  readonly rounds: number;
  readonly figures: readonly Figure[];
  /** Null where it cannot take part. */
  readonly toRequest: (target: Target) => string | null;
  /** Each starts anew for it, so that what is read of its memory comes from this scene alone. */
  readonly isFresh?: boolean;
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
  read: ({ load, cpuMs }) => (cpuMs === null ? null : (cpuMs * 1000) / (load.requests + load.hangups)),
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
  read: ({ load, cpuMs }) => (cpuMs === null ? null : (cpuMs * 1000) / load.events),
};
const resident: Figure = { name: "resident, MB", digits: 0, read: ({ residentMb }) => residentMb };
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

/** Percentiles as measured, and above those of no proxy in the same round. */
function toPercentiles(of: "latencyUs" | "delayUs", what: string): readonly Figure[] {
  return (["p50", "p99", "p999"] as const).flatMap((point): readonly Figure[] => [
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
  return ({ headers, model }: Target) => {
    const text = "Say something short, please. ".repeat(Math.ceil(sizeBytes / 29)).slice(0, sizeBytes - 150);
    const messages = [
      { role: "system", content: "You are terse." },
      { role: "user", content: text },
    ];
    const body = stream ? { model, stream, messages } : { model, messages, temperature: 0.2 };
    return toRequest(CHAT, headers, JSON.stringify(body));
  };
}

function toEmbeddings({ headers, model }: Target): string {
  const input = Array.from(
    { length: 2_048 },
    (_, index) => `Sentence ${index} of a text that is cut into pieces.`,
  );
  return toRequest("/v1/embeddings", headers, JSON.stringify({ model, input, encoding_format: "base64" }));
}

const RELAYED = { stream: true, messages: [], max_tokens: 100 };

function toRelayed({ headers, model, relayPath }: Target): string | null {
  return relayPath === undefined
    ? null
    : toRequest(relayPath, headers, JSON.stringify({ model, ...RELAYED }));
}

/** A mix: of 200, 50 streams, 10 relayed ones, embeddings of 2,048 inputs once, and unary answers. */
export function toSoakRequests(target: Target): readonly string[] {
  const relayed = toRelayed(target);
  return Array.from({ length: 200 }, (_, index) => {
    if (index === 199) return toEmbeddings(target);
    if (index % 20 === 18 && relayed !== null) return relayed;
    return index % 4 === 0 ? stream(target) : small(target);
  });
}

const small = toChat(1_000, false);
const stream = toChat(1_000, true);

export const SCENES: readonly Scene[] = [
  {
    name: "unary",
    about: "1 KB in, a short answer, 64 connections",
    answers: {},
    load: { connections: 64, seconds: 4 },
    rounds: 3,
    figures: [rate, ofNginx, cost, ofBare],
    toRequest: small,
  },
  {
    name: "latency-3000",
    about: "unary, 1 KB, 3,000 requests/s on the clock",
    answers: {},
    load: { connections: 256, rate: 3_000, seconds: 5, warm: 1 },
    rounds: 3,
    figures: [...toPercentiles("latencyUs", "answer"), cost, unsent],
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
    rounds: 2,
    figures: [...toPercentiles("delayUs", "delay"), eventCost],
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
    name: "embeddings",
    about: "2,048 inputs, 2.9 MB of vectors in base64, 8 connections",
    answers: {},
    load: { connections: 8, seconds: 3 },
    rounds: 2,
    figures: [rate, cost],
    toRequest: toEmbeddings,
  },
  {
    name: "relay",
    about: "streams of 200 events back to back by the transparent relay, 64 at once",
    answers: { events: 200 },
    load: { connections: 64, seconds: 3 },
    rounds: 2,
    figures: [eventRate, eventCost],
    toRequest: toRelayed,
  },
  {
    name: "open-5000",
    about: "5,000 streams open at once, two events a second on each",
    isFresh: true,
    answers: { events: 1_000_000, interval: 500_000 },
    load: { connections: 5_000, hold: 1, seconds: 5 },
    rounds: 1,
    figures: [
      resident,
      ...toPercentiles("delayUs", "delay").filter(({ name }) => !name.includes("p999")),
      eventCost,
    ],
    toRequest: stream,
  },
];

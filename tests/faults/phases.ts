import type { RawCaller } from "../forward/caller.ts";
import type { UpstreamCall } from "../support/upstream.ts";
import { begin } from "./behaviour.ts";
import type { Endpoint, Parts } from "./endpoints.ts";

/** A moment at which a caller leaves, and how. */
export interface Phase {
  readonly name: string;
  /** How much of its request it sends; all of it where nothing is said. */
  readonly cut?: (request: Buffer) => Buffer;
  /** True where the request goes to an upstream that answers no attempt to connect. */
  readonly isConnecting?: true;
  /** What the upstream does before the caller leaves. */
  readonly play?: (call: UpstreamCall, parts: Parts) => unknown;
  /** What the caller of a stream has received when it leaves. */
  readonly seen?: (parts: Parts) => string;
  readonly leave?: (caller: RawCaller) => void;
  readonly recorded: (endpoint: Endpoint) => Recorded;
}

/** What the ledger has of it; null: nothing, since nothing of the request was to go upstream. */
export type Recorded = { readonly outcome: "ok" | "cancelled"; readonly isMetered: boolean } | null;

/** Nothing has been taken for so long: it is full. */
const FULL_MS = 200;
/** Less than is too large to be held. */
const PIECES_MAX = 100;
const PIECE = `: ${"x".repeat(100_000)}\n\n`;

const cancelled = () => ({ outcome: "cancelled", isMetered: false }) as const;
/** A document that is cut tells nothing, events tell what came. */
const leftBehindUsage = ({ isHeld, parts }: Endpoint) =>
  ({
    outcome: !isHeld && parts.usageIsLast === true ? "ok" : "cancelled",
    isMetered: !isHeld,
  }) as const;
const headOf = (request: Buffer) => request.indexOf("\r\n\r\n") + 4;

async function send(
  call: UpstreamCall,
  parts: Parts,
  ...names: readonly ("open" | "content" | "usage" | "end")[]
) {
  await begin(call, parts);
  await call.sendChunk(names.map((name) => parts[name]).join(""));
}

export const PHASES: readonly Phase[] = [
  {
    name: "inside its head",
    cut: (request) => request.subarray(0, headOf(request) - 20),
    recorded: () => null,
  },
  {
    name: "inside its body",
    cut: (request) => request.subarray(0, headOf(request) + 10),
    recorded: () => null,
  },
  { name: "while the upstream is connected to", isConnecting: true, recorded: cancelled },
  { name: "before the upstream says anything", play: () => undefined, recorded: cancelled },
  {
    name: "inside the upstream's head",
    play: (call) => call.send("HTTP/1.1 200 OK\r\ncontent-ty"),
    recorded: cancelled,
  },
  { name: "after the upstream's head", play: begin, recorded: cancelled },
  {
    name: "after the first bytes",
    play: (call, parts) => send(call, parts, "open"),
    seen: (parts) => parts.open,
    recorded: cancelledWithUsageOfTheBeginning,
  },
  {
    name: "with a reset after the first bytes",
    play: (call, parts) => send(call, parts, "open"),
    seen: (parts) => parts.open,
    leave: (caller) => caller.reset(),
    recorded: cancelledWithUsageOfTheBeginning,
  },
  {
    name: "by closing only its own side",
    play: (call, parts) => send(call, parts, "open"),
    seen: (parts) => parts.open,
    leave: (caller) => caller.halfClose(),
    recorded: cancelledWithUsageOfTheBeginning,
  },
  {
    name: "after the usage",
    play: (call, parts) => send(call, parts, "open", "content", "usage"),
    seen: (parts) => parts.usage,
    recorded: leftBehindUsage,
  },
  {
    name: "after the last event",
    play: (call, parts) => send(call, parts, "open", "content", "usage", "end"),
    seen: (parts) => parts.end,
    recorded: ({ isHeld }) => ({ outcome: isHeld ? "cancelled" : "ok", isMetered: !isHeld }),
  },
  {
    name: "without having read for a while",
    play: async (call, parts) => {
      await begin(call, parts);
      await call.sendChunk(parts.open);
      // Whatever is between them is full once nothing more is taken.
      let isTaken = true;
      for (let count = 0; isTaken && count < PIECES_MAX; count += 1)
        isTaken = await within(FULL_MS, call.sendChunk(PIECE));
    },
    leave: (caller) => caller.hangUp(),
    recorded: cancelledWithUsageOfTheBeginning,
  },
];

/** Messages tell their input in the first event. */
function cancelledWithUsageOfTheBeginning({ parts }: Endpoint): Recorded {
  return { outcome: "cancelled", isMetered: parts.beginsUsage === true };
}

/** False when it takes longer. */
function within(ms: number, taken: Promise<boolean>): Promise<boolean> {
  return Promise.race([taken, Bun.sleep(ms).then(() => false)]);
}

import * as fc from "fast-check";
import { appendFileSync } from "node:fs";
import { segmentPath } from "#storage/journal/segments.ts";
import type { UsageEvent } from "#usage/event.ts";
import { LineEncoder, toBeginLine, toEndLine } from "../ledger/usage.ts";
import type { Cast } from "./events.ts";
import { arbitraryEvent, DAY_US } from "./events.ts";
import { toMoney } from "./pricing.ts";

const TEMPLATES = 400;
const QUANTITY_MAX = 1e6;
/** The days that the events reach from the first one. */
export const TRAFFIC_DAYS = 63;
/** Between two events that are not twins: room for a twin, so that who came first does not decide about an id. */
const GAP_US_MIN = 20;
/** Every so many events one is the same again, in the same microsecond: which of them is which cannot be told. */
const TWIN_EVERY = 97;
const SEGMENT_EVENTS = 40_000;
const APPEND_EVENTS = 2_000;

export interface Traffic {
  readonly count: number;
  /** The events in the order of their arrival. */
  at(index: number): UsageEvent;
}

/** Any number of events, each made anew from its index: a million of them need no memory. */
export function createTraffic(
  cast: Cast,
  options: { readonly count: number; readonly sceneUs: number; readonly seed: number },
): Traffic {
  const { count, sceneUs, seed } = options;
  const templates = fc.sample(arbitraryEvent(cast, sceneUs), { numRuns: TEMPLATES, seed });
  const slotUs = Math.floor((TRAFFIC_DAYS * DAY_US) / count);
  if (slotUs < 2 * GAP_US_MIN) throw new Error("too many events for the time there is");
  return {
    count,
    at(index) {
      const own = index % TWIN_EVERY === TWIN_EVERY - 1 ? index - 1 : index;
      const chance = scatter(own, seed);
      const template = templates[chance % TEMPLATES]!;
      const arrivedAtUs = sceneUs + own * slotUs + (chance % (slotUs - GAP_US_MIN));
      const usage = template.usage === null ? null : vary(template.usage, own);
      return {
        ...template,
        arrivedAtUs,
        usage,
        durationUs: (template.durationUs + own) % 300_000_000,
        ...toMoney({ ...template, usage }),
      };
    },
  };
}

/** Quantities that differ from event to event, and that a million of them add up to below 2^53. */
function vary(usage: NonNullable<UsageEvent["usage"]>, by: number): NonNullable<UsageEvent["usage"]> {
  const quantities = Object.entries(usage.quantities).map(([unit, quantity]) => {
    const more = unit === "audio_seconds" ? (by % 7) / 10 : by % 1009;
    return [unit, Math.min(quantity, QUANTITY_MAX) + more];
  });
  return { ...usage, quantities: Object.fromEntries(quantities) };
}

/** A whole number below 2^32 that neighbours do not share (murmur3's last step). */
function scatter(index: number, seed: number): number {
  let mixed = Math.imul(index ^ seed, 0x9e3779b1);
  mixed = Math.imul(mixed ^ (mixed >>> 16), 0x85ebca6b);
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35);
  return (mixed ^ (mixed >>> 16)) >>> 0;
}

/** Every index below `count` once, far from its neighbours: a stride that has no factor in common with the count. */
export function toShuffled(count: number): (index: number) => number {
  const gcd = (a: number, b: number): number => (b === 0 ? a : gcd(b, a % b));
  let stride = Math.floor(count * 0.618) | 1;
  while (gcd(stride, count) !== 1) stride += 2;
  return (index) => (index * stride + 17) % count;
}

/** The journal of all this traffic in this order, as long lines or as the short ones that a server writes. */
export function writeJournal(
  journalDirectory: string,
  traffic: Traffic,
  { toIndex, short }: { readonly toIndex: (index: number) => number; readonly short: boolean },
): void {
  const encoder = new LineEncoder();
  let lines: Uint8Array[] = [];
  for (let index = 0; index < traffic.count; index += 1) {
    const segment = Math.floor(index / SEGMENT_EVENTS) + 1;
    const event = traffic.at(toIndex(index));
    if (short) lines.push(encoder.begin(segment, index, event), encoder.end(segment, index, event));
    else lines.push(toBeginLine(index, event), toEndLine(index, event));
    if ((index + 1) % APPEND_EVENTS === 0 || index + 1 === traffic.count) {
      appendFileSync(segmentPath(journalDirectory, segment), Buffer.concat(lines));
      lines = [];
    }
  }
}

import type { Clock } from "#kernel/clock.ts";

interface FairQueueLimits {
  readonly waitingOfPeerMax: number;
  readonly waitingMax: number;
  /** Looked at when a turn is given: who has waited longer is refused then. */
  readonly waitMsMax: number;
}

/**
 * Those who wait for a turn, one network after the other, and one client after the other within each: who sends many waits
 * behind its own, and delays another network by one turn.
 */
interface FairQueue {
  readonly isEmpty: boolean;
  /** True when its turn has come; false when it is given up. `client` tells those apart who share a network. */
  join(network: string, client?: string): Promise<boolean>;
  /** Gives the next its turn, of those networks that may have one, and returns its network; null when none is waiting. */
  callNext(mayGo?: (network: string) => boolean): string | null;
}

interface Waiting {
  readonly sinceMs: number;
  readonly settle: (hasTurn: boolean) => void;
}

/** Those of one network: a line for each client, in the order of their turns. */
interface Room {
  readonly lines: Map<string, Waiting[]>;
  waiting: number;
}

export function createFairQueue(clock: Clock, limits: FairQueueLimits): FairQueue {
  /** By network, in the order of their turns. */
  const rooms = new Map<string, Room>();
  let waiting = 0;

  const count = (network: string, room: Room, change: 1 | -1): void => {
    waiting += change;
    room.waiting += change;
    if (room.waiting === 0) rooms.delete(network);
  };
  const giveUp = (network: string, room: Room, client: string, end: "oldest" | "newest"): boolean => {
    const line = room.lines.get(client) ?? [];
    const given = end === "oldest" ? line.shift() : line.pop();
    if (given === undefined) return false;
    if (line.length === 0) room.lines.delete(client);
    count(network, room, -1);
    given.settle(false);
    return true;
  };
  /**
   * The newest of a longer line makes place, else the oldest of the client's own: were the new one refused, those that come
   * right after a turn would have all of them, and a sign-in a second next to none.
   */
  const displaceIn = (network: string, room: Room, client: string): boolean => {
    const length = room.lines.get(client)?.length ?? 0;
    const [longest, line] = largest(room.lines, ({ length: size }) => size) ?? [client, []];
    if (line.length > length + 1) return giveUp(network, room, longest, "newest");
    return giveUp(network, room, length > 0 ? client : firstOf(room.lines, client), "oldest");
  };
  const makePlace = (network: string, room: Room, client: string): boolean => {
    if (room.waiting >= limits.waitingOfPeerMax) return displaceIn(network, room, client);
    if (waiting < limits.waitingMax) return true;
    const [other, otherRoom] = largest(rooms, ({ waiting: size }) => size) ?? [network, room];
    if (otherRoom.waiting <= room.waiting + 1) return displaceIn(network, room, client);
    const [longest] = largest(otherRoom.lines, ({ length }) => length) ?? [""];
    return giveUp(other, otherRoom, longest, "newest");
  };

  return {
    get isEmpty() {
      return waiting === 0;
    },
    join(network, client = "") {
      const room = rooms.get(network) ?? { lines: new Map<string, Waiting[]>(), waiting: 0 };
      if (!makePlace(network, room, client)) return Promise.resolve(false);
      const { promise, resolve } = Promise.withResolvers<boolean>();
      const line = room.lines.get(client) ?? [];
      line.push({ sinceMs: clock.monotonicMs(), settle: resolve });
      room.lines.set(client, line);
      rooms.set(network, room);
      count(network, room, 1);
      return promise;
    },
    callNext(mayGo = () => true) {
      for (const [network, room] of rooms) {
        const next = mayGo(network) ? takeNext(room.lines) : null;
        if (next === null) continue;
        // Behind the others.
        rooms.delete(network);
        rooms.set(network, room);
        count(network, room, -1);
        const isInTime = clock.monotonicMs() - next.sinceMs <= limits.waitMsMax;
        next.settle(isInTime);
        if (isInTime) return network;
      }
      return null;
    },
  };
}

function takeNext(lines: Map<string, Waiting[]>): Waiting | null {
  for (const [client, line] of lines) {
    const next = line.shift();
    lines.delete(client);
    if (line.length > 0) lines.set(client, line);
    if (next !== undefined) return next;
  }
  return null;
}

function firstOf(lines: ReadonlyMap<string, unknown>, absent: string): string {
  const [first = absent] = lines.keys();
  return first;
}

function largest<Value>(
  entries: ReadonlyMap<string, Value>,
  sizeOf: (value: Value) => number,
): readonly [string, Value] | null {
  let found: readonly [string, Value] | null = null;
  for (const entry of entries) if (found === null || sizeOf(entry[1]) > sizeOf(found[1])) found = entry;
  return found;
}

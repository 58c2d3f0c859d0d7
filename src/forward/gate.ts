/** One place in the line of an upstream host. Let go of it once; letting go again does nothing. */
export interface Slot {
  release(): void;
}

export interface GateRequest {
  /** The lane: provider id and upstream host. */
  readonly lane: string;
  /** The cap in force now; null is unlimited. The newest one said for a lane holds for everybody in it. */
  readonly maxConcurrency: number | null;
}

/** Holds `max_concurrency`: per lane no more slots are out than its cap, and who waits is served in order of arrival. */
export interface Gate {
  /** A slot when one is free and nobody waits for it, else null. */
  tryEnter(request: GateRequest): Slot | null;
  /** Waits in line. Null when the signal aborts first, the place in line being given up, and at once when the line is full. */
  wait(request: GateRequest, signal: AbortSignal): Promise<Slot | null>;
  /** Who stands in a line, over all lanes. */
  waitingCount(): number;
}

/** Each who waits holds its request's body in memory. */
export const LINE_LENGTH_MAX = 10_000;

interface Lane {
  taken: number;
  cap: number;
  /** Whoever leaves the line is deleted from it; a Set keeps the order. */
  readonly line: Set<(slot: Slot) => void>;
}

export function createGate(): Gate {
  const lanes = new Map<string, Lane>();

  return {
    tryEnter(request) {
      const lane = openLane(request);
      return lane.taken < lane.cap && lane.line.size === 0 ? take(request.lane, lane) : null;
    },
    wait(request, signal) {
      const lane = openLane(request);
      return new Promise((resolve) => {
        const enter = (slot: Slot) => {
          signal.removeEventListener("abort", leave);
          resolve(slot);
        };
        const leave = () => {
          lane.line.delete(enter);
          forget(request.lane, lane);
          resolve(null);
        };
        if (signal.aborted || lane.line.size >= LINE_LENGTH_MAX) return leave();
        signal.addEventListener("abort", leave, { once: true });
        lane.line.add(enter);
        admit(request.lane, lane);
      });
    },
    waitingCount() {
      let count = 0;
      for (const lane of lanes.values()) count += lane.line.size;
      return count;
    },
  };

  /** Who arrives brings the cap in force: raised, it lets the line move at once; lowered, it is reached as slots come back. */
  function openLane({ lane: name, maxConcurrency }: GateRequest): Lane {
    const cap = maxConcurrency ?? Number.POSITIVE_INFINITY;
    let lane = lanes.get(name);
    if (lane === undefined) {
      lane = { taken: 0, cap, line: new Set() };
      lanes.set(name, lane);
    } else if (lane.cap !== cap) {
      lane.cap = cap;
      admit(name, lane);
    }
    return lane;
  }

  function admit(name: string, lane: Lane): void {
    for (const enter of lane.line) {
      if (lane.taken >= lane.cap) return;
      lane.line.delete(enter);
      enter(take(name, lane));
    }
  }

  function take(name: string, lane: Lane): Slot {
    lane.taken += 1;
    let held = true;
    return {
      release() {
        if (!held) return;
        held = false;
        lane.taken -= 1;
        admit(name, lane);
        forget(name, lane);
      },
    };
  }

  function forget(name: string, lane: Lane): void {
    if (lane.taken === 0 && lane.line.size === 0) lanes.delete(name);
  }
}

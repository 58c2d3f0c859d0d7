import { dlopen, ptr } from "bun:ffi";
import { readdirSync, readFileSync } from "node:fs";
import { constants, getPriority } from "node:os";
import type { Log } from "#kernel/log.ts";
import type { LedgerGauges } from "#usage/gauges.ts";

/** A thread that the runtime starts later is found within this time, and one that falls behind. */
const LOOK_INTERVAL_MS = 250;
/** A thread is behind when work has waited for this long and none was done: whoever asks for a report waits for both threads. */
export const LAG_MS_MAX = 250;
/** A writer is behind with this much, whatever it does: some 10,000 requests. */
export const LAG_BYTES_MAX = 2 * 1024 * 1024;

/** Policies of linux/sched.h. */
const SCHED_NORMAL = 0;
const SCHED_IDLE = 5;

/** Priority of a thread. `steps` of niceness are counted from what the process was started with. */
interface Priority {
  readonly policy: typeof SCHED_NORMAL | typeof SCHED_IDLE;
  readonly steps: number;
  /** The time for which the thread asks the core at once; 0 is the kernel's own, some 3 ms. Kernels before 6.12 ignore it. */
  readonly sliceUs: number;
}

const NORMAL: Priority = { policy: SCHED_NORMAL, steps: 0, sliceUs: 0 };
/** A thread with a short slice takes the core from one with a longer slice. It gets no larger share of a full core. */
const PROMPT: Priority = { ...NORMAL, sliceUs: 100 };
/** A tenth of a full core (sched(7)). */
const BACKGROUND: Priority = { ...NORMAL, steps: 10 };
/** A third of a full core. A Worker starts with it (`serveWorker`). */
const WORKER: Priority = { ...NORMAL, steps: 5 };
/** Any other thread takes the core from an idle one at once, and leaves it next to nothing of a full core. */
const IDLE: Priority = { ...WORKER, policy: SCHED_IDLE };

interface ThreadRule {
  readonly priority: Priority;
  /** Present where the thread must not starve: it is a `WORKER` while it is behind, and where it could not become one again. */
  readonly readLag?: (gauges: LedgerGauges) => Lag;
}

/** The work that waits for a thread. */
interface Lag {
  readonly waiting: number;
  /** The thread is behind from this much on, until half of it is left. */
  readonly waitingMax: number;
  /** Rises with each piece of work that is done. */
  readonly done: number;
}

/** The name here of the process's first thread, whose name there is the executable's. */
const SERVING = "serving";
const WRITER = "usage writer";

/**
 * Priorities by the name that the system shows of a thread (proc(5), `comm`: 15 characters of what the runtime says).
 * Requests wait for collectors, which therefore stay as they are, and for the pool, which never had the core for a
 * millisecond. `tests/binary/threads.test.ts` fails when an upgrade of the runtime renames a thread.
 */
const RULES = new Map<string, ThreadRule>([
  [SERVING, { priority: PROMPT }],
  ["HTTP Client", { priority: PROMPT }],
  ["JITWorker", { priority: BACKGROUND }],
  ["JSCWarmUp", { priority: BACKGROUND }],
  ["mi-scavenger", { priority: BACKGROUND }],
  // It has the priority of the thread that started it, and a Worker waits for its own.
  ["ollector Thread", { priority: NORMAL }],
  [
    WRITER,
    {
      priority: IDLE,
      readLag: ({ journalUncommittedBytes, writerWaiting, writerCommits }) => ({
        waiting: journalUncommittedBytes + writerWaiting,
        waitingMax: LAG_BYTES_MAX,
        done: writerCommits,
      }),
    },
  ],
  [
    "usage reader",
    {
      priority: IDLE,
      readLag: ({ readerWaiting }) => ({ waiting: readerWaiting, waitingMax: Infinity, done: 0 }),
    },
  ],
]);

interface ThreadOptions {
  readonly readGauges: () => LedgerGauges;
  readonly monotonicMs: () => number;
  /** True where a response waits for its event's commit (`PROXY_LEDGER_SYNC=database`): the writer serves it as well. */
  readonly awaitsWriter: boolean;
  readonly log: Log;
}

/**
 * Keeps the threads of this process at the priorities of `RULES`, so that none takes the core from those that serve for longer
 * than a request may wait. Nothing rises above the priority that the process was started with. Returns what ends it.
 *
 * Linux alone has a priority for each thread. Elsewhere, and where a sandbox or an older kernel refuses, threads stay as they
 * are, and nothing but the pace depends on it.
 */
export function keepThreadPriorities(options: ThreadOptions): () => void {
  const threads = openThreads(options);
  if (threads === null) return () => undefined;
  const timer = setInterval(() => threads.look(), LOOK_INTERVAL_MS);
  timer.unref();
  return () => clearInterval(timer);
}

/** Null where threads have no priorities, and for a process that was started with a policy of its own (chrt(1)). */
export function openThreads(options: ThreadOptions): Threads | null {
  const setPriority = process.platform === "linux" ? openLibrary() : null;
  if (setPriority === null || readPolicy(process.pid) !== SCHED_NORMAL) return null;
  return new Threads(options, setPriority);
}

class Threads {
  readonly #options: ThreadOptions;
  readonly #set: SetPriority;
  readonly #niceness = getPriority();
  readonly #watched = new Map<number, Watched>();
  #isTold = false;

  constructor(options: ThreadOptions, set: SetPriority) {
    this.#options = options;
    this.#set = set;
  }

  look(): void {
    const gauges = this.#options.readGauges();
    const nowMs = this.#options.monotonicMs();
    const present = new Set(listThreads());
    for (const id of this.#watched.keys()) if (!present.has(id)) this.#watched.delete(id);
    for (const id of present) {
      const watched = this.#watched.get(id) ?? this.#find(id);
      if (watched === null) continue;
      const { rule, priority } = watched;
      const wanted = watched.isBehind(gauges, nowMs) ? WORKER : rule.priority;
      if (wanted === priority) continue;
      watched.priority = wanted;
      this.#change(id, wanted);
    }
  }

  /** Null for a thread without a rule, also while it has not got its name yet. */
  #find(id: number): Watched | null {
    const name = id === process.pid ? SERVING : readName(id);
    const rule = RULES.get(name);
    if (rule === undefined) return null;
    const isAwaited = name === WRITER && this.#options.awaitsWriter;
    const mayStarve = rule.readLag !== undefined && (isAwaited || !this.#mayReturn(id));
    const watched = new Watched(mayStarve ? { priority: WORKER } : rule);
    this.#watched.set(id, watched);
    return watched;
  }

  /** Tries whether a thread that has stepped back may return: with CAP_SYS_NICE, or by RLIMIT_NICE (setrlimit(2)). */
  #mayReturn(id: number): boolean {
    const mayReturn = this.#change(id, WORKER) && this.#change(id, { ...WORKER, steps: WORKER.steps - 1 });
    return mayReturn && this.#change(id, WORKER);
  }

  #change(id: number, { policy, steps, sliceUs }: Priority): boolean {
    const niceness = Math.min(this.#niceness + steps, constants.priority.PRIORITY_LOW);
    if (this.#set(id, { policy, niceness, sliceUs })) return true;
    if (!this.#isTold)
      this.#options.log.debug("the priority of a thread could not be changed: it stays as it is");
    this.#isTold = true;
    return false;
  }
}

/** A thread, and how far it is behind. */
class Watched {
  readonly rule: ThreadRule;
  priority: Priority | null = null;
  #isBehind = false;
  #done = 0;
  /** Since when nothing was done that waits; null while nothing waits. */
  #stuckSinceMs: number | null = null;

  constructor(rule: ThreadRule) {
    this.rule = rule;
  }

  isBehind(gauges: LedgerGauges, nowMs: number): boolean {
    if (this.rule.readLag === undefined) return false;
    const { waiting, waitingMax, done } = this.rule.readLag(gauges);
    if (waiting === 0) this.#stuckSinceMs = null;
    else if (done !== this.#done || this.#stuckSinceMs === null) this.#stuckSinceMs = nowMs;
    this.#done = done;
    const isStuck = this.#stuckSinceMs !== null && nowMs - this.#stuckSinceMs >= LAG_MS_MAX;
    return (this.#isBehind = isStuck || waiting >= (this.#isBehind ? waitingMax / 2 : waitingMax));
  }
}

const TASKS = "/proc/self/task";

function listThreads(): readonly number[] {
  try {
    return readdirSync(TASKS).map(Number);
  } catch {
    return [];
  }
}

function readName(id: number): string {
  try {
    return readFileSync(`${TASKS}/${id}/comm`, "utf8").trim();
  } catch {
    // The thread has ended.
    return "";
  }
}

/** The 41st field of proc(5), `stat`: the 39th behind the name, which may hold spaces. */
function readPolicy(id: number): number | null {
  try {
    const text = readFileSync(`${TASKS}/${id}/stat`, "utf8");
    return Number(text.slice(text.lastIndexOf(")") + 2).split(" ")[38]);
  } catch {
    return null;
  }
}

type SetPriority = (
  id: number,
  priority: { readonly policy: number; readonly niceness: number; readonly sliceUs: number },
) => boolean;

/** Numbers of sched_setattr(2), which glibc has no name for. */
const SYSTEM_CALLS: { readonly [arch: string]: number } = { x64: 314, arm64: 274 };
/** A thread that one with a short slice starts has the kernel's own. */
const RESET_ON_FORK = 1;
const ATTRIBUTE_BYTES = 48;
/** glibc's name, and musl's. */
const LIBRARIES = ["libc.so.6", "libc.musl-x86_64.so.1", "libc.musl-aarch64.so.1"];

function openLibrary(): SetPriority | null {
  const number = SYSTEM_CALLS[process.arch];
  if (number === undefined) return null;
  for (const name of LIBRARIES) {
    try {
      const { syscall } = dlopen(name, {
        syscall: { args: ["i64", "i32", "ptr", "u32"], returns: "i64" },
      }).symbols;
      const attributes = new DataView(new ArrayBuffer(ATTRIBUTE_BYTES));
      return (id, { policy, niceness, sliceUs }) => {
        attributes.setUint32(0, ATTRIBUTE_BYTES, true);
        attributes.setUint32(4, policy, true);
        attributes.setBigUint64(8, BigInt(sliceUs === 0 ? 0 : RESET_ON_FORK), true);
        attributes.setInt32(16, niceness, true);
        attributes.setBigUint64(24, BigInt(sliceUs * 1_000), true);
        return Number(syscall(number, id, ptr(attributes.buffer), 0)) === 0;
      };
    } catch {
      // The next name.
    }
  }
  return null;
}

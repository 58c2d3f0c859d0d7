import { ptr } from "bun:ffi";
import { readdirSync, readFileSync } from "node:fs";
import { constants, getPriority } from "node:os";
import { openSystemLibrary } from "./system-library.ts";

interface Priority {
  /** Steps behind the priority that the process was started with. */
  readonly steps: number;
  /** The time for which it asks the core at once, in nanoseconds; 0 is the kernel's own, 1.4 to 3 ms. */
  readonly sliceNs: bigint;
}

/**
 * A thread that wakes takes the core at once from one with a longer slice, and gets no larger share of a full core for it. More
 * than half of the turns of the event loop end within this one: the HTTP client's thread would else take the core in the midst of
 * a turn, and whoever wants it next would have it until the kernel looks again, up to 4 ms later. Kernels before 6.12 ignore it.
 */
const SERVING: Priority = { steps: 0, sliceNs: 400_000n };
/**
 * As Workers are. Further behind, it would keep the serving thread waiting: that cannot go on while its memory is swept
 * (docs/runtime-report.md).
 */
const BEHIND: Priority = { steps: 5, sliceNs: 0n };

/** The name here of the process's first thread, whose name there is the executable's. */
const FIRST = "first";

/**
 * Priorities by the name that the system shows of a thread (proc(5), `comm`). The allocator's scavenger gives memory back to the
 * system, for up to 5 ms at a time. Compilers and collectors stay as they are, since requests wait for them, and Workers
 * give way by themselves (`serveWorker`). `tests/binary/threads.test.ts` fails when an upgrade of the runtime renames a thread.
 */
const PRIORITIES = new Map<string, Priority>([
  [FIRST, SERVING],
  ["HTTP Client", SERVING],
  ["mi-scavenger", BEHIND],
]);

/**
 * Keeps other threads of this process from holding a core for longer than a request may wait for it; called once all that have a
 * priority here have started. Nothing rises above the priority that the process was started with, and nothing but the pace depends
 * on it: elsewhere than on Linux, in a sandbox that refuses it, and in a process that was started with a policy of its own
 * (chrt(1)) threads stay as they are.
 */
export function orderThreads(): void {
  const setPriority = openScheduler();
  if (setPriority === null) return;
  try {
    for (const [id, name] of listThreads()) {
      const priority = PRIORITIES.get(name);
      if (priority !== undefined) setPriority(id, priority);
    }
  } catch {
    // A sandbox may have no /proc.
  }
}

function listThreads(): readonly (readonly [id: number, name: string])[] {
  const folder = "/proc/self/task";
  return readdirSync(folder).flatMap((id) => {
    if (Number(id) === process.pid) return [[process.pid, FIRST]] as const;
    try {
      return [[Number(id), readFileSync(`${folder}/${id}/comm`, "utf8").trim()]] as const;
    } catch {
      // The thread has ended.
      return [];
    }
  });
}

/** Numbers of sched_setattr(2), which glibc has no name for. */
const SYSTEM_CALLS: { readonly [arch: string]: number } = { x64: 314, arm64: 274 };
const SCHED_OTHER = 0;
/** A thread that one with a short slice starts has the kernel's own. */
const RESET_ON_FORK = 1n;
const ATTRIBUTE_BYTES = 48;

function openScheduler(): ((id: number, priority: Priority) => void) | null {
  const library = openSystemLibrary({
    sched_getscheduler: { args: ["i32"], returns: "i32" },
    syscall: { args: ["i64", "i32", "ptr", "u32"], returns: "i64" },
  });
  const number = SYSTEM_CALLS[process.arch];
  if (library === null || number === undefined) return null;
  const { sched_getscheduler, syscall } = library.symbols;
  if (sched_getscheduler(0) !== SCHED_OTHER) return null;
  const attributes = new DataView(new ArrayBuffer(ATTRIBUTE_BYTES));
  attributes.setUint32(0, ATTRIBUTE_BYTES, true);
  attributes.setUint32(4, SCHED_OTHER, true);
  attributes.setBigUint64(8, RESET_ON_FORK, true);
  return (id, { steps, sliceNs }) => {
    attributes.setInt32(16, Math.min(getPriority() + steps, constants.priority.PRIORITY_LOW), true);
    attributes.setBigUint64(24, sliceNs, true);
    syscall(number, id, ptr(attributes.buffer), 0);
  };
}

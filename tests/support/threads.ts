import { readdirSync, readFileSync } from "node:fs";

/** A thread as the system shows it (proc(5)). */
export interface Thread {
  readonly id: number;
  readonly name: string;
  readonly niceness: number;
  /** `SCHED_NORMAL` or `SCHED_IDLE` of linux/sched.h. */
  readonly policy: number;
}

export const SCHED_NORMAL = 0;
export const SCHED_IDLE = 5;

/** CAP_SYS_NICE of linux/capability.h. */
const SYS_NICE_BIT = 23n;
/** The limit by which a thread may return from five steps back (setrlimit(2), RLIMIT_NICE). */
const NICE_LIMIT_MIN = 16;

export function listThreads(pid: number): readonly Thread[] {
  return readdirSync(`/proc/${pid}/task`).flatMap((id) => {
    try {
      const text = readFileSync(`/proc/${pid}/task/${id}/stat`, "utf8");
      const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
      const name = text.slice(text.indexOf("(") + 1, text.lastIndexOf(")"));
      return [{ id: Number(id), name, niceness: Number(fields[16]), policy: Number(fields[38]) }];
    } catch {
      // It has ended since the folder was read.
      return [];
    }
  });
}

/** True where a thread of this process, and of those that it starts, may return after it has stepped back. */
export function mayReturn(): boolean {
  const [, capabilities = "0"] =
    /^CapEff:\s+([0-9a-f]+)$/m.exec(readFileSync("/proc/self/status", "utf8")) ?? [];
  const [, limit = "0"] = /^Max nice priority\s+(\d+)/m.exec(readFileSync("/proc/self/limits", "utf8")) ?? [];
  return ((BigInt(`0x${capabilities}`) >> SYS_NICE_BIT) & 1n) === 1n || Number(limit) >= NICE_LIMIT_MIN;
}

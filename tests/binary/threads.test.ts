import { expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { constants, getPriority, release } from "node:os";
import { executable } from "../support/executable.ts";
import { makeInstallation } from "../support/installation.ts";

const TEST_MS_MAX = 120_000;
/** Shorter than the kernel's own, 1.4 to 3 ms. */
const SHORT_SLICE_NS = 400_000;
const [major = 0, minor = 0] = release().split(".").map(Number);
/** Kernels before 6.12 have no slice of a thread's own. */
const hasSlices = major > 6 || (major === 6 && minor >= 12);

/** Threads of a process by their names (proc(5)), except those that have just ended. */
function listThreads(pid: number) {
  return readdirSync(`/proc/${pid}/task`).flatMap((id) => {
    const folder = `/proc/${pid}/task/${id}`;
    try {
      const stat = readFileSync(`${folder}/stat`, "utf8");
      const [, slice] = /^se\.slice\s*:\s*(\d+)$/m.exec(readFileSync(`${folder}/sched`, "utf8")) ?? [];
      return [
        {
          name: Number(id) === pid ? "first" : readFileSync(`${folder}/comm`, "utf8").trim(),
          niceness: Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[16]),
          isShort: Number(slice) === SHORT_SLICE_NS,
        },
      ];
    } catch {
      return [];
    }
  });
}

test.skipIf(process.platform !== "linux")(
  "serving threads ask for a short slice of a core, the allocator's scavenger gives way, and compilers stay as they are",
  async () => {
    const installation = await makeInstallation(await executable());
    try {
      const server = await installation.start();
      const threads = listThreads(server.pid);
      const niceness = getPriority();
      for (const [name, expected] of [
        ["first", { niceness, isShort: hasSlices }],
        ["HTTP Client", { niceness, isShort: hasSlices }],
        [
          "mi-scavenger",
          { niceness: Math.min(niceness + 5, constants.priority.PRIORITY_LOW), isShort: false },
        ],
        ["JITWorker", { niceness, isShort: false }],
      ] as const) {
        const found = threads.filter((thread) => thread.name === name);
        // Compilers come and go.
        if (name !== "JITWorker") expect(found).not.toBeEmpty();
        for (const thread of found) expect(thread).toEqual({ name, ...expected });
      }
    } finally {
      await installation.remove();
    }
  },
  TEST_MS_MAX,
);

/**
 * A process that records event after event until its first segment is full, and is killed while it reserves room for the
 * next one. Says on stdout how many it has recorded. Run: bun child-killed-rotating.ts <journal folder>
 */
import { writeSync } from "node:fs";
import { Journal } from "#storage/journal/journal.ts";
import { createLog } from "#kernel/log.ts";
import { createRecorder } from "#usage/recorder.ts";
import { ENDING, NEW_YEAR_US, SUBJECT } from "./usage.ts";

const [, , directory = ""] = process.argv;
let firstFile: number | null = null;
const journal = new Journal({
  directory,
  firstSegment: 1,
  segmentBytesMax: 2_000,
  log: createLog({ level: "error", json: true, write: () => undefined, timestamp: () => "" }),
  onWritten: () => undefined,
  write(file, bytes, position) {
    firstFile ??= file;
    // Half of what is to be reserved is taken.
    if (file !== firstFile && position > 512 * 1024) process.kill(process.pid, "SIGKILL");
    return writeSync(file, bytes, 0, bytes.length, position);
  },
});
const recorder = createRecorder({
  journal,
  sync: "interval",
  findEvent: async () => ({ kind: "absent" }),
  flush: async () => undefined,
  close: () => journal.close(),
});
for (let recorded = 1; ; recorded += 1) {
  const usage = recorder.open({ ...SUBJECT, arrivedAtUs: NEW_YEAR_US + recorded });
  // Its end is in the file before the segment changes, so that it counts as recorded.
  writeSync(1, `${recorded}\n`);
  await usage.end(ENDING);
}

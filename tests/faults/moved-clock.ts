import { renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** Where Debian's `libfaketime` and others' lie; that of a program with threads. */
const LIBRARIES = ["lib*/*/faketime/libfaketimeMT.so.1", "lib*/faketime/libfaketimeMT.so.1"];

/** A wall clock of other processes that can be set while they run. Durations stay the machine's. */
export interface MovedClock {
  /** For a process that is to read it. */
  readonly env: Record<string, string>;
  /** Seconds from the machine's own. */
  set(offsetSeconds: number): void;
}

/** Null where the library is missing. `folder` holds the file that says what time it is. */
export function createMovedClock(folder: string): MovedClock | null {
  const [library] = LIBRARIES.flatMap((pattern) =>
    Array.from(new Bun.Glob(pattern).scanSync({ cwd: "/usr", onlyFiles: false })),
  );
  if (library === undefined) return null;
  const file = join(folder, "clock");
  const set = (offsetSeconds: number) => {
    // A reader meets the one or the other, whole.
    writeFileSync(`${file}.next`, `${offsetSeconds < 0 ? "-" : "+"}${Math.abs(offsetSeconds)}\n`);
    renameSync(`${file}.next`, file);
  };
  set(0);
  return {
    env: {
      LD_PRELOAD: join("/usr", library),
      FAKETIME_TIMESTAMP_FILE: file,
      // Read at each look.
      FAKETIME_NO_CACHE: "1",
      DONT_FAKE_MONOTONIC: "1",
    },
    set,
  };
}

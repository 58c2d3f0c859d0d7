/**
 * Runs a server in its own process and counts its heap when asked: `bun bench/probe.ts FILE Lockport` or
 * `bun bench/probe.ts FILE bare PORT ORIGIN`. At SIGUSR2 the count goes to the file, at SIGUSR1 behind a full collection.
 */
import { heapStats } from "bun:jsc";
import { renameSync, writeFileSync } from "node:fs";
import { argv } from "node:process";

/** What the engine has allocated and not collected. */
export interface Count {
  /** Memory of its cells: with collection off of their blocks, each of which is full. */
  readonly cellBytes: number;
  /** Resident: the cells, and what the runtime and its libraries keep for them. */
  readonly residentBytes: number;
  readonly objects: Readonly<Record<string, number>>;
}

const [, , file = "", name = "", ...words] = argv;

function count(isCollected: boolean): void {
  if (isCollected) Bun.gc(true);
  const { heapCapacity, heapSize, extraMemorySize, objectTypeCounts } = heapStats();
  const counted: Count = {
    cellBytes: isCollected ? heapSize - extraMemorySize : heapCapacity,
    residentBytes: process.memoryUsage.rss(),
    objects: objectTypeCounts,
  };
  // The reader waits for the name.
  writeFileSync(`${file}.part`, JSON.stringify(counted));
  renameSync(`${file}.part`, file);
}

process.on("SIGUSR1", () => count(true));
process.on("SIGUSR2", () => count(false));

if (name === "bare") {
  argv.splice(2, argv.length, ...words);
  await import("./bare.ts");
} else {
  argv.splice(2, argv.length, "serve");
  const { runCli } = await import("../src/cli/program.ts");
  const { createProcessTerminal } = await import("../src/cli/screen/terminal.ts");
  process.exit(await runCli(["serve"], createProcessTerminal()));
}

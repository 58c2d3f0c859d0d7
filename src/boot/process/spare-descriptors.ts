import { closeSync, openSync } from "node:fs";
import { systemCode } from "#kernel/system-code.ts";
import type { Log } from "#kernel/log.ts";
import { admitConnections, dropWaiting, refuseConnections } from "./listening-sockets.ts";

/** Kept, since finding the listener opens files itself. So many more must be free before connections are made again. */
const SPARE = 16;
const LOOK_INTERVAL_MS = 250;

/**
 * Without a free descriptor `accept` fails, the listener stays readable, and the runtime's loop spins on it with most of a
 * core. So a few descriptors are kept: once no other is free, the kept ones serve to close what waits in the listener's queue,
 * and no connection is made until some are free again. Open connections go on. Returns what ends it.
 * Other systems than Linux have no such means, and nothing is kept there.
 */
export function keepSpareDescriptors(port: number, log: Log): () => void {
  if (process.platform !== "linux") return () => undefined;
  let spare = openDescriptors(SPARE);
  let isRefusing = false;
  const relieve = () => {
    closeAll(spare);
    refuseConnections(port);
    const dropped = dropWaiting(port);
    spare = openDescriptors(SPARE);
    if (isRefusing) return;
    isRefusing = true;
    log.warn(
      "all descriptors are in use: no connection is made until some are free; give the process more (ulimit -n)",
      { dropped },
    );
  };
  const look = () => {
    const free = openDescriptors(isRefusing ? SPARE : 1);
    closeAll(free);
    if (free.length === 0 || spare.length < SPARE) return relieve();
    if (!isRefusing || free.length < SPARE) return;
    isRefusing = !admitConnections(port);
    log.info("descriptors are free again: connections are made");
  };
  const timer = setInterval(look, LOOK_INTERVAL_MS);
  timer.unref();
  return () => {
    clearInterval(timer);
    closeAll(spare);
  };
}

/** As many as there are free, at most `count`. */
function openDescriptors(count: number): readonly number[] {
  const opened: number[] = [];
  try {
    while (opened.length < count) opened.push(openSync("/dev/null", "r"));
  } catch (cause) {
    if (systemCode(cause) !== "EMFILE" && systemCode(cause) !== "ENFILE") throw cause;
  }
  return opened;
}

function closeAll(descriptors: readonly number[]): void {
  for (const descriptor of descriptors) closeSync(descriptor);
}

import { statSync } from "node:fs";
import { type MetricFamily, toCounter, toGauge } from "./exposition.ts";

/** The process's own figures, under the names that Prometheus client libraries give them. */
export function readProcessFamilies(startedAtSeconds: number): readonly MetricFamily[] {
  const cpu = process.cpuUsage();
  const { rss, heapUsed } = process.memoryUsage();
  const openFiles = countOpenFiles();
  return [
    toCounter(
      "process_cpu_seconds_total",
      "CPU time spent, user and system, in seconds.",
      (cpu.user + cpu.system) / 1e6,
    ),
    toGauge("process_resident_memory_bytes", "Resident memory in bytes.", rss),
    toGauge(
      "process_start_time_seconds",
      "Start of the process, in seconds since the Unix epoch.",
      startedAtSeconds,
    ),
    ...(openFiles === null
      ? []
      : [toGauge("process_open_fds", "Open file descriptors; Linux 6.2 and later only.", openFiles)]),
    toGauge(
      "proxy_heap_used_bytes",
      "Memory of the JavaScript heap that is in use; native buffers are not in it.",
      heapUsed,
    ),
  ];
}

/**
 * Linux tells the number as the size of this folder since 6.2 (proc_pid_fd(5)); before, it is 0. The folder is not listed,
 * since that takes a descriptor itself, and thousands of entries when it matters.
 */
function countOpenFiles(): number | null {
  const size = statSync("/proc/self/fd", { throwIfNoEntry: false })?.size ?? 0;
  return size > 0 ? size : null;
}

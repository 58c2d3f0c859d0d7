import type { LayoutShift, LongTask, Vitals } from "./shapes.ts";
import { describeElement } from "./words.ts";

/** Shifts belong to one window while they follow each other within the first and it lasts no longer than the second (web.dev/articles/cls). */
const WINDOW_GAP_MS_MAX = 1000;
const WINDOW_MS_MAX = 5000;

interface LayoutShiftEntry extends PerformanceEntry {
  readonly value: number;
  readonly hadRecentInput: boolean;
  readonly sources: readonly { readonly node: Node | null }[];
}

/** Observes from the start of the page on; what it returns reads what was seen so far. */
export function watchVitals(): () => Vitals {
  const shifts: LayoutShift[] = [];
  const longTasks: LongTask[] = [];
  let lcpMs: number | null = null;
  const drains = [
    observe("layout-shift", (entry) => {
      const { value, hadRecentInput, sources, startTime } = entry as LayoutShiftEntry;
      if (hadRecentInput) return;
      const elements = sources.map(({ node }) => (node instanceof Element ? describeElement(node) : "text"));
      shifts.push({ value, atMs: startTime, elements });
    }),
    observe("largest-contentful-paint", ({ startTime }) => {
      lcpMs = startTime;
    }),
    observe("longtask", ({ startTime, duration }) => {
      longTasks.push({ atMs: startTime, durationMs: duration });
    }),
  ];
  return () => {
    for (const drain of drains) drain();
    return { cls: toCls(shifts), shifts, lcpMs, longTasks };
  };
}

function observe(type: string, take: (entry: PerformanceEntry) => void): () => void {
  const takeAll = (entries: readonly PerformanceEntry[]) => entries.forEach(take);
  const observer = new PerformanceObserver((list) => takeAll(list.getEntries()));
  observer.observe({ type, buffered: true });
  return () => takeAll(observer.takeRecords());
}

function toCls(shifts: readonly LayoutShift[]): number {
  let largest = 0;
  let sum = 0;
  let beganAtMs = 0;
  let lastAtMs = Number.NEGATIVE_INFINITY;
  for (const { value, atMs } of shifts) {
    if (atMs - lastAtMs > WINDOW_GAP_MS_MAX || atMs - beganAtMs > WINDOW_MS_MAX) {
      sum = 0;
      beganAtMs = atMs;
    }
    sum += value;
    lastAtMs = atMs;
    largest = Math.max(largest, sum);
  }
  return largest;
}

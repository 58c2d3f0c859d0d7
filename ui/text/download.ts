import { parseInstantMs, toIso } from "../search/window.ts";
import { formatInstant } from "./format.ts";

/** After the press the browser reads the file at its own pace. */
const KEPT_MS = 60_000;

/** Hands a file to the browser to save, under this name. */
export function saveFile(file: Blob, filename: string): void {
  const address = URL.createObjectURL(file);
  const link = document.createElement("a");
  link.href = address;
  link.download = filename;
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), KEPT_MS);
}

export interface FileWindow {
  readonly since?: string | undefined;
  readonly until?: string | undefined;
}

/** `lockport-usage_2026-01-01_2026-01-31T0800_UTC.csv`: which time it tells of, whatever clock the reader's is. */
export function toCsvName(subject: string, { since, until }: FileWindow, nowMs: number): string {
  const from = since === undefined ? "beginning" : toBoundName(since);
  return `lockport-${subject}_${from}_${toBoundName(until ?? toIso(nowMs))}_UTC.csv`;
}

function toBoundName(text: string): string {
  const ms = parseInstantMs(text);
  if (ms === null) return text.replaceAll(/[^\w.-]+/g, "-");
  const minute = formatInstant(toIso(ms), "minute").replace(" UTC", "").replace(" ", "T").replace(":", "");
  return minute.replace(/T0000$/, "");
}

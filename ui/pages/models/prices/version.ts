import { toIso } from "../../../search/window.ts";
import { formatInstant } from "../../../text/format.ts";
import type { FeedReading } from "./feed-file.ts";

/** The label of a feed that one person typed. */
export function toHandVersion(nowMs: number): string {
  return `by hand ${formatInstant(toIso(nowMs), "date")}`;
}

/** A file's own label, to be changed or not; a price map has none and gets the day. */
export function toFirstVersion({ kind, version }: FeedReading, nowMs: number): string {
  if (kind === "price_map") return `litellm ${formatInstant(toIso(nowMs), "date")}`;
  return typeof version === "string" ? version : "";
}

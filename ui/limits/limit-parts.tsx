import type { ReactNode } from "react";
import type { OwnLimit } from "../api/limits.ts";
import { Badge } from "../components/chip.tsx";
import { Instant } from "../components/instant.tsx";
import { toLevel, toLevelWords, toNoResetWords } from "./limit-words.ts";

/** That a limit is off, close to its amount, at it, or one that warns only; nothing otherwise. */
export function LevelBadge({
  limit,
}: {
  readonly limit: Pick<OwnLimit, "enabled" | "used" | "amount" | "action">;
}): ReactNode {
  const level = toLevel(limit);
  const words = toLevelWords(level, limit.action);
  if (words === null) return limit.action === "warn" && <Badge title="It refuses nothing">warns</Badge>;
  const tone =
    level === "off" ? "neutral" : level === "reached" && limit.action === "refuse" ? "bad" : "warn";
  return <Badge tone={tone}>{words}</Badge>;
}

/** When it starts anew: how far that is, the instant in its title. */
export function StartsAnew({
  limit: { resets_at: at, window },
}: {
  readonly limit: Pick<OwnLimit, "resets_at" | "window">;
}): ReactNode {
  if (at !== null) return <Instant value={at} format="relative" />;
  return <span className="text-ink-faint">{toNoResetWords(window)}</span>;
}

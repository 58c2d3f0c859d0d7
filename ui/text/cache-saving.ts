import type { CacheUse } from "../api/reports.ts";
import { formatMoney } from "./format.ts";

/** What a prompt cache saved against uncached prices, as a sentence; `reason` is why single requests are not read. */
export function toSavingText({ saving }: Pick<CacheUse, "saving">, reason: string | null = null): string {
  if (saving === null)
    return reason === null
      ? "What that saved is not known: a price of it was missing."
      : `What that saved is not told. ${reason}.`;
  if (saving < 0) return `That cost ${formatMoney(-saving)} more than the same input uncached.`;
  return `That saved ${formatMoney(saving)} against the same input uncached.`;
}

import type { Repricing, RepricingStep, RepricingStore } from "#stats/repricing.ts";
import type { StretchWrite } from "#storage/repricing/repricing-writer.ts";
import type { Stretch } from "#storage/repricing/stretch.ts";
import type { Ask } from "./stats.ts";
import type { WriterClient } from "./writer-client.ts";

/** What a re-pricing reads takes turns with the reports of all principals. */
const ASKER = { askerId: "re-pricing" };
/** Rows of a stretch that is applied. To look labels up, and to pack the cells of a day and a month, takes as long for one row. */
const ROWS_MAX = 16_384;
const ROWS_LEAST = 4_096;
/** A stretch whose write took longer makes the next one half as large: batches wait for it on SQLite. */
const WRITE_MS_MAX = 100;
/** A stretch whose rows or cells others have changed is read again: settlements, retention and sealing are rare. */
const MOVES_MAX = 100;

/** Re-pricings of a server: what is read by its reader Workers is written by its writer. */
export function createRepricingStore(
  flush: () => Promise<void>,
  ask: Ask,
  { worker }: Pick<WriterClient, "worker">,
): RepricingStore {
  let rowsMax = ROWS_MAX;
  const write = async (
    repricing: Repricing,
    direction: StretchWrite["direction"],
    read: () => Promise<Stretch | null>,
  ): Promise<RepricingStep | null> => {
    for (let moves = 0; moves < MOVES_MAX; moves += 1) {
      const stretch = await read();
      if (stretch === null) return { untilUs: null };
      const { untilUs, changes } = stretch;
      if (direction === "apply" && changes.ids.length === 0) return { untilUs };
      const startedMs = performance.now();
      const outcome = await worker.askUntilAnswered("writeStretch", { id: repricing.id, direction, stretch });
      rowsMax = toNextRows(rowsMax, performance.now() - startedMs);
      if (outcome === "written") return { untilUs };
      if (outcome === "lost") return null;
    }
    throw new Error("a stretch of the ledger was changed by others all the time");
  };
  return {
    async plan(terms, fromUs) {
      // Requests that ended before the plan are in it, however late the writer is: else apply would change more.
      if (fromUs === null) await flush();
      return await ask("planStretch", { terms, fromUs }, ASKER);
    },
    create: (repricing) => worker.askUntilAnswered("createRepricing", repricing),
    save: (repricing, isActive) => worker.askUntilAnswered("saveRepricing", { repricing, isActive }),
    begin: (id, change) => worker.askUntilAnswered("beginRepricing", { id, ...change }),
    claim: () => worker.askUntilAnswered("claimRepricing"),
    applyStep: (repricing, fromUs) =>
      write(repricing, "apply", () =>
        ask("repriceStretch", { id: repricing.id, terms: repricing.terms, fromUs, rowsMax }, ASKER),
      ),
    revertStep: (repricing) =>
      write(repricing, "revert", () => ask("revertStretch", { id: repricing.id }, ASKER)),
    sumApplied: (id) => ask("sumApplied", { id }, ASKER),
    find: (id) => ask("findRepricing", { id }, ASKER),
    list: (page) => ask("listRepricings", page, ASKER),
  };
}

/** The most rows of the next stretch, by the time that the last one took to be written. */
export function toNextRows(rowsMax: number, tookMs: number): number {
  if (tookMs > WRITE_MS_MAX) return Math.max(rowsMax / 2, ROWS_LEAST);
  return tookMs < WRITE_MS_MAX / 2 ? Math.min(rowsMax * 2, ROWS_MAX) : rowsMax;
}

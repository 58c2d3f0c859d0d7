import type { ActiveRepricing, BeginOutcome, Repricing } from "#stats/repricing.ts";
import { changeCosts } from "#storage/cells/counting.ts";
import { replaceCells } from "#storage/cells/stored-cells.ts";
import { all, one, run, type Script } from "#storage/sql/script.ts";
import { InternedRows } from "#storage/writer/interning.ts";
import { type InTurn, SupersededError, type WriterEngine } from "#storage/writer/writer-engine.ts";
import { unpackTotals, type WantedClass } from "./event-changes.ts";
import {
  beginRepricing,
  type BeginQuestion,
  createRepricing,
  findActive,
  saveRepricing,
  takeOver,
} from "./repricing-rows.ts";
import type { Stretch } from "./stretch.ts";

/** A server that has said nothing for so long has ended: one that is alive says something with every stretch. */
const SILENT_MS = 15_000;

/** A stretch of a re-pricing that is written. */
export interface StretchWrite {
  readonly id: string;
  readonly direction: "apply" | "revert";
  readonly stretch: Stretch;
}

/** `moved`: what was read has changed since, so that it is to be read again. `lost`: another server has the re-pricing. */
export type StretchOutcome = "written" | "moved" | "lost";

/** Thrown within the transaction of a stretch, which is then taken back. */
class StretchMovedError extends Error {
  override readonly name = "StretchMovedError";
}

/** Writes re-pricings down: between two batches on SQLite, and beside them on PostgreSQL, where no batch waits for it. */
export class RepricingWriter {
  readonly #priceSets = new InternedRows("price_set", ["prices"]);
  readonly #classes = new InternedRows("manner", ["result", "streamed", "price_set", "unpriced"]);
  readonly #inTurn: InTurn;
  /** The last sign of life of another server's. */
  #heard = { id: "", beat: -1, sinceMs: 0 };

  constructor(inTurn: InTurn) {
    this.#inTurn = inTurn;
  }

  /** See `RepricingStore`, as everything here. */
  create(repricing: Repricing): Promise<boolean> {
    return this.#transact((holder) => createRepricing({ repricing, holder }));
  }

  save(saved: { readonly repricing: Repricing; readonly isActive: boolean }): Promise<boolean> {
    return this.#transact((holder) => saveRepricing({ ...saved, holder }));
  }

  begin(begun: Omit<BeginQuestion, "holder">): Promise<BeginOutcome> {
    return this.#transact((holder) => beginRepricing({ ...begun, holder }));
  }

  claim(): Promise<ActiveRepricing | null> {
    return this.#inTurn((engine) => engine.transact(() => this.#claim(engine)));
  }

  async write(write: StretchWrite): Promise<StretchOutcome> {
    const make = async (engine: WriterEngine): Promise<StretchOutcome | { readonly cause: unknown }> => {
      try {
        // Committed before: other writers that name the same classes do not wait for the stretch.
        const classIds = await engine.transact(() => this.#intern(write.stretch.changes.classes));
        return await engine.transact(() => writeStretch(write, engine, classIds));
      } catch (cause) {
        this.#priceSets.ids.clear();
        this.#classes.ids.clear();
        if (cause instanceof StretchMovedError) return "moved";
        if (cause instanceof SupersededError) throw cause;
        return { cause };
      }
    };
    const beside = await this.#inTurn((engine) => (engine.isShared ? engine : null));
    const outcome = await (beside === null ? this.#inTurn(make) : make(beside));
    // Thrown behind its turn: a step that throws is made until it succeeds, and all others wait for that.
    if (typeof outcome !== "string") throw outcome.cause;
    return outcome;
  }

  #transact<Answer>(toScript: (holder: number) => Script<Answer>): Promise<Answer> {
    return this.#inTurn((engine) => engine.transact(() => toScript(engine.lane)));
  }

  *#claim({ lane: holder, isShared }: WriterEngine): Script<ActiveRepricing | null> {
    const active = yield* findActive();
    if (active === null) return null;
    const { row, repricing } = active;
    if (row.holder === holder) return { repricing, isOwn: true };
    const nowMs = performance.now();
    if (this.#heard.id !== row.id || this.#heard.beat !== row.beat)
      this.#heard = { id: row.id, beat: row.beat, sinceMs: nowMs };
    // Where no other process writes, its holder was one of the database that it was moved from.
    const isSilent = !isShared || nowMs - this.#heard.sinceMs >= SILENT_MS;
    return { repricing, isOwn: isSilent && (yield* takeOver({ id: row.id, beat: row.beat, holder })) };
  }

  *#intern(classes: readonly WantedClass[]): Script<readonly number[]> {
    const wanted = classes.filter(({ id }) => id === 0);
    const priceSets = yield* this.#priceSets.intern(wanted.map(({ prices }) => [prices]));
    const ids = yield* this.#classes.intern(
      wanted.map(({ result, streamed, unpriced }, index) => [
        result,
        streamed,
        priceSets[index] ?? 0,
        unpriced,
      ]),
    );
    const idOf = new Map(wanted.map((each, index) => [each, ids[index] ?? 0]));
    return classes.map((each) => idOf.get(each) ?? each.id);
  }
}

/** The rows of a stretch, all totals of them, and what takes it back, or no longer has to: within one transaction. */
function* writeStretch(
  { id, direction, stretch }: StretchWrite,
  engine: WriterEngine,
  classIds: readonly number[],
): Script<StretchOutcome> {
  const { changes, cells, fromUs, untilUs, eventCount } = stretch;
  const isApplied = direction === "apply";
  const held = yield* run(
    "UPDATE repricing SET beat = beat + 1, done_events = done_events + ? WHERE id = ? AND state = ? AND holder = ?",
    [isApplied ? eventCount : -changes.ids.length, id, isApplied ? "running" : "reverting", engine.lane],
  );
  if (held === 0) return "lost";
  if (isApplied) {
    const written = yield* one(
      "SELECT 1 FROM repriced_stretch WHERE repricing = ? AND until_us > ? LIMIT 1",
      [id, fromUs],
    );
    if (written !== null) throw new StretchMovedError();
  } else {
    const removed = yield* run("DELETE FROM repriced_stretch WHERE repricing = ? AND from_us = ?", [
      id,
      fromUs,
    ]);
    if (removed === 0) throw new StretchMovedError();
  }
  const replaced = yield* engine.replaceCosts({
    ...changes,
    classIds: changes.classOf.map((place) => classIds[place] ?? 0),
  });
  if (replaced !== changes.ids.length) throw new StretchMovedError();
  const results = yield* all<{ id: number; outcome: string }>("SELECT id, outcome FROM result");
  const outcomes = new Map(results.map((result) => [result.id, result.outcome]));
  yield* changeCosts(unpackTotals(changes.totals, outcomes), { areCellsOpen: cells === null });
  for (const changed of cells ?? []) if (!(yield* replaceCells(changed))) throw new StretchMovedError();
  if (changes.undo !== null)
    yield* run(
      "INSERT INTO repriced_stretch (repricing, from_us, until_us, events, undo) VALUES (?, ?, ?, ?, ?)",
      [id, fromUs, untilUs, eventCount, changes.undo],
    );
  return "written";
}

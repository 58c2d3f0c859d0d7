import { type Connection, connection, type Script } from "#storage/sql/script.ts";
import { DecodedCells } from "./decoded-cells.ts";
import { type FoundLabelSets, LabelSets } from "./label-sets.ts";

/** The memory of a reader from report to report, filled when reports are read. */
interface ReportMemory {
  readonly labelSets: LabelSets;
  readonly cells: DecodedCells;
}

/** By connection. Label sets are those of its ledger; cells are found by a hash of their bytes. */
const memories = new WeakMap<Connection, ReportMemory>();

export function* memoryOf(): Script<ReportMemory> {
  const of = yield* connection();
  let memory = memories.get(of);
  if (memory === undefined)
    memories.set(of, (memory = { labelSets: new LabelSets(), cells: new DecodedCells() }));
  return memory;
}

/** The label sets of the ledger, the first of which the reader keeps. */
export function* readLabelSets(): Script<FoundLabelSets> {
  const { labelSets } = yield* memoryOf();
  return yield* labelSets.find();
}

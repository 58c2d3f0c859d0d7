import { toPart } from "#storage/cells/cells.ts";
import type { Script } from "#storage/sql/script.ts";
import type { Label, LabelBlock } from "./label-sets.ts";
import { readLabelSets } from "./report-memory.ts";
import { matchLabels, type ResolvedFilter } from "./request-filter.ts";

/** In place of a group: what does not match. */
export const NOT_CHOSEN = -1;

/** One of the labels that a group has in common, or what `toValue` makes of it. */
export interface GroupLabel {
  readonly label: Label;
  readonly toValue?: (value: string | null) => string | null;
}

/** Which group each label set belongs to. */
export interface LabelGroups {
  /** By the label set's id. */
  readonly groupOf: Int32Array;
  readonly count: number;
  /** By group, its values in the order of the labels; none where each label set is a group, by its id. */
  readonly values: readonly (readonly (string | null)[])[];
  /** True where all that is chosen is one group. */
  readonly isWhole: boolean;
  /** By the label set's id less one, for SQL: 0 for one that does not match, and else one of `SHAPES`. */
  readonly shapes: Uint8Array;
  /** The parts of cells in which something may match. */
  readonly parts: ReadonlySet<number>;
}

/** The byte of a label set, by the usage of its events. */
export const SHAPES = { inclusive: 1, exclusive: 2, untold: 3, pending: 4 } as const;

function toShapeByte(shape: string | null): number {
  if (shape === null || shape === "begun") return SHAPES.untold;
  if (shape === "inclusive") return SHAPES.inclusive;
  return shape === "pending" ? SHAPES.pending : SHAPES.exclusive;
}

/** Puts the label sets that a filter chooses together by some of their labels; all into one group without any, each into its own with `each`. */
export function* groupLabelSets(
  { conditions }: Pick<ResolvedFilter, "conditions">,
  labels: readonly GroupLabel[] | "each",
): Script<LabelGroups> {
  const grouper = labels === "each" ? null : new Grouper(labels);
  const parts = new Set<number>();
  const { last, blocks } = yield* readLabelSets();
  const groupOf = new Int32Array(last + 1).fill(NOT_CHOSEN);
  const shapes = new Uint8Array(last);
  yield* blocks((block) => {
    const matched = matchLabels(block, conditions);
    const groups = grouper?.toGroups(block, matched) ?? block.ids;
    const shape = block.column("shape");
    const shapeOf = shape.values.map(toShapeByte);
    for (let row = 0; row < block.count; row += 1) {
      if (matched[row] === 0) continue;
      const id = block.ids[row] ?? 0;
      groupOf[id] = groups[row] ?? NOT_CHOSEN;
      shapes[id - 1] = shapeOf[shape.placeOf[row] ?? 0] ?? 0;
      parts.add(toPart(id));
    }
  });
  const values = grouper?.values ?? [];
  const count = grouper === null ? last + 1 : values.length;
  return { groupOf, count, values, isWhole: labels.length === 0, shapes, parts };
}

/** Above every number of a group, so that two numbers are one below 2^53. */
const GROUPS_MAX = 2 ** 26;

/** Numbers the groups of all blocks. */
class Grouper {
  readonly values: (readonly (string | null)[])[] = [];
  readonly #labels: readonly (GroupLabel & { readonly numberOf: Map<string | null, number> })[];
  /** A level for each label: the number of what label sets have in common up to it. */
  readonly #levels: readonly Map<number, number>[];

  constructor(labels: readonly GroupLabel[]) {
    this.#labels = labels.map((label) => ({ ...label, numberOf: new Map() }));
    this.#levels = labels.map(() => new Map());
    if (labels.length === 0) this.values.push([]);
  }

  toGroups(block: LabelBlock, matched: Uint8Array): Int32Array {
    const groups = new Int32Array(block.count);
    for (const [level, { label, toValue, numberOf }] of this.#labels.entries()) {
      const { values, placeOf } = block.column(label);
      const numbers = Int32Array.from(values, (value) =>
        getNumber(numberOf, toValue === undefined ? value : toValue(value)),
      );
      const known = this.#levels[level] ?? new Map<number, number>();
      for (let row = 0; row < groups.length; row += 1) {
        if (matched[row] === 0) continue;
        groups[row] = getNumber(known, (groups[row] ?? 0) * GROUPS_MAX + (numbers[placeOf[row] ?? 0] ?? 0));
      }
    }
    for (let row = 0; row < groups.length; row += 1) {
      if (matched[row] === 1 && groups[row] === this.values.length)
        this.values.push(this.#toValues(block, row));
    }
    return groups;
  }

  #toValues(block: LabelBlock, row: number): readonly (string | null)[] {
    return this.#labels.map(({ label, toValue }) => {
      const value = block.find(row, label);
      return toValue === undefined ? value : toValue(value);
    });
  }
}

function getNumber<Key>(numbers: Map<Key, number>, key: Key): number {
  const known = numbers.get(key);
  if (known !== undefined) return known;
  numbers.set(key, numbers.size);
  return numbers.size - 1;
}

/**
 * Which of the series colors belongs to a name. Names begin with a color that only they themselves choose, so that two
 * browsers which see the same chart first see it in the same colors; from then on this browser remembers it.
 */

/** Colors of the theme that series of names have: `--color-series-1` and so on. */
export const NAME_COLORS = 8;

/** Names of one kind whose colors are remembered; those that were met first are forgotten first. */
const REMEMBERED_MAX = 500;
const STORAGE_PREFIX = "lockport.colors.";

/** What is remembered of one kind of name, the name that was met first at the front. */
export type Remembered = Map<string, number>;

/**
 * The slot (from 0) of each of up to `NAME_COLORS` names that are drawn together. A name keeps the slot that it was met with; a
 * new one takes a slot that none of the others has, and of those one that the fewest names have, so that names which are
 * drawn together later seldom share one: `toPaints` then gives them textures. New names are added to `remembered`. The order
 * of `names`, which is that of their sizes, decides nothing.
 */
export function assignSlots(names: readonly string[], remembered: Remembered): ReadonlyMap<string, number> {
  const uses = Array.from({ length: NAME_COLORS }, () => 0);
  for (const slot of remembered.values()) uses[slot] = (uses[slot] ?? 0) + 1;
  const taken = new Set(names.map((name) => remembered.get(name)));
  const fresh = names.filter((name) => !remembered.has(name)).toSorted(byOwnNumber);
  for (const name of fresh) {
    const free = toPreferences(name).filter((one) => !taken.has(one));
    const fewest = Math.min(...free.map((one) => uses[one] ?? 0));
    const slot = free.find((one) => uses[one] === fewest) ?? 0;
    remembered.set(name, slot);
    taken.add(slot);
    uses[slot] = fewest + 1;
  }
  return new Map(names.map((name) => [name, remembered.get(name) ?? 0]));
}

/** The color slot of each name of one kind, such as `model`; reads and writes what this browser remembers. */
export function toNameSlots(kind: string, names: readonly string[]): ReadonlyMap<string, number> {
  const remembered = recall(kind);
  const before = remembered.size;
  const slots = assignSlots(names, remembered);
  if (remembered.size !== before) keep(kind, remembered);
  return slots;
}

const kinds = new Map<string, Remembered>();

function recall(kind: string): Remembered {
  const known = kinds.get(kind) ?? read(kind);
  kinds.set(kind, known);
  return known;
}

function read(kind: string): Remembered {
  try {
    const stored: unknown = JSON.parse(localStorage.getItem(STORAGE_PREFIX + kind) ?? "[]");
    return new Map(Array.isArray(stored) ? stored.filter(isEntry) : []);
  } catch {
    return new Map();
  }
}

function keep(kind: string, remembered: Remembered): void {
  for (const name of [...remembered.keys()].slice(0, -REMEMBERED_MAX)) remembered.delete(name);
  try {
    localStorage.setItem(STORAGE_PREFIX + kind, JSON.stringify([...remembered]));
  } catch {
    // Storage may be forbidden or full: the colors then last as long as the page.
  }
}

function isEntry(value: unknown): value is [string, number] {
  return Array.isArray(value) && typeof value[0] === "string" && isSlot(value[1]);
}

function isSlot(value: unknown): boolean {
  return typeof value === "number" && Number.isInteger(value) && value >= 0 && value < NAME_COLORS;
}

/** Every slot, from the one that the name would have first, by a number of the name. */
function toPreferences(name: string): readonly number[] {
  const hash = toNumber(name);
  // An odd stride comes past each of eight.
  const stride = 2 * ((hash >>> 8) % 4) + 1;
  return Array.from({ length: NAME_COLORS }, (_, step) => ((hash >>> 4) + step * stride) % NAME_COLORS);
}

function byOwnNumber(left: string, right: string): number {
  return toNumber(left) - toNumber(right) || (left < right ? -1 : 1);
}

/** FNV-1a over UTF-16 units: 32 bits. */
function toNumber(text: string): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < text.length; at += 1) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193) >>> 0;
  return hash;
}

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
 * The slot (from 0) of each of up to `NAME_COLORS` names that are drawn together, no slot twice. A name that was met before
 * another one keeps its color; the later one gives way where both are drawn, and has its own again where it stands alone.
 * Names that are new are added to `remembered`. The order of `names`, which is that of their sizes, decides nothing.
 */
export function assignSlots(names: readonly string[], remembered: Remembered): ReadonlyMap<string, number> {
  const drawn = new Set(names);
  const old = [...remembered.keys()].filter((name) => drawn.has(name));
  const fresh = names.filter((name) => !remembered.has(name)).toSorted(byOwnNumber);
  const slots = new Map<string, number>();
  const taken = new Set<number>();
  for (const name of [...old, ...fresh]) {
    const slot = toPreferences(name, remembered.get(name)).find((one) => !taken.has(one)) ?? 0;
    slots.set(name, slot);
    taken.add(slot);
    if (!remembered.has(name)) remembered.set(name, slot);
  }
  return slots;
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

/** Every slot, from the one that the name would have first: the one that it has, then by a number of the name and the slot. */
function toPreferences(name: string, own: number | undefined): readonly number[] {
  const hash = toNumber(name);
  // An odd stride comes past each of eight.
  const stride = 2 * ((hash >>> 8) % 4) + 1;
  const slots = Array.from(
    { length: NAME_COLORS },
    (_, step) => ((hash >>> 4) + step * stride) % NAME_COLORS,
  );
  return own === undefined ? slots : [own, ...slots];
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

/** Most prices are round, and with them costs: their common zeros are left out. */
const TENS_MAX = 9;
/** Marks a column of doubles, for quantities that are no whole numbers. */
const DOUBLES = 0xff;
/** Set beside the number of planes where -1 stands in some row. */
const HAS_ABSENT = 0x80;
const DOUBLE_BYTES = 8;
/** Kind, power of ten, least value. */
const HEAD_BYTES = 2 + DOUBLE_BYTES;

/** Returns how many bytes a column of so many values takes at most. */
export function toPackedBytesMax(count: number): number {
  return HEAD_BYTES + DOUBLE_BYTES * count;
}

/**
 * Writes a column of numbers; -1 is "absent". The head tells the number of planes, the least value and the power of ten that
 * divides the distance of all others from it. Then come the lowest bytes of these distances, the second lowest, and so on:
 * they compress better than value by value, and are read without a branch. Returns where the column ends.
 */
export function packColumn(view: DataView, begin: number, values: Float64Array): number {
  const { least, greatest, hasAbsent, isWhole } = measure(values);
  const bytes = new Uint8Array(view.buffer);
  if (!isWhole) {
    view.setUint8(begin, DOUBLES);
    bytes.set(new Uint8Array(values.buffer, values.byteOffset, values.byteLength), begin + HEAD_BYTES);
    return begin + HEAD_BYTES + values.byteLength;
  }
  const tens = findTens(values, least);
  const scale = 10 ** tens;
  const shift = hasAbsent ? 1 : 0;
  const most = greatest < least ? 0 : (greatest - least) / scale + shift;
  let planes = 0;
  for (let rest = most; rest >= 1; rest /= 256) planes += 1;
  view.setUint8(begin, planes | (hasAbsent ? HAS_ABSENT : 0));
  view.setUint8(begin + 1, tens);
  view.setFloat64(begin + 2, least, true);
  // In two halves of whole numbers, since to divide doubles for every plane takes five times as long.
  const [low, high] = [new Uint32Array(values.length), new Uint32Array(values.length)];
  for (let row = 0; row < values.length; row += 1) {
    const value = values[row] ?? 0;
    const distance = value === -1 ? 0 : (value - least) / scale + shift;
    low[row] = distance;
    high[row] = distance / 2 ** 32;
  }
  let at = begin + HEAD_BYTES;
  for (let plane = 0; plane < planes; plane += 1, at += values.length) {
    const half = plane < 4 ? low : high;
    const bits = (plane % 4) * 8;
    for (let row = 0; row < half.length; row += 1) bytes[at + row] = (half[row] ?? 0) >>> bits;
  }
  return at;
}

/** Where the column ends that begins at `begin` and has so many values. */
export function skipColumn(view: DataView, begin: number, count: number): number {
  const kind = view.getUint8(begin);
  const width = kind === DOUBLES ? DOUBLE_BYTES : kind & ~HAS_ABSENT;
  return begin + HEAD_BYTES + width * count;
}

/** Reads what `packColumn` has written. */
export function unpackColumn(view: DataView, begin: number, count: number): Float64Array {
  const values = new Float64Array(count);
  const body = view.byteOffset + begin + HEAD_BYTES;
  const kind = view.getUint8(begin);
  if (kind === DOUBLES) {
    const bytes = new Uint8Array(values.buffer);
    bytes.set(new Uint8Array(view.buffer, body, bytes.length));
    return values;
  }
  const planes = kind & ~HAS_ABSENT;
  for (let plane = 0; plane < planes; plane += 1) {
    const bytes = new Uint8Array(view.buffer, body + plane * count, count);
    const factor = 256 ** plane;
    for (let row = 0; row < count; row += 1) values[row] = (values[row] ?? 0) + (bytes[row] ?? 0) * factor;
  }
  const scale = 10 ** view.getUint8(begin + 1);
  const least = view.getFloat64(begin + 2, true);
  if (kind === planes)
    for (let row = 0; row < count; row += 1) values[row] = (values[row] ?? 0) * scale + least;
  else {
    for (let row = 0; row < count; row += 1) {
      const distance = values[row] ?? 0;
      values[row] = distance === 0 ? -1 : (distance - 1) * scale + least;
    }
  }
  return values;
}

function measure(values: Float64Array) {
  let [least, greatest, hasAbsent, isWhole] = [Number.POSITIVE_INFINITY, -1, false, true];
  // By index: to iterate over a typed array takes several times as long.
  for (let row = 0; row < values.length; row += 1) {
    const value = values[row] ?? 0;
    if (value === -1) hasAbsent = true;
    else {
      isWhole &&= Number.isSafeInteger(value) && value >= 0;
      if (value < least) least = value;
      if (value > greatest) greatest = value;
    }
  }
  // The distance from the least value has to be one more where it tells absent ones apart.
  return {
    least: greatest === -1 ? 0 : least,
    greatest,
    hasAbsent,
    isWhole: isWhole && greatest < Number.MAX_SAFE_INTEGER,
  };
}

function findTens(values: Float64Array, least: number): number {
  for (let tens = TENS_MAX; tens > 0; tens -= 1) {
    const scale = 10 ** tens;
    if (isMultiple(values, least, scale)) return tens;
  }
  return 0;
}

function isMultiple(values: Float64Array, least: number, scale: number): boolean {
  for (let row = 0; row < values.length; row += 1) {
    const value = values[row] ?? 0;
    if (value !== -1 && (value - least) % scale !== 0) return false;
  }
  return true;
}

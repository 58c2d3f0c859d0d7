/** What a URL's query holds before a page reads it: one text, or several when the name is repeated. */
export type RawSearch = Readonly<Record<string, unknown>>;

/** `?model=fast&tag=app:x&tag=env:prod` → `{model: "fast", tag: ["app:x", "env:prod"]}`; texts stay texts. */
export function parseQueryString(text: string): Record<string, string | string[]> {
  const params = new URLSearchParams(text);
  const search: Record<string, string | string[]> = {};
  for (const name of new Set(params.keys())) {
    const values = params.getAll(name);
    const [first = ""] = values;
    search[name] = values.length > 1 ? values : first;
  }
  return search;
}

/** The reverse; names without a value are left out, so that a plain view has a plain address. */
export function toQueryString(search: RawSearch): string {
  const params = new URLSearchParams();
  for (const [name, value] of Object.entries(search)) {
    for (const text of toTexts(value)) params.append(name, text);
  }
  const text = params.toString();
  return text === "" ? "" : `?${text}`;
}

/** One text of the query, or nothing when it is absent or empty; of a repeated name the first counts. */
export function readText(search: RawSearch, name: string): string | undefined {
  return toTexts(search[name])[0];
}

/** Every text of a repeated name, in order and once each. */
export function readTexts(search: RawSearch, name: string): readonly string[] {
  return [...new Set(toTexts(search[name]))];
}

/** One of a few words, or nothing when the query says another. */
export function readWord<const Word extends string>(
  search: RawSearch,
  name: string,
  words: readonly Word[],
): Word | undefined {
  const text = readText(search, name);
  return words.find((word) => word === text);
}

/** A whole number from 0, or nothing. */
export function readCount(search: RawSearch, name: string): number | undefined {
  const text = readText(search, name);
  return text !== undefined && /^\d{1,9}$/.test(text) ? Number(text) : undefined;
}

function toTexts(value: unknown): string[] {
  if (Array.isArray(value)) return value.flatMap(toTexts);
  if (typeof value === "string") return value === "" ? [] : [value];
  if (typeof value === "number" || typeof value === "boolean") return [String(value)];
  return [];
}

import { CommandError } from "#cli/screen/failure.ts";
import { suggest } from "#cli/screen/suggest.ts";

/** What commands call by a name. */
export interface Named {
  readonly name: string;
  /** What else people call it: a key, whose name is its id, by its label or its last characters. */
  readonly also?: readonly string[];
}

/** Rows that have what was typed as another name; more are as good as none. */
const CALLED_MAX = 3;

/** The one of this name. Throws a `CommandError` with the name that was probably meant. */
export function requireNamed<Row extends Named>(rows: readonly Row[], name: string, refusal: string): Row {
  const found = rows.find((row) => row.name === name);
  if (found !== undefined) return found;
  throw new CommandError("failure", `${refusal}${suggestNamed(name, rows)}`);
}

/** What to add to a refusal of a name that none of these has: empty where none is near, else a line of its own. */
export function suggestNamed(typed: string, rows: readonly Named[]): string {
  const called = rows.filter(({ also = [] }) => also.includes(typed)).map(({ name }) => name);
  if (called.length > CALLED_MAX) return "";
  if (called.length > 0) return `\n(Did you mean ${called.join(" or ")}?)`;
  return suggest(
    typed,
    rows.map(({ name }) => name),
  );
}

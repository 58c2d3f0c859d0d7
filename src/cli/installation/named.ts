import { CommandError } from "#cli/screen/failure.ts";
import { suggest } from "#cli/screen/suggest.ts";

/** What commands call by a name. */
export interface Named {
  readonly name: string;
  /** What else people call it: a key, whose name is its id, by its label or its last characters. */
  readonly also?: readonly string[];
}

/** The one of this name. Throws a `CommandError` with the name that was probably meant. */
export function requireNamed<Row extends Named>(rows: readonly Row[], name: string, refusal: string): Row {
  const found = rows.find((row) => row.name === name);
  if (found !== undefined) return found;
  throw new CommandError("failure", `${refusal}${suggestNamed(name, rows)}`);
}

/** What to add to a refusal of a name that none of these has: empty where none is near, else a line of its own. */
export function suggestNamed(typed: string, rows: readonly Named[]): string {
  const [called, ...others] = rows.filter(({ also = [] }) => also.includes(typed));
  if (called !== undefined) return others.length === 0 ? `\n(Did you mean ${called.name}?)` : "";
  return suggest(
    typed,
    rows.map(({ name }) => name),
  );
}

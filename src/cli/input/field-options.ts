import type { Command } from "commander";
import type { DraftOf, Field, Fields } from "#kernel/fields.ts";
import { choiceOption } from "./choice.ts";
import { readCaFile, readNumber } from "./input.ts";

/** The flags of a field: of a switch, what can turn it from where it is, which is its default while its resource is new. */
export function addFieldOptions(
  command: Command,
  field: Field,
  { isNew }: { readonly isNew: boolean },
): void {
  const word = field.wire.replaceAll("_", "-");
  switch (field.kind) {
    case "number":
    case "count":
      command.option(`--${word} <${field.unit}>`, field.help, readNumber);
      return;
    case "switch":
      if (!isNew || !field.initial) command.option(`--${word}`, field.help);
      if (!isNew || field.initial) command.option(`--no-${word}`, field.helpOff);
      return;
    case "choice":
      command.addOption(choiceOption(`--${word} <${field.unit}>`, field.help, field.words));
      return;
    case "pem":
      command.option(`--${field.flag} <path>`, field.help);
  }
}

/** What the flags say, as a request writes it; what was not said is absent. */
export async function readFieldOptions<const Of extends Fields>(
  fields: Of,
  options: object,
): Promise<DraftOf<Of>>;
export async function readFieldOptions(fields: Fields, options: object): Promise<object> {
  const draft: { [wire: string]: unknown } = {};
  for (const field of Object.values(fields)) {
    const value: unknown = Reflect.get(options, toAttribute(field.kind === "pem" ? field.flag : field.wire));
    if (value === undefined) continue;
    draft[field.wire] = field.kind === "pem" && typeof value === "string" ? await readCaFile(value) : value;
  }
  return draft;
}

/** The name that commander has for a flag. */
function toAttribute(word: string): string {
  return word.replaceAll(/[-_]([a-z])/g, (_, letter: string) => letter.toUpperCase());
}

import { InvalidArgumentError } from "commander";
import { readFile } from "node:fs/promises";
import { toSetupError } from "#boot/data-dir.ts";

/** An option's number. */
export function readNumber(text: string): number {
  const value = text.trim() === "" ? Number.NaN : Number(text);
  if (!Number.isFinite(value)) throw new InvalidArgumentError("It is a number.");
  return value;
}

/** `key=value`, collected over a repeatable option. */
export function collectPairs(
  text: string,
  before: { readonly [key: string]: string } = {},
): { [key: string]: string } {
  const equals = text.indexOf("=");
  if (equals < 1) throw new InvalidArgumentError("It is written key=value.");
  return { ...before, [text.slice(0, equals)]: text.slice(equals + 1) };
}

/** `key=number`, collected over a repeatable option. */
export function collectNumbers(
  text: string,
  before: { readonly [key: string]: number } = {},
): { [key: string]: number } {
  const [[key, value] = ["", ""]] = Object.entries(collectPairs(text));
  return { ...before, [key]: readNumber(value) };
}

export function collectTexts(text: string, before: readonly string[] = []): string[] {
  return [...before, text];
}

export async function readTextFile(path: string): Promise<string> {
  try {
    return await readFile(path, "utf8");
  } catch (cause) {
    throw toSetupError(cause, `The file ${path} cannot be read.`);
  }
}

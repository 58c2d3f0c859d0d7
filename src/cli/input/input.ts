import { InvalidArgumentError } from "commander";
import { createReadStream } from "node:fs";
import { toFileError } from "#boot/folder/permission-problem.ts";
import { CA_PEM_LENGTH_MAX } from "#catalog/provider-fields.ts";
import { systemCode } from "#kernel/system-code.ts";
import { CommandError } from "#cli/screen/failure.ts";
import { toPrintable } from "#kernel/printable.ts";
import { type Terminal, collectText } from "#cli/screen/terminal.ts";

/** An option's number. */
export function readNumber(text: string): number {
  return findNumber(text) ?? refuseNumber("It must be a number.");
}

/** A number as people write it: `0x10` is none. */
const DECIMAL = /^[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:e[+-]?[0-9]+)?$/i;

function findNumber(text: string): number | null {
  const value = DECIMAL.test(text) ? Number(text) : Number.NaN;
  return Number.isFinite(value) ? value : null;
}

function refuseNumber(sentence: string): never {
  throw new InvalidArgumentError(sentence);
}

/** `key=value`, collected over a repeatable option. */
export function collectPairs(
  text: string,
  before: { readonly [key: string]: string } = {},
): { [key: string]: string } {
  const equals = text.indexOf("=");
  if (equals < 1) throw new InvalidArgumentError("It must be key=value.");
  return { ...before, [text.slice(0, equals)]: text.slice(equals + 1) };
}

/** `key=number`, collected over a repeatable option. */
export function collectNumbers(
  text: string,
  before: { readonly [key: string]: number } = {},
): { [key: string]: number } {
  const [[key, value] = ["", ""]] = Object.entries(collectPairs(text));
  const number = findNumber(value) ?? refuseNumber("What stands behind the equals sign must be a number.");
  return { ...before, [key]: number };
}

/** `unit=price`, or `unit=none`, which is null. */
export function collectPrices(text: string): { [unit: string]: number | null } {
  const [[unit, value] = ["", ""]] = Object.entries(collectPairs(text));
  return value.trim() === "none" ? { [unit]: null } : collectNumbers(text);
}

export function collectTexts(text: string, before: readonly string[] = []): string[] {
  return [...before, text];
}

/** Four times what the largest catalog or price list may have: its own refusal says more. */
const TEXT_BYTES_MAX = 32_000_000;
/** Eight times the longest API key. */
export const SECRET_BYTES_MAX = 64_000;

/** Faults of a path that a person gave, by the system's code. */
const PATH_FAULTS: { readonly [code: string]: string } = {
  EISDIR: "is a folder",
  ENAMETOOLONG: "has too long a name",
};
const ABSENT_CODES = new Set(["ENOENT", "ENOTDIR"]);

/**
 * The text of a file, or of a pipe that stands in for one (`<(…)`, `/dev/stdin`). Throws a `SetupError` where it cannot be
 * read, and a `CommandError` where there is no file, or more than `bytesMax`.
 */
export async function readTextFile(path: string, bytesMax: number = TEXT_BYTES_MAX): Promise<string> {
  return requireThere(path, await findTextFile(path, bytesMax));
}

/** Reads like `readTextFile`; null when there is no such file. */
export async function findTextFile(path: string, bytesMax: number): Promise<string | null> {
  const name = `The file ${toPrintable(path)}`;
  try {
    return await collectText(createReadStream(path), { name, bytesMax });
  } catch (cause) {
    if (cause instanceof CommandError) throw cause;
    const code = systemCode(cause) ?? "";
    if (ABSENT_CODES.has(code)) return null;
    const fault = PATH_FAULTS[code];
    if (fault !== undefined)
      throw new CommandError("failure", `${name} ${fault}: name one that can be read.`);
    throw toFileError(cause, { path, use: "read", task: `${name} cannot be read` });
  }
}

/** The text of a file; `-` is stdin. Throws as `readTextFile` does. */
export async function readTextInput(
  terminal: Terminal,
  path: string,
  bytesMax: number = TEXT_BYTES_MAX,
): Promise<string> {
  return path === "-" ? terminal.readStdin(bytesMax) : readTextFile(path, bytesMax);
}

/** PEM text of a provider's roots; null when there is no such file. An empty one would take them away: a `CommandError`. */
export async function findCaFile(path: string): Promise<string | null> {
  const text = await findTextFile(path, CA_PEM_LENGTH_MAX);
  if (text?.trim() !== "") return text;
  throw new CommandError("failure", `The file ${toPrintable(path)} is empty: it has to hold certificates.`);
}

/** Reads like `findCaFile`; throws a `CommandError` when there is no such file. */
export async function readCaFile(path: string): Promise<string> {
  return requireThere(path, await findCaFile(path));
}

function requireThere(path: string, text: string | null): string {
  if (text !== null) return text;
  throw new CommandError("failure", `The file ${toPrintable(path)} does not exist: name one that does.`);
}

/** A secret from a file, or with `-` from stdin, which on a terminal is a hidden prompt. Throws a `CommandError` for none. */
export async function readSecretInput(
  terminal: Terminal,
  { path, question }: { readonly path: string; readonly question: string },
): Promise<string> {
  const isTyped = path === "-" && terminal.interactive;
  const text = isTyped
    ? await terminal.askHidden(question)
    : await readTextInput(terminal, path, SECRET_BYTES_MAX);
  const secret = text.trim();
  if (secret !== "") return secret;
  throw new CommandError(
    "failure",
    isTyped
      ? "Nothing was typed, and nothing is done."
      : path === "-"
        ? "stdin is empty."
        : `The file ${toPrintable(path)} is empty.`,
  );
}

export interface Confirmation {
  /** Facts of the change, said where no question can be asked. */
  readonly facts: string;
  readonly question: string;
  /** Such as `Nothing was changed`, without a stop. */
  readonly otherwise: string;
}

/** Asks on a terminal; elsewhere it takes `--yes`, which the caller has looked for. Throws a `CommandError` but for a yes. */
export async function confirm(
  terminal: Terminal,
  { facts, question, otherwise }: Confirmation,
): Promise<void> {
  if (!terminal.interactive) throw new CommandError("usage", `${facts} ${otherwise}: add --yes.`);
  const answer = await terminal.ask(`${toPrintable(question)} [y/N] `);
  if (!/^y(es)?$/i.test(answer.trim())) throw new CommandError("failure", `${otherwise}.`);
}

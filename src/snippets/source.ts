import { SECRET_VARIABLES, toText, type SnippetKind, type SnippetSubject } from "./client.ts";

interface PythonParts {
  readonly kind: SnippetKind;
  readonly imports: readonly string[];
  /** What follows the imports; `secret` is an expression. */
  readonly toLines: (secret: string) => readonly string[];
}

/** A Python program: the secret stands in it, or is read from the environment. */
export function toPythonSource({ secret }: SnippetSubject, parts: PythonParts): string {
  const variable = `os.environ["${SECRET_VARIABLES[parts.kind]}"]`;
  return toText([
    ...(secret === null ? ["import os", ""] : []),
    ...parts.imports,
    "",
    ...parts.toLines(secret === null ? variable : quoteJson(secret)),
  ]);
}

interface NodeParts {
  readonly kind: SnippetKind;
  readonly imports: readonly string[];
  /** True for a program that writes to `stdout` piece by piece. */
  readonly writes?: boolean;
  readonly toLines: (secret: string) => readonly string[];
}

/** A module for Node, valid as TypeScript and as JavaScript alike. */
export function toNodeSource({ secret }: SnippetSubject, parts: NodeParts): string {
  const names = [...(secret === null ? ["env"] : []), ...(parts.writes === true ? ["stdout"] : [])];
  return toText([
    ...(names.length === 0 ? [] : [`import { ${names.join(", ")} } from "node:process";`]),
    ...parts.imports,
    "",
    ...parts.toLines(secret === null ? `env.${SECRET_VARIABLES[parts.kind]}` : quoteJson(secret)),
  ]);
}

/**
 * A text as a literal of JavaScript, of Python and of YAML, all three of which read a JSON string as what it says.
 * Characters beyond the basic plane stay as they are.
 */
export function quoteJson(text: string): string {
  return JSON.stringify(text);
}

/** A text as one word of a POSIX shell (XCU 2.2.2), whatever is in it. */
export function quoteShell(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}

/** A text and then a variable, as one word of a POSIX shell (XCU 2.2.3). */
export function quoteShellWithVariable(text: string, variable: string): string {
  return `"${text.replaceAll(/[\\"$`]/g, String.raw`\$&`)}$${variable}"`;
}

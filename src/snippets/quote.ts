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

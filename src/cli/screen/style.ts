import type { Environment } from "#boot/settings/environment.ts";

/** How words are made to stand out; on anything but a screen each is the text itself. */
export interface Style {
  readonly bold: (text: string) => string;
  readonly dim: (text: string) => string;
  readonly good: (text: string) => string;
  readonly warn: (text: string) => string;
  readonly bad: (text: string) => string;
}

/** Colours on a terminal only, and not where NO_COLOR is set (no-color.org) or the terminal is a dumb one. */
export function isColoured(env: Environment, isScreen: boolean): boolean {
  const off = env["NO_COLOR"];
  return isScreen && (off === undefined || off === "") && env["TERM"] !== "dumb";
}

export function createStyle(env: Environment, isScreen: boolean): Style {
  const coloured = isColoured(env, isScreen);
  // ECMA-48, section 8.3.117 (SGR).
  const between = (on: number, off: number) => (text: string) =>
    coloured && text !== "" ? `\u001b[${on}m${text}\u001b[${off}m` : text;
  return {
    bold: between(1, 22),
    dim: between(2, 22),
    good: between(32, 39),
    warn: between(33, 39),
    bad: between(31, 39),
  };
}

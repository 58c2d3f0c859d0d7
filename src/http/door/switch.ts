import { Type } from "@sinclair/typebox";
import { ProxyError } from "#kernel/errors.ts";
import { toHint } from "#kernel/nearest.ts";
import type { QueryParam } from "./route.ts";

/** A parameter of a query that is on or off. */
export const Switch = Type.String({ enum: ["1", "true", "0", "false"] });

/** Off where it is left out. Throws `invalid_request` with its name as param. */
export function readSwitch(query: URLSearchParams, name: string): boolean {
  const [value = "0", ...others] = query.getAll(name);
  // A dry run that is spelled wrong, or said twice, must not change anything.
  if (others.length === 0 && (value === "1" || value === "true")) return true;
  if (others.length === 0 && (value === "0" || value === "false")) return false;
  throw new ProxyError("invalid_request", `${name} is 1, 0, true or false, and stands once.`, {
    param: name,
  });
}

/** The parameter of a deletion that is only asked for. */
export const DRY_RUN: readonly QueryParam[] = [
  {
    name: "dry_run",
    schema: Switch,
    description:
      "Answers what would be deleted (`Removal`), or the refusal, and changes nothing. Any other parameter is refused.",
  },
];

/** True where a deletion is only asked for. Throws `invalid_request`. */
export function isDryRun(request: Request): boolean {
  return readSwitch(new URL(request.url).searchParams, "dry_run");
}

/**
 * Refuses a parameter that is not declared: a change whose `dry_run` is misspelled must not be made. The name that was sent is
 * not repeated.
 */
export function requireKnownQuery(request: Request, declared: readonly QueryParam[]): void {
  const names = declared.map(({ name }) => name);
  const unknown = [...new URL(request.url).searchParams.keys()].find((name) => !names.includes(name));
  if (unknown === undefined) return;
  const known = names.map((name) => `\`${name}\``).join(", ");
  throw new ProxyError(
    "invalid_request",
    `The query has a parameter that this request does not have, and nothing was changed: it takes ${known}.${toHint(unknown, names)}`,
  );
}

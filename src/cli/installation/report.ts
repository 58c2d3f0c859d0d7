import type { Report } from "./installation.ts";
import { CommandError } from "#cli/screen/failure.ts";
import type { Answer } from "./remote.ts";
import { isWireObject } from "./wire.ts";

/** The same of a response whose body was not read yet. */
export async function toReport(response: Response, notices: readonly string[] = []): Promise<Report> {
  const body: unknown = await response.json();
  if (!isWireObject(body)) throw new CommandError("failure", "The report is no JSON object.");
  return describeReport({ body, headers: response.headers }, notices);
}

/** A report's answer with what its headers say (`x-proxy-window`, `x-proxy-truncated`). */
export function describeReport({ body, headers }: Answer, notices: readonly string[] = []): Report {
  const window = headers.get("x-proxy-window");
  return {
    body,
    notices: [
      ...notices,
      ...(window === null
        ? []
        : [`Older rows were removed (PROXY_USAGE_RETENTION_DAYS), so what is counted is ${window}.`]),
      ...(headers.get("x-proxy-truncated") === null
        ? []
        : ["There is more than one report holds: the least used was left out. Narrow it down."]),
    ],
  };
}

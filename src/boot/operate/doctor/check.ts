export type CheckStatus = "ok" | "warn" | "fail";

/** What was looked at, what was found, and for a `warn` or `fail` what to do. Never a secret. */
export interface Check {
  readonly name: string;
  readonly status: CheckStatus;
  readonly finding: string;
  readonly advice: string | null;
}

export function toOk(name: string, finding: string): Check {
  return { name, status: "ok", finding, advice: null };
}

export function toWarning(name: string, finding: string, advice: string): Check {
  return { name, status: "warn", finding, advice };
}

export function toFailure(name: string, finding: string, advice: string): Check {
  return { name, status: "fail", finding, advice };
}

import type { Answered, Installation } from "./client.ts";

/** The query of a report (specification, section 4.4); what is undefined is left out. */
export interface ReportQuery {
  readonly [name: string]: string | readonly string[] | undefined;
}

/** A report as `/stats` answers it, and what its reader has to know beside it. */
export interface Report<Body> {
  readonly body: Body;
  /** Sentences, such as that rows were left out. */
  readonly notices: readonly string[];
}

/**
 * On this machine, usage that a server answered a moment ago is on its way into the database: it is waited for. Returns
 * what has to be said of what is not there even so.
 */
export async function settleUsage({ local }: Pick<Installation, "local">): Promise<readonly string[]> {
  const uncommittedBytes = local === null ? 0 : await local.ledger.settle();
  if (uncommittedBytes === 0) return [];
  return [
    `${uncommittedBytes} bytes of the usage journal are not in the database yet and are not counted: the server brings them in, in a moment while it runs, else at its next start.`,
  ];
}

/** Asks for a report when what was used is there: see `settleUsage`. */
export async function readReport<Body>(
  installation: Installation,
  ask: () => Promise<Answered<Body>>,
): Promise<Report<Body>> {
  const unsettled = await settleUsage(installation);
  const { data, headers } = await ask();
  return { body: data, notices: [...unsettled, ...toNotices(headers)] };
}

/** What the headers of a report's answer say beside it. */
export function toNotices(headers: Headers): readonly string[] {
  const window = headers.get("x-proxy-window");
  const notices = [
    window !== null &&
      `Older rows were removed (PROXY_USAGE_RETENTION_DAYS), so what is counted is ${window}.`,
    headers.get("x-proxy-truncated") !== null &&
      "There is more than one report holds: the least used was left out. Narrow it down.",
  ];
  return notices.filter((notice) => notice !== false);
}

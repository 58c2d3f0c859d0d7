import { DAY_US, formatInstant } from "#kernel/clock.ts";
import { toPrintable } from "#kernel/printable.ts";
import { toCounted } from "#kernel/text.ts";
import type { Installation } from "#cli/installation/client.ts";
import { readReport } from "#cli/input/report.ts";
import { CommandError } from "#cli/screen/failure.ts";
import { toAmount } from "#cli/screen/output.ts";

/** Facts of a removal in sentences, and the question about it. */
export interface Removal {
  readonly facts: string;
  readonly question: string;
}

/** A name, and the filter of reports by which its use is found. */
export interface Used {
  readonly filter: "key" | "principal" | "model";
  readonly name: string;
}

/**
 * A deletion in the server's own words, and the use of the last days where `used` names it. Throws the refusal that the
 * deletion would meet.
 */
export async function describeRemoval(
  installation: Installation,
  route: string,
  { params, used }: { readonly params: { readonly [name: string]: string }; readonly used?: Used },
): Promise<Removal> {
  // First, since it waits for what the server has answered: when a key was last used comes from there, too.
  const use = used === undefined ? null : await describeUse(installation, used);
  const { data } = await installation.api.ask(route, { params, query: { dry_run: "1" } });
  if (data["applied"] !== false)
    throw new CommandError(
      "failure",
      "This server is of an earlier build, which knows no dry run: the deletion has been made, without a question.",
    );
  const sentence = toPrintable(String(data["sentence"]));
  return { facts: use === null ? sentence : `${sentence} ${use}`, question: "Delete it?" };
}

const DAYS = 30;
/** A failed request costs nothing. */
const COUNTED = ["ok", "cancelled"] as const;

/** `12 requests for $1.20 in the last 30 days.` */
async function describeUse(installation: Installation, { filter, name }: Used): Promise<string> {
  const since = formatInstant(installation.clock.nowUs() - DAYS * DAY_US);
  const grouping = { bucket: "month", group_by: filter, top: "1" };
  const query = { [filter]: [name], outcome: [...COUNTED], since, ...grouping };
  const { body } = await readReport(installation, () =>
    installation.api.callWithHeaders("GET /stats/series", { query }),
  );
  const { requests = 0, cost = null } = body.groups?.[0] ?? {};
  if (requests === 0) return `No requests in the last ${DAYS} days.`;
  const priced = cost === null ? "without a price" : `for ${toAmount(cost)}`;
  return `${toCounted(requests, "request")} ${priced} in the last ${DAYS} days.`;
}

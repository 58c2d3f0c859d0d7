import { DAY_US, formatInstant } from "#kernel/clock.ts";
import { toPrintable } from "#kernel/printable.ts";
import { toCounted } from "#kernel/text.ts";
import type { Installation } from "#cli/installation/client.ts";
import { readReport } from "#cli/installation/report.ts";
import { toAmount } from "#cli/screen/figures.ts";
import type { Removal } from "./removal.ts";
import { sumUsage } from "./usage-groups.ts";

type Used = { readonly key: string } | { readonly principal: string } | { readonly model: string };

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
  const sentence = toPrintable(String(data["sentence"]));
  return { facts: use === null ? sentence : `${sentence} ${use}`, question: "Delete it?" };
}

const DAYS = 30;

/** `12 requests for $1.20 in the last 30 days.` */
async function describeUse(installation: Installation, used: Used): Promise<string> {
  const query = { ...used, since: formatInstant(installation.clock.nowUs() - DAYS * DAY_US) };
  const { body } = await readReport(installation, () =>
    installation.api.callWithHeaders("GET /stats/summary", { query }),
  );
  const { requests, cost } = sumUsage(body.usage);
  if (requests === 0) return `No requests in the last ${DAYS} days.`;
  const priced = cost === null ? "without a price" : `for ${toAmount(cost)}`;
  return `${toCounted(requests, "request")} ${priced} in the last ${DAYS} days.`;
}

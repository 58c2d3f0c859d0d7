import { toPrintable } from "#kernel/printable.ts";
import { withinLimit } from "#kernel/timer.ts";
import { formatCommand } from "#cli/help/follow-up.ts";
import { given, type Client } from "#cli/installation/client.ts";
import type { InstallationOptions } from "#cli/installation/open.ts";
import { suggest } from "#cli/screen/suggest.ts";
import type { Terminal } from "#cli/screen/terminal.ts";

/** How long a command that is done waits for the provider's list of models. */
const LIST_MS_MAX = 2_000;

interface Bound {
  readonly provider: string;
  readonly upstream_name: string;
}

/**
 * Says on stderr when the provider does not list this upstream model: a misspelled one fails at its first request. Says nothing
 * where the provider has no list, or does not answer within `LIST_MS_MAX`.
 */
export async function writeUnlisted(
  terminal: Terminal,
  api: Client,
  { model, options }: { readonly model: Bound; readonly options: InstallationOptions },
): Promise<void> {
  const { provider, upstream_name: name } = model;
  const asked = api.call("GET /admin/v1/providers/:name/discover", { params: { name: provider }, query: {} });
  const found = await withinLimit(
    asked.catch(() => null),
    LIST_MS_MAX,
    () => null,
  );
  const names = found?.models.map((each) => each.upstream_name) ?? [];
  if (names.length === 0 || names.includes(name)) return;
  const where = options.url === undefined ? [] : ["--url", options.url];
  const command = formatCommand(
    ["provider", "discover", provider, ...where],
    given({ dataDir: options.dataDir }),
  );
  terminal.writeMessage(
    `${provider} does not list ${toPrintable(name)}: requests to it may fail. To see what it lists: ${command}${suggest(name, names)}\n`,
  );
}

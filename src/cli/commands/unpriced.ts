import type { Capability } from "#catalog/capability.ts";
import { findMissedUnits } from "#catalog/missed-prices.ts";
import { toPrintable } from "#kernel/printable.ts";
import { toCounted } from "#kernel/text.ts";
import type { Unit } from "#kernel/units.ts";
import { given, type Client } from "#cli/installation/client.ts";
import { formatCommand } from "#cli/help/follow-up.ts";
import type { InstallationOptions } from "#cli/installation/open.ts";
import type { Terminal } from "#cli/screen/terminal.ts";

interface Priced {
  readonly upstream_name: string;
  /** Null for a model that routes by itself. */
  readonly target: string | null;
  readonly alias: string;
  readonly capabilities: readonly Capability[];
  readonly pricing: { readonly [unit in Unit]?: number };
}

const NAMES_SHOWN_MAX = 5;

export interface UnpricedOptions {
  readonly models: readonly Priced[];
  readonly options: InstallationOptions;
}

/** Which of these models have no price, and the commands that give them one; nothing when all have. */
export async function writeUnpriced(
  terminal: Terminal,
  api: Client,
  { models, options }: UnpricedOptions,
): Promise<void> {
  const unpriced = models.flatMap((model) => {
    const units = model.target === null ? findMissedUnits(model) : [];
    return units.length === 0 ? [] : [{ ...model, units }];
  });
  if (unpriced.length === 0) return;
  const names = unpriced.slice(0, NAMES_SHOWN_MAX).map(({ alias }) => toPrintable(alias));
  const more = unpriced.length > names.length ? ` and ${unpriced.length - names.length} more` : "";
  const lines = [
    `${toCounted(unpriced.length, "model")} without a price (${names.join(", ")}${more}): usage is recorded as unpriced.`,
  ];
  const { as_of: asOf, entries } = await api.call("GET /admin/v1/pricing/list");
  const listed = new Set(entries.map(({ model, unit }) => `${unit} ${model}`));
  const isListed = ({ units, upstream_name: name }: (typeof unpriced)[number]) =>
    units.some((unit) => listed.has(`${unit} ${name}`));
  const listedCount = unpriced.filter(isListed).length;
  if (listedCount > 0) {
    const command = toCommand(["pricing", "load", "--list-prices"], options);
    lines.push(`Public list prices of ${asOf} have ${listedCount} of them: ${command}`);
  }
  const first = unpriced.find((model) => !isListed(model));
  if (first !== undefined) {
    const prices = first.units.flatMap((unit) => ["--price", `${unit}=USD`]);
    lines.push(`To set one, per million: ${toCommand(["model", "set", first.alias, ...prices], options)}`);
  }
  terminal.writeMessage(lines.map((line) => `${line}\n`).join(""));
}

function toCommand(words: readonly string[], { url, dataDir }: InstallationOptions): string {
  return formatCommand([...words, ...(url === undefined ? [] : ["--url", url])], given({ dataDir }));
}

import type { Capability } from "#catalog/capability.ts";
import { toPrintable } from "#kernel/printable.ts";
import { toCounted } from "#kernel/text.ts";
import { UNIT_TABLE, type Unit } from "#kernel/units.ts";
import { given } from "#cli/installation/client.ts";
import { formatCommand } from "#cli/help/follow-up.ts";
import type { InstallationOptions } from "#cli/installation/open.ts";
import type { Terminal } from "#cli/screen/terminal.ts";

interface Priced {
  readonly alias: string;
  readonly capabilities: readonly Capability[];
  readonly pricing: { readonly [unit in Unit]?: number };
}

/** What every answer of such a model uses: the rest may stay unused. */
export function findUnpricedUnits({ capabilities, pricing }: Priced): readonly Unit[] {
  const units: readonly Unit[] = ["input_tokens", "output_tokens"];
  return units.filter((unit) => {
    const usedBy: readonly string[] = UNIT_TABLE[unit].usedBy;
    return pricing[unit] === undefined && capabilities.some((capability) => usedBy.includes(capability));
  });
}

const NAMES_SHOWN_MAX = 5;

/** Which of these models have no price, and the command that gives them one; nothing when all have. */
export function writeUnpriced(
  terminal: Terminal,
  models: readonly Priced[],
  { url, dataDir }: InstallationOptions,
): void {
  const unpriced = models.flatMap((model) => {
    const units = findUnpricedUnits(model);
    return units.length === 0 ? [] : [{ alias: model.alias, units }];
  });
  const [first] = unpriced;
  if (first === undefined) return;
  const names = unpriced.slice(0, NAMES_SHOWN_MAX).map(({ alias }) => toPrintable(alias));
  const more = unpriced.length > names.length ? ` and ${unpriced.length - names.length} more` : "";
  const where = url === undefined ? [] : ["--url", url];
  const prices = first.units.flatMap((unit) => ["--price", `${unit}=USD`]);
  const command = formatCommand(["model", "set", first.alias, ...prices, ...where], given({ dataDir }));
  terminal.writeMessage(
    `${toCounted(unpriced.length, "model")} without a price (${names.join(", ")}${more}): usage is recorded as unpriced. To set one, per million: ${command}\n`,
  );
}

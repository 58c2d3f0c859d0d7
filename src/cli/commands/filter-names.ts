import type { FilterOptions } from "#cli/input/filters.ts";
import type { Client } from "#cli/installation/client.ts";
import { listKeys, listModels, listPrincipals, listProviders, toNamedKey } from "#cli/installation/lists.ts";
import { suggestNamed, type Named } from "#cli/installation/named.ts";
import { CommandError } from "#cli/screen/failure.ts";

/** Filters that name something, with what there is of it now. */
const LISTS: readonly (readonly [
  filter: "principal" | "key" | "provider" | "model",
  list: (api: Client) => Promise<readonly Named[]>,
])[] = [
  ["principal", (api) => listPrincipals(api)],
  ["key", async (api) => (await listKeys(api, { principal: undefined })).map(toNamedKey)],
  ["provider", (api) => listProviders(api)],
  ["model", async (api) => (await listModels(api)).map(({ alias }) => ({ name: alias }))],
];

/**
 * For a report in which nothing stands: a line for each filter whose name nothing has now, with the nearest one. The names
 * of what is gone filter too, so that this refuses nothing.
 */
export async function describeUnknownFilters(api: Client, filters: FilterOptions): Promise<string> {
  const lines: string[] = [];
  for (const [filter, list] of LISTS) {
    const typed = filters[filter];
    if (typed === undefined) continue;
    const rows = await list(api).catch((cause: unknown) => {
      // A caller may be allowed to read reports and not lists: their names are then kept from it.
      if (cause instanceof CommandError && cause.kind === "permission") return null;
      throw cause;
    });
    if (rows === null || rows.some(({ name }) => name === typed)) continue;
    lines.push(`There is no ${filter} of this name now.${suggestNamed(typed, rows)}\n`);
  }
  return lines.join("");
}

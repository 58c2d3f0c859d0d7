import { CAPABILITIES_DEFAULT, type Capability } from "#catalog/capability.ts";
import type { CapabilityGuess, ModelKind } from "#catalog/capability-guess.ts";
import { given, type Client } from "#cli/installation/client.ts";
import type { ChosenCapabilities } from "#cli/input/model-capabilities.ts";
import { CommandError } from "#cli/screen/failure.ts";

export interface Discovered {
  readonly upstream_name: string;
  readonly bound_alias: string | null;
  readonly kind: ModelKind;
  /** Those that a bound model has, or that an unbound one would get; empty where no endpoint serves it. */
  readonly capabilities: readonly Capability[];
  readonly guessed_from: CapabilityGuess["from"];
}

/** A discovered model, and what became of it. */
export interface Row extends Discovered {
  /** Null unless it was to be bound now and could not be. */
  readonly failure: string | null;
}

export interface Binding {
  readonly provider: string;
  /** All that are shown. */
  readonly found: readonly Discovered[];
  /** Those of them that are to be bound. */
  readonly wanted: readonly Discovered[];
  readonly chosen: ChosenCapabilities;
  readonly hidden: true | undefined;
}

export type BoundModel = Awaited<ReturnType<typeof create>>;

/** One after the other; one that is refused, as when its name is taken, keeps none of the others from being bound. */
export async function bindAll(api: Client, { found, wanted, ...binding }: Binding) {
  const rows: Row[] = [];
  const made: BoundModel[] = [];
  for (const model of found) {
    const row: Row = { ...model, failure: null };
    if (!wanted.includes(model)) {
      rows.push(row);
      continue;
    }
    try {
      const view = await create(api, model, binding);
      made.push(view);
      rows.push({ ...row, bound_alias: view.alias, capabilities: view.capabilities });
    } catch (cause) {
      if (!(cause instanceof CommandError) || cause.kind !== "failure") throw cause;
      rows.push({ ...row, failure: cause.message });
    }
  }
  return { rows, made };
}

function create(
  api: Client,
  row: Discovered,
  { provider, chosen, hidden }: Omit<Binding, "found" | "wanted">,
) {
  const guessed = row.capabilities.length === 0 ? CAPABILITIES_DEFAULT : row.capabilities;
  const capabilities = chosen.byModel.get(row.upstream_name) ?? chosen.all ?? guessed;
  return api.call("POST /admin/v1/models", {
    body: given({ provider, upstream_name: row.upstream_name, capabilities, hidden, origin: "discovered" }),
  });
}

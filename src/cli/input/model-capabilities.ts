import { CAPABILITIES, type Capability } from "#catalog/capability.ts";
import { CommandError } from "#cli/screen/failure.ts";
import { suggest } from "#cli/screen/suggest.ts";

/** What `--capability` said: for all models, and for single ones by upstream name, which comes before. */
export interface ChosenCapabilities {
  /** Undefined: as each model is guessed. */
  readonly all: readonly Capability[] | undefined;
  readonly byModel: ReadonlyMap<string, readonly Capability[]>;
}

/**
 * Values of `--capability`, each `embeddings` or `NAME=embeddings`; several capabilities stand with commas, or are given one
 * after the other. A name ends at the last equals sign. Throws a `CommandError` for a word that is no capability.
 */
export function parseCapabilityChoices(texts: readonly string[]): ChosenCapabilities {
  let all: readonly Capability[] | undefined;
  const byModel = new Map<string, readonly Capability[]>();
  for (const text of texts) {
    const equals = text.lastIndexOf("=");
    const capabilities = text
      .slice(equals + 1)
      .split(",")
      .map((word) => parseCapability(word.trim()));
    const name = text.slice(0, Math.max(0, equals)).trim();
    if (equals < 0) all = [...(all ?? []), ...capabilities];
    else if (name === "") throw refuse("What stands before the equals sign is a model of the provider.");
    else byModel.set(name, [...(byModel.get(name) ?? []), ...capabilities]);
  }
  return { all, byModel };
}

function parseCapability(word: string): Capability {
  const capability = CAPABILITIES.find((known) => known === word);
  if (capability !== undefined) return capability;
  throw refuse(`Allowed choices are ${CAPABILITIES.join(", ")}.${suggest(word, CAPABILITIES)}`);
}

function refuse(sentence: string): CommandError {
  return new CommandError("usage", `--capability: ${sentence}`);
}

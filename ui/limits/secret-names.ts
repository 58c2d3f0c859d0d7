import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { ALL_KEYS, ALL_RELAY_TOKENS } from "../api/people.ts";
import type { NameSecret } from "./limit-words.ts";

/** Keys and relay tokens, as an admin knows them. */
export interface SecretNames {
  readonly name: NameSecret;
  /** What can be chosen, with the id of each; a text that stands for two is not among them. */
  readonly keys: ReadonlyMap<string, string>;
  readonly relayTokens: ReadonlyMap<string, string>;
}

interface Named {
  readonly id: string;
  readonly owner: string;
  readonly label: string;
  readonly suffix: string;
}

/** Asks for the lists only while a name of them is needed. */
export function useSecretNames(needed: {
  readonly keys: boolean;
  readonly relayTokens: boolean;
}): SecretNames {
  const keys = useQuery({ ...ALL_KEYS.list(), enabled: needed.keys });
  const tokens = useQuery({ ...ALL_RELAY_TOKENS.list(), enabled: needed.relayTokens });
  return useMemo(
    () =>
      toSecretNames(
        (keys.data?.rows ?? []).map(({ id, principal: owner, label, key_suffix: suffix }) => ({
          id,
          owner,
          label,
          suffix,
        })),
        (tokens.data?.rows ?? []).map(({ id, principal: owner, label, token_suffix: suffix }) => ({
          id,
          owner,
          label,
          suffix,
        })),
      ),
    [keys.data, tokens.data],
  );
}

export function toSecretNames(keys: readonly Named[], relayTokens: readonly Named[]): SecretNames {
  const names = new Map(
    [...keys, ...relayTokens].map((secret) => [secret.id, `${toOwnName(secret)} of ${secret.owner}`]),
  );
  return {
    name: (id) => names.get(id) ?? toUnknownName(id),
    keys: toChoices(keys),
    relayTokens: toChoices(relayTokens),
  };
}

export function toOwnName({ label, suffix }: Pick<Named, "label" | "suffix">): string {
  return label === "" ? `***${suffix}` : label;
}

/** It is gone, or not known yet. */
export function toUnknownName(id: string): string {
  return `…${id.slice(-6)}`;
}

function toChoices(secrets: readonly Named[]): ReadonlyMap<string, string> {
  const byText = Map.groupBy(secrets, ({ owner, label, suffix }) =>
    label === "" ? `${owner}: ***${suffix}` : `${owner}: ${label} ***${suffix}`,
  );
  return new Map(
    [...byText].flatMap(([text, alike]) =>
      alike.map(({ id }): readonly [string, string] => [alike.length === 1 ? text : id, id]),
    ),
  );
}

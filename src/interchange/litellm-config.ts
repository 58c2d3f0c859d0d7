import { type Problem, type Source, type SourceMap, parseSource, SourceError } from "./source.ts";
import { findEntry, toText } from "./fields.ts";
import { readDeployment, type LitellmDeployment } from "./litellm-deployment.ts";
import { readFlag, type ImportNote, type Variables } from "./litellm-values.ts";

/** A name of `router_settings.model_group_alias`. */
export interface LitellmAlias {
  readonly line: number;
  readonly name: string;
  readonly target: string;
  readonly hidden: boolean;
}

export interface LitellmConfig {
  /** In the order of the file; several may have one name. */
  readonly deployments: readonly LitellmDeployment[];
  /** Those that cannot be carried over. */
  readonly left: readonly { readonly name: string; readonly line: number }[];
  readonly aliases: readonly LitellmAlias[];
  /** What cannot be carried over, and what has to be known of what is. */
  readonly notes: readonly ImportNote[];
}

export type ParsedLitellmConfig =
  | { readonly kind: "read"; readonly config: LitellmConfig }
  | { readonly kind: "refused"; readonly problems: readonly Problem[] };

/**
 * Reads a LiteLLM proxy's `config.yaml`. `variables` is the environment that its `os.environ/` references lead to; what the
 * file sets under `environment_variables` holds where the environment has nothing, as it does for LiteLLM.
 */
export function parseLitellmConfig(text: string, variables: Variables): ParsedLitellmConfig {
  let root: Source;
  try {
    root = parseSource(text);
  } catch (cause) {
    if (cause instanceof SourceError) return { kind: "refused", problems: [cause.problem] };
    throw cause;
  }
  const list = root.kind === "map" ? findEntry(root, "model_list") : undefined;
  if (root.kind !== "map" || list === undefined) {
    const isOurs = root.kind === "map" && root.entries.has("lockport_catalog");
    const hint = isOurs ? " It is a catalog of Lockport's: lockport apply FILE." : "";
    return refuse(1, `This is no LiteLLM config: it has no model_list.${hint}`);
  }
  if (list.value.kind !== "list") return refuse(list.line, "model_list must be a list of models.");

  const notes: ImportNote[] = [];
  const context = {
    variables: withFileVariables(root, variables),
    credentials: readCredentials(root),
    notes,
  };
  const deployments: LitellmDeployment[] = [];
  const left: { readonly name: string; readonly line: number }[] = [];
  const problems: Problem[] = [];
  for (const entry of list.value.values) {
    const read = entry.kind === "map" ? readDeployment(entry, context) : WRONG_ENTRY;
    if (read.kind === "wrong") problems.push({ line: entry.line, sentence: read.sentence });
    if (read.kind === "read") deployments.push(read.deployment);
    if (read.kind === "left") left.push(read);
  }
  if (problems.length > 0) return { kind: "refused", problems };
  const aliases = readAliases(root);
  listSettings(root, notes);
  return { kind: "read", config: { deployments, left, aliases, notes } };
}

const WRONG_ENTRY = {
  kind: "wrong" as const,
  sentence: "An entry of model_list must have model_name and litellm_params.",
};

function withFileVariables(root: SourceMap, variables: Variables): Variables {
  const section = findEntry(root, "environment_variables")?.value;
  if (section?.kind !== "map") return variables;
  const set = [...section.entries].flatMap(([name, { value }]): [string, string][] => {
    const text = value.kind === "scalar" && value.value !== null ? String(value.value) : "";
    // LiteLLM's own reference inside of it leads to the environment, where it would have been found anyway.
    return text === "" || text.startsWith("os.environ/") ? [] : [[name, text]];
  });
  const given = Object.entries(variables).filter(([, value]) => value !== undefined && value !== "");
  return Object.fromEntries([...set, ...given]);
}

/** `credential_list`, by the name that deployments refer to with `litellm_credential_name`. */
function readCredentials(root: SourceMap): ReadonlyMap<string, SourceMap> {
  const list = findEntry(root, "credential_list")?.value;
  const credentials = new Map<string, SourceMap>();
  for (const each of list?.kind === "list" ? list.values : []) {
    if (each.kind !== "map") continue;
    const name = each.entries.get("credential_name");
    const values = each.entries.get("credential_values")?.value;
    const text = name === undefined ? undefined : toText(name.value);
    if (text !== undefined && values?.kind === "map") credentials.set(text, values);
  }
  return credentials;
}

function readAliases(root: SourceMap): readonly LitellmAlias[] {
  return ["router_settings", "litellm_settings"].flatMap((section) => {
    const settings = findEntry(root, section)?.value;
    const aliases = settings?.kind === "map" ? findEntry(settings, ALIASES_FIELD)?.value : undefined;
    if (aliases?.kind !== "map") return [];
    return [...aliases.entries].flatMap(([name, { line, value }]): LitellmAlias[] => {
      const model = value.kind === "map" ? findEntry(value, "model")?.value : value;
      const target = model === undefined ? undefined : toText(model);
      const hidden = value.kind === "map" && readFlag(findEntry(value, "hidden")?.value) === true;
      return target === undefined ? [] : [{ line, name, target, hidden }];
    });
  });
}

const ALIASES_FIELD = "model_group_alias";

/** Sections whose content is read above. */
const READ_SECTIONS: ReadonlySet<string> = new Set([
  "model_list",
  "environment_variables",
  "credential_list",
]);

const SETTING_REASONS: readonly (readonly [pattern: RegExp, reason: string])[] = [
  [/fallbacks$/, "there is no fallback: one request in, at most one request out"],
  [/retries|retry|allowed_fails|cooldown/, "nothing is retried"],
  [/^(?:routing_strategy|enable_pre_call_checks)/, "there is no balancing between deployments"],
  [/timeout/, "timeouts are a provider's: lockport provider set NAME --timeout-read SECONDS"],
  [/^master_key$/, "keys are made here: lockport key create"],
  [/cache|redis/, "answers are not cached"],
  [/callback|langfuse|logging|log/, "nothing is sent elsewhere; usage is kept in the ledger"],
  [/^(?:database|store_model|store_prompts)/, "the database is Lockport's own"],
  [
    /^(?:max_budget|budget_duration)$/,
    "is not carried over, since its time is no calendar's; as a limit: lockport limit set NAME --amount N --per month",
  ],
  [
    /max_parallel/,
    "is not carried over; as a limit: lockport limit set NAME --amount N --measure concurrent",
  ],
  [/budget|rpm|tpm/, "is not carried over; limits are set with lockport limit set"],
];

/** One note for each setting outside of the model list, since each is something that LiteLLM did and Lockport does not. */
function listSettings(root: SourceMap, notes: ImportNote[]): void {
  for (const [section, { line, value }] of root.entries) {
    if (READ_SECTIONS.has(section)) continue;
    if (value.kind !== "map") {
      notes.push({ line, sentence: `${section}: is not read.`, isGap: false });
      continue;
    }
    for (const [setting, { line: settingLine }] of value.entries) {
      if (setting === ALIASES_FIELD) continue;
      const reason = SETTING_REASONS.find(([pattern]) => pattern.test(setting))?.[1];
      const sentence = `${section}.${setting}: ${reason ?? "has nothing like it here"}.`;
      notes.push({ line: settingLine, sentence, isGap: false });
    }
  }
}

function refuse(line: number, sentence: string): ParsedLitellmConfig {
  return { kind: "refused", problems: [{ line, sentence }] };
}

import { isPriceField } from "./litellm-values.ts";
import type { SourceMap } from "./source.ts";

const READ_PARAMS: ReadonlySet<string> = new Set([
  "model",
  "api_base",
  "base_url",
  "api_key",
  "custom_llm_provider",
  "litellm_credential_name",
  "timeout",
  "ssl_verify",
  "api_version",
  "aws_region_name",
  "aws_bedrock_runtime_endpoint",
  "vertex_project",
  "vertex_location",
]);

/** The last are LiteLLM's own bookkeeping. */
const READ_INFO: ReadonlySet<string> = new Set([
  "mode",
  "supports_vision",
  "id",
  "db_model",
  "created_at",
  "created_by",
  "updated_at",
  "updated_by",
]);

const FIELD_REASONS: readonly (readonly [pattern: RegExp, reason: string])[] = [
  // There it steers the choice of a deployment, and a budget's time begins with its first use: neither means what a limit does.
  [
    /^rpm$/,
    "is not carried over, since it steers balancing; as a limit: lockport limit set NAME --amount N --measure requests --per minute --model ALIAS",
  ],
  [
    /^tpm$/,
    "is not carried over, since it steers balancing; as a limit: lockport limit set NAME --amount N --measure tokens --per minute --model ALIAS",
  ],
  [
    /^(?:max_budget|budget_duration)$/,
    "is not carried over, since its time is no calendar's; as a limit: lockport limit set NAME --amount N --per month --model ALIAS",
  ],
  [/^max_parallel_requests$/, "a cap is a provider's: lockport provider set NAME --max-concurrency N"],
  [/retries$/, "nothing is retried"],
  [/^(?:weight|order)$/, "there is no balancing between deployments"],
  [/^stream_timeout$/, "streams and whole answers share one timeout"],
  [/cost|price/, "there is no unit for this price"],
  [/^base_model$/, "prices are not looked up by it; they are written with the model or loaded"],
  [/^(?:access_groups|team_)/, "every API key may use every model"],
];

const READ = { litellm_params: READ_PARAMS, model_info: READ_INFO } as const;

/** Notes each field of a deployment that is not carried over, with the reason. */
export function listUnread(
  map: SourceMap,
  section: keyof typeof READ,
  note: (line: number, sentence: string) => void,
): void {
  const read = READ[section];
  const usual =
    section === "litellm_params"
      ? "requests go on as they come, and nothing is added to them"
      : "nothing here reads it";
  for (const [field, { line }] of map.entries) {
    if (read.has(field) || isPriceField(field)) continue;
    const reason = FIELD_REASONS.find(([pattern]) => pattern.test(field))?.[1] ?? usual;
    note(line, `${section}.${field}: ${reason}.`);
  }
}

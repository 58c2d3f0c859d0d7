import type { AuthStyle } from "#catalog/provider-fields.ts";

/** A kind of server that many people run or rent: what to write for it. */
export interface Preset {
  readonly id: string;
  readonly label: string;
  /** Null: nothing is known of it. */
  readonly baseUrl: string | null;
  readonly key: "needed" | "optional" | "none";
  /** How it takes the key; a bearer where nothing is said. */
  readonly authStyle?: AuthStyle;
  /** Where its key or its address comes from. */
  readonly hint: string;
}

export const PRESETS = [
  {
    id: "openai",
    label: "OpenAI",
    baseUrl: "https://api.openai.com/v1",
    key: "needed",
    hint: "Create a key at platform.openai.com, under API keys.",
  },
  {
    id: "anthropic",
    label: "Anthropic",
    baseUrl: "https://api.anthropic.com/v1",
    key: "needed",
    authStyle: "x-api-key",
    hint: "Create a key at platform.claude.com, under API keys. Its models serve clients of the messages API.",
  },
  {
    id: "openrouter",
    label: "OpenRouter",
    baseUrl: "https://openrouter.ai/api/v1",
    key: "needed",
    hint: "Create a key at openrouter.ai, under Keys. It lists several hundred models.",
  },
  {
    id: "together",
    label: "Together",
    baseUrl: "https://api.together.xyz/v1",
    key: "needed",
    hint: "Create a key at api.together.ai, in the settings.",
  },
  {
    id: "groq",
    label: "Groq",
    baseUrl: "https://api.groq.com/openai/v1",
    key: "needed",
    hint: "Create a key at console.groq.com, under API Keys.",
  },
  {
    id: "vllm",
    label: "vLLM",
    baseUrl: "http://localhost:8000/v1",
    key: "optional",
    hint: "A key is needed only if vLLM was started with --api-key.",
  },
  {
    id: "ollama",
    label: "Ollama",
    baseUrl: "http://localhost:11434/v1",
    key: "none",
    hint: "Ollama listens on its own machine only, unless OLLAMA_HOST is set.",
  },
  {
    id: "lm-studio",
    label: "LM Studio",
    baseUrl: "http://localhost:1234/v1",
    key: "none",
    hint: "Start its server on the Developer tab. Serving on the local network is a setting there.",
  },
  {
    id: "other",
    label: "Other",
    baseUrl: null,
    key: "optional",
    hint: "Any server with an OpenAI-compatible API.",
  },
] as const satisfies readonly Preset[];

/** The name that a provider of this kind gets: `openai`, or `openai-2` when that is taken. */
export function toFreeName(preset: Preset, taken: readonly string[]): string {
  if (preset.baseUrl === null) return "";
  if (!taken.includes(preset.id)) return preset.id;
  let count = 2;
  while (taken.includes(`${preset.id}-${count}`)) count += 1;
  return `${preset.id}-${count}`;
}

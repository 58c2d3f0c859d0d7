import type { ModelDraft } from "#catalog/model.ts";
import type { ProviderDraft } from "#catalog/provider.ts";

/** The provider that a running model server stands for: see `--live`. */
export const LIVE_PROVIDER = "vllm-lab";

/** Hosts of example.com reach no server (RFC 2606), and the credentials are made up. */
const CREDENTIAL = "not-a-real-credential";

/** Providers in the order of their creation. `liveBaseUrl`: where a model server listens; null when none does. */
export function toProviders(liveBaseUrl: string | null): readonly ProviderDraft[] {
  return [
    {
      name: "openai",
      base_url: "https://api.openai.example.com/v1",
      api_key: CREDENTIAL,
      max_concurrency: 64,
    },
    {
      name: "openrouter",
      base_url: "https://openrouter.example.com/api/v1",
      api_key: CREDENTIAL,
      timeout_read: 120,
    },
    {
      name: LIVE_PROVIDER,
      base_url: liveBaseUrl ?? "http://vllm-lab.example.com:8000/v1",
      max_concurrency: 16,
    },
    {
      name: "ollama-desk",
      base_url: "http://ollama-desk.example.com:11434/v1",
      timeout_connect: 5,
      max_concurrency: 2,
    },
  ];
}

/** Joins later, and is disabled in the end. */
export const LATE_PROVIDER: ProviderDraft = {
  name: "together",
  base_url: "https://api.together.example.com/v1",
  api_key: CREDENTIAL,
};

const CHAT = ["chat", "chat_stream"];
const EMBEDDINGS = ["embeddings"];

/** Prices are per million units. */
export const MODELS: readonly ModelDraft[] = [
  {
    alias: "gpt-5",
    provider: "openai",
    upstreamName: "gpt-5-2025-08-07",
    capabilities: [...CHAT, "vision"],
    pricing: toPrices(1.25, 10, 0.125),
  },
  {
    alias: "gpt-5-mini",
    provider: "openai",
    upstreamName: "gpt-5-mini-2025-08-07",
    capabilities: [...CHAT, "vision"],
    pricing: toPrices(0.3, 2.4, 0.03),
  },
  {
    alias: "gpt-4o-mini",
    provider: "openai",
    upstreamName: "gpt-4o-mini-2024-07-18",
    capabilities: CHAT,
    pricing: toPrices(0.15, 0.6, 0.075),
  },
  {
    alias: "text-embedding-3-small",
    provider: "openai",
    upstreamName: "text-embedding-3-small",
    capabilities: EMBEDDINGS,
    pricing: { input_tokens: 0.02 },
  },
  {
    alias: "claude-sonnet-4.5",
    provider: "openrouter",
    upstreamName: "anthropic/claude-sonnet-4.5",
    capabilities: [...CHAT, "vision"],
    pricing: toPrices(3, 15, 0.3),
  },
  {
    alias: "deepseek-v3.2",
    provider: "openrouter",
    upstreamName: "deepseek/deepseek-v3.2-exp",
    capabilities: CHAT,
    pricing: toPrices(0.27, 0.41, 0.07),
  },
  {
    // Its seconds of audio have no price.
    alias: "voxtral-small",
    provider: "openrouter",
    upstreamName: "mistralai/voxtral-small-24b-2507",
    capabilities: CHAT,
    pricing: { input_tokens: 0.1, output_tokens: 0.3 },
  },
  {
    // Cached input has no price.
    alias: "qwen3-32b",
    provider: LIVE_PROVIDER,
    upstreamName: "Qwen/Qwen3-32B",
    capabilities: [...CHAT, "completions"],
    pricing: { input_tokens: 0.08, output_tokens: 0.24 },
  },
  {
    alias: "qwen3-coder",
    provider: LIVE_PROVIDER,
    upstreamName: "Qwen/Qwen3-Coder-30B-A3B-Instruct",
    capabilities: [...CHAT, "completions"],
    pricing: toPrices(0.06, 0.2, 0.006),
  },
  {
    alias: "bge-m3",
    provider: LIVE_PROVIDER,
    upstreamName: "BAAI/bge-m3",
    capabilities: EMBEDDINGS,
    pricing: { input_tokens: 0.01 },
  },
  {
    // Without any price.
    alias: "llama3.2:3b",
    provider: "ollama-desk",
    upstreamName: "llama3.2:3b",
    capabilities: CHAT,
  },
  {
    alias: "evals/judge",
    provider: "openai",
    upstreamName: "gpt-5-2025-08-07",
    capabilities: CHAT,
    pricing: toPrices(1.25, 10, 0.125),
    hidden: true,
  },
  // Names for others.
  { alias: "default", target: "gpt-4o-mini" },
  { alias: "smart", target: "claude-sonnet-4.5" },
  { alias: "embed", target: "text-embedding-3-small" },
];

export const LATE_MODEL: ModelDraft = {
  alias: "llama-3.3-70b",
  provider: "together",
  upstreamName: "meta-llama/Llama-3.3-70B-Instruct-Turbo",
  capabilities: CHAT,
  pricing: toPrices(0.88, 0.88, 0.88),
};

/** Models of the live provider's model server. */
export const LIVE_MODELS = {
  chat: ["Qwen/Qwen3-32B", "Qwen/Qwen3-Coder-30B-A3B-Instruct"],
  embeddings: ["BAAI/bge-m3"],
} as const;

/** Models that the relay is asked for: they are in no catalog, and have a price when a feed names them. */
export const RELAYED = {
  sonnet: "claude-sonnet-4-5-20250929",
  haiku: "claude-haiku-4-5-20251001",
  opus: "claude-opus-4-1-20250805",
} as const;

/** Two loads: the second prices a model that was used before it had a price. */
export const FEEDS = [
  {
    version: "list-prices-1",
    entries: [...toEntries(RELAYED.sonnet, 3, 15, 0.3), ...toEntries(RELAYED.haiku, 1, 5, 0.1)],
  },
  {
    version: "list-prices-2",
    entries: [
      ...toEntries(RELAYED.sonnet, 3, 15, 0.3),
      ...toEntries(RELAYED.haiku, 0.9, 4.5, 0.09),
      ...toEntries(RELAYED.opus, 15, 75, 1.5),
    ],
  },
] as const;

/** A model's speed, by its upstream name. */
export interface Pace {
  readonly firstByteMs: number;
  readonly tokensPerSecond: number;
}

const PACES: { readonly [upstreamName: string]: Pace } = {
  "gpt-5-2025-08-07": { firstByteMs: 2_600, tokensPerSecond: 70 },
  "gpt-5-mini-2025-08-07": { firstByteMs: 900, tokensPerSecond: 110 },
  "gpt-4o-mini-2024-07-18": { firstByteMs: 450, tokensPerSecond: 90 },
  "text-embedding-3-small": { firstByteMs: 110, tokensPerSecond: 1_000 },
  "anthropic/claude-sonnet-4.5": { firstByteMs: 1_300, tokensPerSecond: 62 },
  "deepseek/deepseek-v3.2-exp": { firstByteMs: 1_800, tokensPerSecond: 35 },
  "Qwen/Qwen3-32B": { firstByteMs: 320, tokensPerSecond: 48 },
  "Qwen/Qwen3-Coder-30B-A3B-Instruct": { firstByteMs: 140, tokensPerSecond: 120 },
  "BAAI/bge-m3": { firstByteMs: 35, tokensPerSecond: 1_000 },
  "llama3.2:3b": { firstByteMs: 700, tokensPerSecond: 22 },
  [RELAYED.haiku]: { firstByteMs: 600, tokensPerSecond: 120 },
};
const PACE_DEFAULT: Pace = { firstByteMs: 1_200, tokensPerSecond: 60 };

export function findPace(upstreamName: string): Pace {
  return PACES[upstreamName] ?? PACE_DEFAULT;
}

function toPrices(input: number, output: number, cached: number) {
  return { input_tokens: input, output_tokens: output, cached_input_tokens: cached };
}

function toEntries(model: string, input: number, output: number, cached: number) {
  return Object.entries(toPrices(input, output, cached)).map(([unit, price]) => ({
    model,
    unit,
    price_per_million: price,
  }));
}

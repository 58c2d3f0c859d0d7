/** How LiteLLM's provider word, the part before the first slash of a model, is reached through the chat-completions dialect. */
export interface LitellmUpstream {
  /** Null when the config has to say it. */
  readonly baseUrl: string | null;
  /** Variables that LiteLLM takes the base URL from, in its order. */
  readonly baseVariables: readonly string[];
  /** Variables that LiteLLM takes the key from, in its order; empty for servers that need none. */
  readonly keyVariables: readonly string[];
  /**
   * What `api_base` means: the base URL itself, a root that `/v1` comes after, such a root of Anthropic's messages API, a dialect
   * of its own that does not fit, or an address that its cloud leads to.
   */
  readonly apiBase: "base" | "root" | "messages" | "foreign" | "cloud";
  /** What has to be known of it. */
  readonly remark: string | null;
}

/** Null for a word that is not known here. */
export function findLitellmUpstream(word: string): LitellmUpstream | null {
  return UPSTREAMS.get(word) ?? null;
}

/** Why a provider's models cannot be reached through the chat-completions dialect; null for a word that is not known here. */
export function findObstacle(word: string): string | null {
  return OBSTACLES.get(word) ?? null;
}

/** The word of the provider whose usual address is at this base URL's host; null for any other, and for this machine. */
export function findWordOfAddress(baseUrl: string): string | null {
  const { host, hostname } = new URL(baseUrl);
  if (AZURE_HOST_PATTERN.test(hostname)) return "azure";
  if (hostname === "localhost" || hostname === "127.0.0.1") return null;
  const found = [...UPSTREAMS].find(
    ([, upstream]) => upstream.baseUrl !== null && new URL(upstream.baseUrl).host === host,
  );
  return found?.[0] ?? null;
}

/** An Azure OpenAI resource, and a Foundry one. */
const AZURE_HOST_PATTERN = /\.(?:openai\.azure\.com|services\.ai\.azure\.com|cognitiveservices\.azure\.com)$/;

const OPENAI_NAME =
  /^(?:gpt-|chatgpt-|o[134](?:-|$)|text-embedding-|ft:gpt-|whisper-|tts-|dall-e-|(?:omni|text)-moderation-)/;

/** The word that LiteLLM finds by itself for a well-known name without one; null for any other. */
export function inferUpstreamWord(model: string): string | null {
  if (OPENAI_NAME.test(model)) return "openai";
  return model.startsWith("claude-") ? "anthropic" : null;
}

function hosted(baseUrl: string, ...keyVariables: readonly string[]): LitellmUpstream {
  const stem = (keyVariables[0] ?? "").replace(/_API_KEY$/, "");
  return { baseUrl, baseVariables: [`${stem}_API_BASE`], keyVariables, apiBase: "base", remark: null };
}

function selfHosted(stem: string): LitellmUpstream {
  return {
    baseUrl: null,
    baseVariables: [`${stem}_API_BASE`],
    keyVariables: [`${stem}_API_KEY`],
    apiBase: "base",
    remark: null,
  };
}

const OPENAI: LitellmUpstream = {
  ...hosted("https://api.openai.com/v1", "OPENAI_API_KEY"),
  baseVariables: ["OPENAI_BASE_URL", "OPENAI_API_BASE"],
};
const OLLAMA: LitellmUpstream = {
  baseUrl: "http://localhost:11434/v1",
  baseVariables: ["OLLAMA_API_BASE"],
  keyVariables: [],
  apiBase: "root",
  remark: null,
};
function cloud(...keyVariables: readonly string[]): LitellmUpstream {
  return { baseUrl: null, baseVariables: [], keyVariables, apiBase: "cloud", remark: null };
}

const AZURE = cloud("AZURE_API_KEY", "AZURE_OPENAI_API_KEY");
const BEDROCK = cloud("AWS_BEARER_TOKEN_BEDROCK");
const COMPATIBLE: LitellmUpstream = {
  baseUrl: null,
  baseVariables: [],
  keyVariables: [],
  apiBase: "base",
  remark: null,
};

/** The chat-completions base URLs are those of the providers' own documentation. */
const UPSTREAMS: ReadonlyMap<string, LitellmUpstream> = new Map([
  ["openai", OPENAI],
  ["text-completion-openai", OPENAI],
  ["custom_openai", COMPATIBLE],
  ["openai_like", COMPATIBLE],
  ["openrouter", hosted("https://openrouter.ai/api/v1", "OPENROUTER_API_KEY", "OR_API_KEY")],
  [
    "together_ai",
    {
      ...hosted(
        "https://api.together.xyz/v1",
        "TOGETHER_API_KEY",
        "TOGETHER_AI_API_KEY",
        "TOGETHERAI_API_KEY",
        "TOGETHER_AI_TOKEN",
      ),
      baseVariables: ["TOGETHER_AI_API_BASE"],
    },
  ],
  ["groq", hosted("https://api.groq.com/openai/v1", "GROQ_API_KEY")],
  ["deepseek", hosted("https://api.deepseek.com/v1", "DEEPSEEK_API_KEY")],
  ["mistral", hosted("https://api.mistral.ai/v1", "MISTRAL_API_KEY")],
  ["codestral", hosted("https://codestral.mistral.ai/v1", "CODESTRAL_API_KEY")],
  ["xai", hosted("https://api.x.ai/v1", "XAI_API_KEY")],
  [
    "fireworks_ai",
    hosted("https://api.fireworks.ai/inference/v1", "FIREWORKS_API_KEY", "FIREWORKS_AI_API_KEY"),
  ],
  ["perplexity", hosted("https://api.perplexity.ai", "PERPLEXITY_API_KEY", "PERPLEXITYAI_API_KEY")],
  ["cerebras", hosted("https://api.cerebras.ai/v1", "CEREBRAS_API_KEY")],
  ["sambanova", hosted("https://api.sambanova.ai/v1", "SAMBANOVA_API_KEY")],
  ["nvidia_nim", hosted("https://integrate.api.nvidia.com/v1", "NVIDIA_NIM_API_KEY")],
  ["deepinfra", hosted("https://api.deepinfra.com/v1/openai", "DEEPINFRA_API_KEY")],
  ["moonshot", hosted("https://api.moonshot.ai/v1", "MOONSHOT_API_KEY")],
  ["azure", AZURE],
  ["azure_text", AZURE],
  ["azure_ai", cloud("AZURE_AI_API_KEY")],
  ["bedrock", BEDROCK],
  ["bedrock_mantle", cloud("BEDROCK_MANTLE_API_KEY", "AWS_BEARER_TOKEN_BEDROCK")],
  ["vertex_ai", cloud()],
  ["vertex_ai_beta", cloud()],
  ["ollama", OLLAMA],
  ["ollama_chat", OLLAMA],
  ["hosted_vllm", selfHosted("HOSTED_VLLM")],
  ["vllm", selfHosted("VLLM")],
  ["lm_studio", selfHosted("LM_STUDIO")],
  ["litellm_proxy", selfHosted("LITELLM_PROXY")],
  ["llamafile", { ...selfHosted("LLAMAFILE"), baseUrl: "http://127.0.0.1:8080/v1" }],
  [
    "gemini",
    {
      baseUrl: "https://generativelanguage.googleapis.com/v1beta/openai",
      baseVariables: [],
      keyVariables: ["GEMINI_API_KEY", "GOOGLE_API_KEY"],
      apiBase: "foreign",
      remark: "carried over by way of Gemini's OpenAI-compatible interface, not its own",
    },
  ],
  [
    "anthropic",
    {
      baseUrl: "https://api.anthropic.com/v1",
      baseVariables: [],
      keyVariables: ["ANTHROPIC_API_KEY"],
      apiBase: "messages",
      remark:
        "carried over by way of Anthropic's OpenAI-compatible interface, and for clients of its messages API",
    },
  ],
]);

const OBSTACLES: ReadonlyMap<string, string> = new Map([
  ["sagemaker", "SageMaker wants each request signed (AWS Signature Version 4)"],
  ["sagemaker_chat", "SageMaker wants each request signed (AWS Signature Version 4)"],
  ["cohere", "Cohere's own interface is another dialect"],
  ["cohere_chat", "Cohere's own interface is another dialect"],
  ["replicate", "Replicate's interface is another dialect"],
  ["watsonx", "watsonx.ai's interface is another dialect"],
  ["databricks", "Databricks' serving URLs hold the model, which a provider's base URL cannot"],
  ["huggingface", "Hugging Face's inference URLs hold the model, which a provider's base URL cannot"],
]);

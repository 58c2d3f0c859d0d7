import type { GroupName } from "../../contrib/clients/groups.ts";

/** What is asked of a client: an answer, a stream, and both with a tool whose result goes back in a second request. */
export const USES = ["unary", "stream", "tools", "tools-stream"] as const;
export type Use = (typeof USES)[number];
export type Api = "chat" | "responses" | "messages";
export const MEDIA = [
  "transcription",
  "translation",
  "speech",
  "images",
  "images/edits",
  "moderation",
  "embeddings",
  "rerank v1",
  "rerank v2",
] as const;
export type Medium = (typeof MEDIA)[number];

export interface ClientRow {
  readonly name: string;
  readonly group: GroupName;
  /** Its version is that of these packages in the group's manifest. */
  readonly packages: readonly string[];
  /** Variables, `URL` being this server's address, or another way in words. */
  readonly settings: string;
  readonly apis: readonly Api[];
  readonly uses: readonly Use[];
  /** A file of `quickstarts`, or the test that has its own way of running it. */
  readonly program: string | { readonly test: string };
  readonly media?: { readonly program: string; readonly endpoints: readonly Medium[] };
  /** Whose streams it makes itself, of an answer in whole. */
  readonly makesStreamsOf?: Api;
  /** True: it is asked for a text without U+2028, which its reader takes for the end of a line. */
  readonly isWithoutLineSeparator?: true;
  /** In place of an alias with a slash. */
  readonly isWithoutSlash?: true;
  /** Limits: what does not work, or not by itself, and why. */
  readonly notes: readonly string[];
}

const OPENAI = "`OPENAI_BASE_URL=URL/v1`, `OPENAI_API_KEY`";
const ANTHROPIC = "`ANTHROPIC_BASE_URL=URL`, `ANTHROPIC_API_KEY`";
const OPENAI_MEDIA = [
  "transcription",
  "translation",
  "speech",
  "images",
  "images/edits",
  "moderation",
  "embeddings",
] as const;
const TRACES = "Traces go to OpenAI itself whatever the base URL: turn them off.";

/**
 * The clients that are tried in their newest versions, each with a base URL and a key alone. `docs/guides/which-clients-work.md`
 * is made from it.
 */
export const CLIENT_TABLE: readonly ClientRow[] = [
  {
    name: "OpenAI SDK for Python",
    group: "python",
    packages: ["openai"],
    settings: OPENAI,
    apis: ["chat", "responses"],
    uses: USES,
    program: "openai_sdk.py",
    media: { program: "openai_media.py", endpoints: OPENAI_MEDIA },
    notes: [],
  },
  {
    name: "OpenAI SDK for TypeScript",
    group: "javascript",
    packages: ["openai"],
    settings: OPENAI,
    apis: ["chat", "responses"],
    uses: USES,
    program: "openai.mjs",
    media: { program: "openai-media.mjs", endpoints: OPENAI_MEDIA },
    notes: [],
  },
  {
    name: "Vercel AI SDK, `openai(…)`",
    group: "javascript",
    packages: ["ai", "@ai-sdk/openai"],
    settings: OPENAI,
    apis: ["chat", "responses"],
    uses: USES,
    program: "ai-sdk.mjs",
    notes: ["`openai.chat(…)` calls chat completions."],
  },
  {
    name: "Vercel AI SDK, `anthropic(…)`",
    group: "javascript",
    packages: ["ai", "@ai-sdk/anthropic"],
    settings: "`ANTHROPIC_BASE_URL=URL/v1`, `ANTHROPIC_API_KEY`",
    apis: ["messages"],
    uses: USES,
    program: "ai-sdk.mjs",
    notes: ["Its base URL ends with `/v1`, that of Anthropic's own clients does not."],
  },
  {
    name: "LangChain for Python",
    group: "python",
    packages: ["langchain-openai", "langchain-anthropic"],
    settings: `${OPENAI}; for \`ChatAnthropic\` ${ANTHROPIC}`,
    apis: ["chat", "responses", "messages"],
    uses: USES,
    program: "langchain_models.py",
    notes: ["`use_responses_api=True` is set; without it some calls go to chat completions, others do not."],
  },
  {
    name: "LangChain for TypeScript",
    group: "javascript",
    packages: ["@langchain/openai", "@langchain/anthropic"],
    settings: `${OPENAI}; for \`ChatAnthropic\` \`anthropicApiUrl: URL\`, \`ANTHROPIC_API_KEY\``,
    apis: ["chat", "responses", "messages"],
    uses: USES,
    program: "langchain.mjs",
    notes: ["`useResponsesApi: true` is set, as above."],
  },
  {
    name: "LlamaIndex",
    group: "llamaindex",
    packages: ["llama-index-llms-openai"],
    settings: "`api_base=URL/v1`, `api_key`",
    apis: ["chat", "responses"],
    uses: USES,
    program: "llamaindex_models.py",
    notes: [
      "It refuses an alias that is no model of OpenAI's: a subclass names its context window, as `OpenAILike` does for chat completions.",
    ],
  },
  {
    name: "Pydantic AI, `openai:` and `anthropic:`",
    group: "python",
    packages: ["pydantic-ai-slim"],
    settings: `${OPENAI}; ${ANTHROPIC}`,
    apis: ["responses", "messages"],
    uses: USES,
    program: "pydantic_agent.py",
    notes: ["`openai-chat:` calls chat completions."],
  },
  {
    name: "OpenAI Agents for Python",
    group: "python",
    packages: ["openai-agents"],
    settings: OPENAI,
    apis: ["responses"],
    uses: USES,
    program: "openai_agents.py",
    isWithoutSlash: true,
    notes: [
      'An alias with a slash is an unknown prefix to it, which it refuses before it asks anybody: take one without, or `MultiProvider(unknown_prefix_mode="model_id")`.',
      TRACES,
    ],
  },
  {
    name: "OpenAI Agents for TypeScript",
    group: "javascript",
    packages: ["@openai/agents"],
    settings: OPENAI,
    apis: ["responses"],
    uses: USES,
    program: "openai-agents.mjs",
    notes: [TRACES],
  },
  {
    name: "Codex",
    group: "codex",
    packages: ["@openai/codex"],
    settings:
      'in `~/.codex/config.toml` `openai_base_url = "URL/v1"`, and `CODEX_API_KEY`; or a provider of its own with `base_url` and `env_key`',
    apis: ["responses"],
    uses: ["stream", "tools-stream"],
    program: { test: "coding.test.ts" },
    notes: [
      "`OPENAI_BASE_URL` alone is not read.",
      "With `openai_base_url` it first asks for a WebSocket, is answered 426 and goes on over HTTPS; with a provider of its own it does not ask.",
      "That the metadata of the model is not found is a warning.",
    ],
  },
  {
    name: "Claude Code",
    group: "claude-code",
    packages: ["@anthropic-ai/claude-code"],
    settings: "`ANTHROPIC_BASE_URL=URL`, `ANTHROPIC_AUTH_TOKEN`",
    apis: ["messages"],
    uses: ["stream", "tools-stream"],
    program: { test: "coding.test.ts" },
    notes: [
      "Whatever is answered with 404 it calls an issue with the selected model.",
      "That it does not recognize the model is a warning.",
    ],
  },
  {
    name: "Anthropic SDK for Python",
    group: "python",
    packages: ["anthropic"],
    settings: ANTHROPIC,
    apis: ["messages"],
    uses: USES,
    program: "anthropic_messages.py",
    notes: [],
  },
  {
    name: "Anthropic SDK for TypeScript",
    group: "javascript",
    packages: ["@anthropic-ai/sdk"],
    settings: ANTHROPIC,
    apis: ["messages"],
    uses: USES,
    program: "anthropic.mjs",
    notes: [],
  },
  {
    name: "aider",
    group: "aider",
    packages: ["aider-chat"],
    settings: "`OPENAI_API_BASE=URL/v1`, `OPENAI_API_KEY`, `--model openai/ALIAS`",
    apis: ["chat"],
    uses: ["stream"],
    program: { test: "programs.test.ts" },
    notes: ["It edits files by what is written in an answer and calls no tools."],
  },
  {
    name: "Continue",
    group: "continue",
    packages: ["@continuedev/cli"],
    settings: "`apiBase: URL/v1` and `apiKey` in `config.yaml`",
    apis: ["chat"],
    uses: ["stream"],
    program: { test: "programs.test.ts" },
    notes: ["`useResponsesApi: false` is set."],
  },
  {
    name: "LiteLLM's SDK",
    group: "llamaindex",
    packages: ["litellm"],
    settings: `${OPENAI} for \`openai/ALIAS\`; ${ANTHROPIC} for \`anthropic/ALIAS\``,
    apis: ["chat", "responses", "messages"],
    uses: USES,
    program: "litellm_sdk.py",
    makesStreamsOf: "responses",
    isWithoutLineSeparator: true,
    notes: [
      "`responses(…, stream=True)` of a model that is not in its list asks for the answer in whole and makes a stream of it.",
      "A streamed message that has a line separator (U+2028) in it ends there: its reader takes that for the end of a line.",
      "Some versions need the package `mcp` beside it.",
    ],
  },
  {
    name: "Cohere's SDK for Python",
    group: "python",
    packages: ["cohere"],
    settings: "`CO_API_URL=URL`, `CO_API_KEY`",
    apis: [],
    uses: [],
    program: { test: "quickstarts.test.ts" },
    media: { program: "cohere_rerank.py", endpoints: ["rerank v1", "rerank v2"] },
    notes: ["Rerank alone: its chat and embeddings have shapes of their own, which are not served."],
  },
  {
    name: "Cohere's SDK for TypeScript",
    group: "javascript",
    packages: ["cohere-ai"],
    settings: "`environment: URL`, `token`",
    apis: [],
    uses: [],
    program: { test: "quickstarts.test.ts" },
    media: { program: "cohere.mjs", endpoints: ["rerank v1", "rerank v2"] },
    notes: ["Rerank alone, as above."],
  },
];

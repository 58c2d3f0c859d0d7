import {
  SECRET_VARIABLES,
  toDialectUrl,
  toModel,
  toText,
  type SnippetClient,
  type SnippetSubject,
} from "./client.ts";
import { quoteJson, quoteShell, quoteShellWithVariable } from "./source.ts";

export const OPEN_WEBUI = {
  id: "open-webui",
  name: "Open WebUI",
  kind: "openai",
  language: "shell",
  file: null,
  install: "pip install open-webui",
  snippets: {
    chat: (subject) =>
      toText([
        `export OPENAI_API_BASE_URL=${quoteShell(toDialectUrl(subject))}`,
        `export OPENAI_API_KEY=${toShellKey(subject)}`,
        "export ENABLE_OLLAMA_API=false",
        "open-webui serve",
      ]),
  },
  notes: [
    "It reads these at its first start only; later they are changed under Admin Settings, Connections.",
    "In a container pass the same variables with -e; there 127.0.0.1 is the container itself, so give the address of this server instead.",
    "It lists every model that is not hidden; everyone who uses it is counted under this one key.",
  ],
} satisfies SnippetClient;

export const CONTINUE = {
  id: "continue",
  name: "Continue",
  kind: "openai",
  language: "yaml",
  file: "~/.continue/config.yaml",
  install: null,
  snippets: {
    chat: (subject) =>
      toText([
        "name: Lockport",
        "version: 1.0.0",
        "schema: v1",
        "models:",
        `  - name: ${quoteJson(toModel(subject))}`,
        "    provider: openai",
        `    model: ${quoteJson(toModel(subject))}`,
        `    apiBase: ${quoteJson(toDialectUrl(subject))}`,
        `    apiKey: ${subject.secret === null ? `\${{ secrets.${SECRET_VARIABLES.openai} }}` : quoteJson(subject.secret)}`,
        "    useResponsesApi: false",
        "    roles: [chat, edit, apply]",
      ]),
  },
  notes: [
    `Continue looks for ${SECRET_VARIABLES.openai} in ~/.continue/.env, written ${SECRET_VARIABLES.openai}=lp_….`,
    "A model with the capability embeddings gets roles: [embed], one for completions roles: [autocomplete].",
  ],
} satisfies SnippetClient;

export const AIDER = {
  id: "aider",
  name: "aider",
  kind: "openai",
  language: "shell",
  file: null,
  install: "pip install aider-chat",
  snippets: {
    chat: (subject) =>
      toText([
        `export OPENAI_API_BASE=${quoteShell(toDialectUrl(subject))}`,
        `export OPENAI_API_KEY=${toShellKey(subject)}`,
        `aider --model ${quoteShell(`openai/${toModel(subject)}`)}`,
      ]),
  },
  notes: [
    "openai/ in front of the alias tells aider which dialect to speak; it is not part of the name.",
    "In reports it is OpenAI/Python; a key of its own tells it apart.",
    "A warning that the model's context window and costs are unknown is no error; --no-show-model-warnings silences it.",
  ],
} satisfies SnippetClient;

/** Keys of `model_providers` as Codex's configuration reference has them. */
export const CODEX: SnippetClient = {
  id: "codex",
  name: "Codex CLI",
  kind: "openai",
  language: "toml",
  file: "~/.codex/config.toml",
  install: "npm install -g @openai/codex",
  snippets: {
    responses: (subject) =>
      toText([
        `model = ${quoteJson(toModel(subject))}`,
        'model_provider = "lockport"',
        "",
        "[model_providers.lockport]",
        'name = "Lockport"',
        `base_url = ${quoteJson(toDialectUrl(subject))}`,
        'wire_api = "responses"',
        subject.secret === null
          ? `env_key = ${quoteJson(SECRET_VARIABLES.openai)}`
          : `experimental_bearer_token = ${quoteJson(subject.secret)}`,
      ]),
  },
  notes: [
    "The model needs the capability responses: Codex speaks only the Responses API.",
    "The lines before [model_providers.lockport] stand above any other table of the file.",
    "A warning that the model's metadata is not known is no error.",
  ],
};

function toShellKey({ secret }: SnippetSubject): string {
  return secret === null ? quoteShellWithVariable("", SECRET_VARIABLES.openai) : quoteShell(secret);
}

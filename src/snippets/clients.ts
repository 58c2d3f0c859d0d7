import { AGENTS_NODE, AGENTS_PYTHON, PYDANTIC_AI } from "./agents.ts";
import { AI_SDK, AI_SDK_ANTHROPIC } from "./ai-sdk.ts";
import type { SnippetClient } from "./client.ts";
import { COHERE_NODE, COHERE_PYTHON } from "./cohere.ts";
import { CURL } from "./curl.ts";
import { LANGCHAIN_JS, LANGCHAIN_PYTHON } from "./langchain.ts";
import {
  ANTHROPIC_NODE,
  ANTHROPIC_NODE_KEY,
  ANTHROPIC_PYTHON,
  ANTHROPIC_PYTHON_KEY,
  CLAUDE_CODE,
  CLAUDE_CODE_KEY,
} from "./messages.ts";
import { OPENAI_NODE, OPENAI_PYTHON } from "./openai.ts";
import { AIDER, CODEX, CONTINUE, OPEN_WEBUI } from "./programs.ts";

/** Every client with a snippet, in the order in which they are shown: those with an API key, then those of the relay. */
export const CLIENTS: readonly SnippetClient[] = [
  CURL,
  OPENAI_PYTHON,
  OPENAI_NODE,
  AI_SDK,
  LANGCHAIN_PYTHON,
  LANGCHAIN_JS,
  AGENTS_PYTHON,
  AGENTS_NODE,
  PYDANTIC_AI,
  OPEN_WEBUI,
  CONTINUE,
  AIDER,
  CODEX,
  CLAUDE_CODE_KEY,
  ANTHROPIC_PYTHON_KEY,
  ANTHROPIC_NODE_KEY,
  AI_SDK_ANTHROPIC,
  COHERE_PYTHON,
  COHERE_NODE,
  CLAUDE_CODE,
  ANTHROPIC_PYTHON,
  ANTHROPIC_NODE,
];

export function findClient(id: string): SnippetClient | null {
  return CLIENTS.find((client) => client.id === id) ?? null;
}

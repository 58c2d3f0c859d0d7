import { AI_SDK } from "./ai-sdk.ts";
import type { SnippetClient } from "./client.ts";
import { CURL } from "./curl.ts";
import { LANGCHAIN_JS, LANGCHAIN_PYTHON } from "./langchain.ts";
import { ANTHROPIC_NODE, ANTHROPIC_PYTHON, CLAUDE_CODE } from "./messages.ts";
import { OPENAI_NODE, OPENAI_PYTHON } from "./openai.ts";
import { AIDER, CONTINUE, OPEN_WEBUI } from "./programs.ts";

/** Every client with a snippet, in the order in which they are shown: those of `/v1`, then those of the relay. */
export const CLIENTS: readonly SnippetClient[] = [
  CURL,
  OPENAI_PYTHON,
  OPENAI_NODE,
  AI_SDK,
  LANGCHAIN_PYTHON,
  LANGCHAIN_JS,
  OPEN_WEBUI,
  CONTINUE,
  AIDER,
  CLAUDE_CODE,
  ANTHROPIC_PYTHON,
  ANTHROPIC_NODE,
];

export function findClient(id: string): SnippetClient | null {
  return CLIENTS.find((client) => client.id === id) ?? null;
}

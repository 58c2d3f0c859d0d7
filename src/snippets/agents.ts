import { QUESTION, toDialectUrl, toModel, type SnippetClient, type SnippetSubject } from "./client.ts";
import { toNodeSource, toPythonSource, quoteJson } from "./source.ts";

const INSTRUCTIONS = "Answer in one sentence.";
const TRACING_NOTE = "Tracing is off: it would send what is said to OpenAI's own servers, past this one.";

export const AGENTS_PYTHON: SnippetClient = {
  id: "agents-python",
  name: "OpenAI Agents SDK for Python",
  kind: "openai",
  language: "python",
  file: "example.py",
  install: "pip install openai-agents",
  snippets: {
    responses: (subject) => toPythonAgent(subject, "OpenAIResponsesModel"),
    chat: (subject) => toPythonAgent(subject, "OpenAIChatCompletionsModel"),
  },
  notes: [TRACING_NOTE],
};

export const AGENTS_NODE: SnippetClient = {
  id: "agents-node",
  name: "OpenAI Agents SDK for TypeScript",
  kind: "openai",
  language: "typescript",
  file: "example.ts",
  install: "npm install @openai/agents openai",
  snippets: {
    responses: (subject) => toNodeAgent(subject, "OpenAIResponsesModel"),
    chat: (subject) => toNodeAgent(subject, "OpenAIChatCompletionsModel"),
  },
  notes: [TRACING_NOTE],
};

export const PYDANTIC_AI: SnippetClient = {
  id: "pydantic-ai",
  name: "Pydantic AI",
  kind: "openai",
  language: "python",
  file: "example.py",
  install: "pip install pydantic-ai-slim[openai]",
  snippets: {
    responses: (subject) => toPydanticAgent(subject, "OpenAIResponsesModel"),
    chat: (subject) => toPydanticAgent(subject, "OpenAIChatModel"),
  },
  notes: [
    "OpenAIResponsesModel calls the Responses API, as the prefix openai: does; OpenAIChatModel calls chat completions.",
  ],
};

function toPythonAgent(subject: SnippetSubject, model: string): string {
  return toPythonSource(subject, {
    kind: "openai",
    imports: [
      `from agents import Agent, ${model}, Runner, set_tracing_disabled`,
      "from openai import AsyncOpenAI",
    ],
    toLines: (secret) => [
      "client = AsyncOpenAI(",
      `    base_url=${quoteJson(toDialectUrl(subject))},`,
      `    api_key=${secret},`,
      ")",
      "set_tracing_disabled(True)",
      "",
      "agent = Agent(",
      '    name="Assistant",',
      `    instructions=${quoteJson(INSTRUCTIONS)},`,
      `    model=${model}(model=${quoteJson(toModel(subject))}, openai_client=client),`,
      ")",
      `print(Runner.run_sync(agent, ${quoteJson(QUESTION)}).final_output)`,
    ],
  });
}

function toNodeAgent(subject: SnippetSubject, model: string): string {
  return toNodeSource(subject, {
    kind: "openai",
    imports: [
      `import { Agent, ${model}, run, setTracingDisabled } from "@openai/agents";`,
      'import OpenAI from "openai";',
    ],
    toLines: (secret) => [
      "const client = new OpenAI({",
      `  baseURL: ${quoteJson(toDialectUrl(subject))},`,
      `  apiKey: ${secret},`,
      "});",
      "setTracingDisabled(true);",
      "",
      "const agent = new Agent({",
      '  name: "Assistant",',
      `  instructions: ${quoteJson(INSTRUCTIONS)},`,
      `  model: new ${model}(client, ${quoteJson(toModel(subject))}),`,
      "});",
      `const result = await run(agent, ${quoteJson(QUESTION)});`,
      "console.log(result.finalOutput);",
    ],
  });
}

function toPydanticAgent(subject: SnippetSubject, model: string): string {
  return toPythonSource(subject, {
    kind: "openai",
    imports: [
      "from pydantic_ai import Agent",
      `from pydantic_ai.models.openai import ${model}`,
      "from pydantic_ai.providers.openai import OpenAIProvider",
    ],
    toLines: (secret) => [
      "provider = OpenAIProvider(",
      `    base_url=${quoteJson(toDialectUrl(subject))},`,
      `    api_key=${secret},`,
      ")",
      `agent = Agent(${model}(${quoteJson(toModel(subject))}, provider=provider))`,
      `print(agent.run_sync(${quoteJson(QUESTION)}).output)`,
    ],
  });
}

import {
  PASSAGE,
  QUESTION,
  toDialectUrl,
  toModel,
  type SnippetClient,
  type SnippetSubject,
} from "./client.ts";
import { toNodeSource, toPythonSource, quoteJson } from "./source.ts";

export const LANGCHAIN_PYTHON: SnippetClient = {
  id: "langchain-python",
  name: "LangChain for Python",
  kind: "openai",
  language: "python",
  file: "example.py",
  install: "pip install langchain-openai",
  snippets: {
    chat: (subject) => toPythonChat(subject, [`print(model.invoke(${quoteJson(QUESTION)}).content)`]),
    responses: (subject) => toPythonChat(subject, [`print(model.invoke(${quoteJson(QUESTION)}).text)`], true),
    stream: (subject) =>
      toPythonChat(subject, [
        `for chunk in model.stream(${quoteJson(QUESTION)}):`,
        '    print(chunk.content, end="", flush=True)',
        "print()",
      ]),
    embeddings: (subject) =>
      toPythonSource(subject, {
        kind: "openai",
        imports: ["from langchain_openai import OpenAIEmbeddings"],
        toLines: (secret) => [
          "embeddings = OpenAIEmbeddings(",
          `    base_url=${quoteJson(toDialectUrl(subject))},`,
          `    api_key=${secret},`,
          `    model=${quoteJson(toModel(subject))},`,
          "    check_embedding_ctx_length=False,",
          ")",
          `print(len(embeddings.embed_query(${quoteJson(PASSAGE)})))`,
        ],
      }),
  },
  notes: [
    "use_responses_api says which API it calls; without it, the model's name and its tools do.",
    "check_embedding_ctx_length=False sends text: otherwise it sends token numbers of OpenAI's own models, which other models take for something else.",
    'In reports it is OpenAI/Python; default_headers={"x-proxy-tags": "app:NAME"} tells it apart.',
  ],
};

export const LANGCHAIN_JS: SnippetClient = {
  id: "langchain-js",
  name: "LangChain for TypeScript",
  kind: "openai",
  language: "typescript",
  file: "example.ts",
  install: "npm install @langchain/openai @langchain/core",
  snippets: {
    chat: (subject) =>
      toNodeChat(subject, [
        `const answer = await model.invoke(${quoteJson(QUESTION)});`,
        "console.log(answer.text);",
      ]),
    responses: (subject) =>
      toNodeChat(
        subject,
        [`const answer = await model.invoke(${quoteJson(QUESTION)});`, "console.log(answer.text);"],
        { useResponses: true },
      ),
    stream: (subject) =>
      toNodeChat(
        subject,
        [
          `for await (const chunk of await model.stream(${quoteJson(QUESTION)})) stdout.write(chunk.text);`,
          String.raw`stdout.write("\n");`,
        ],
        { writes: true },
      ),
    embeddings: (subject) =>
      toNodeSource(subject, {
        kind: "openai",
        imports: ['import { OpenAIEmbeddings } from "@langchain/openai";'],
        toLines: (secret) => [
          "const embeddings = new OpenAIEmbeddings({",
          `  configuration: { baseURL: ${quoteJson(toDialectUrl(subject))} },`,
          `  apiKey: ${secret},`,
          `  model: ${quoteJson(toModel(subject))},`,
          "});",
          `const vector = await embeddings.embedQuery(${quoteJson(PASSAGE)});`,
          "console.log(vector.length);",
        ],
      }),
  },
  notes: ["useResponsesApi says which API it calls; without it, the model's name and its tools do."],
};

function toPythonChat(subject: SnippetSubject, call: readonly string[], useResponses = false): string {
  return toPythonSource(subject, {
    kind: "openai",
    imports: ["from langchain_openai import ChatOpenAI"],
    toLines: (secret) => [
      "model = ChatOpenAI(",
      `    base_url=${quoteJson(toDialectUrl(subject))},`,
      `    api_key=${secret},`,
      `    model=${quoteJson(toModel(subject))},`,
      `    use_responses_api=${useResponses ? "True" : "False"},`,
      ")",
      "",
      ...call,
    ],
  });
}

function toNodeChat(
  subject: SnippetSubject,
  call: readonly string[],
  { writes = false, useResponses = false } = {},
): string {
  return toNodeSource(subject, {
    kind: "openai",
    writes,
    imports: ['import { ChatOpenAI } from "@langchain/openai";'],
    toLines: (secret) => [
      "const model = new ChatOpenAI({",
      `  configuration: { baseURL: ${quoteJson(toDialectUrl(subject))} },`,
      `  apiKey: ${secret},`,
      `  model: ${quoteJson(toModel(subject))},`,
      `  useResponsesApi: ${useResponses},`,
      "});",
      "",
      ...call,
    ],
  });
}

import { DOCUMENTS, QUERY, toModel, type SnippetClient } from "./client.ts";
import { toNodeSource, toPythonSource, quoteJson } from "./source.ts";

const BASE_NOTE = "Its base URL is the address alone, without /v1: the client calls /v2/rerank.";

/** Cohere's SDKs call `/v2/rerank`, the only path of Cohere's own interface that is served: other providers have taken it over. */
export const COHERE_PYTHON: SnippetClient = {
  id: "cohere-python",
  name: "Cohere SDK for Python",
  kind: "messages",
  language: "python",
  file: "example.py",
  install: "pip install cohere",
  snippets: {
    rerank: (subject) =>
      toPythonSource(subject, {
        kind: "messages",
        imports: ["import cohere"],
        toLines: (secret) => [
          "client = cohere.ClientV2(",
          `    base_url=${quoteJson(subject.origin)},`,
          `    api_key=${secret},`,
          ")",
          "answer = client.rerank(",
          `    model=${quoteJson(toModel(subject))},`,
          `    query=${quoteJson(QUERY)},`,
          `    documents=${JSON.stringify(DOCUMENTS).replaceAll('","', '", "')},`,
          ")",
          "print(answer.results[0].index)",
        ],
      }),
  },
  notes: [BASE_NOTE],
};

export const COHERE_NODE: SnippetClient = {
  id: "cohere-node",
  name: "Cohere SDK for TypeScript",
  kind: "messages",
  language: "typescript",
  file: "example.ts",
  install: "npm install cohere-ai",
  snippets: {
    rerank: (subject) =>
      toNodeSource(subject, {
        kind: "messages",
        imports: ['import { CohereClientV2 } from "cohere-ai";'],
        toLines: (secret) => [
          "const client = new CohereClientV2({",
          `  environment: ${quoteJson(subject.origin)},`,
          `  token: ${secret},`,
          "});",
          "const answer = await client.rerank({",
          `  model: ${quoteJson(toModel(subject))},`,
          `  query: ${quoteJson(QUERY)},`,
          `  documents: ${JSON.stringify(DOCUMENTS).replaceAll('","', '", "')},`,
          "});",
          "console.log(answer.results[0]?.index);",
        ],
      }),
  },
  notes: [BASE_NOTE],
};

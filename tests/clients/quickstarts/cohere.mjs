/** Cohere's SDK for TypeScript: rerank on both of its paths. */
import { CohereClient, CohereClientV2 } from "cohere-ai";
import { env } from "node:process";

const options = { environment: env.CO_API_URL, token: env.CO_API_KEY };

async function rerank(client) {
  const { results } = await client.rerank({ model: env.RERANK, query: "which", documents: ["one", "two"] });
  return results.map(({ index }) => index);
}

console.log(
  JSON.stringify({
    "rerank v1": await rerank(new CohereClient(options)),
    "rerank v2": await rerank(new CohereClientV2(options)),
  }),
);

import { Type } from "@sinclair/typebox";
import { route, type Route } from "#http/door/route.ts";

const Document = Type.Object({}, { additionalProperties: true, description: "An OpenAPI 3.1 document." });

/** `GET /openapi.json`, public (decisions, "Sign-in"). `findRoutes` is asked by the first request: it knows every route. */
export function openApiRoutes(findRoutes: () => readonly Route[]) {
  let text: string | null = null;
  return [
    route({
      method: "GET",
      path: "/openapi.json",
      tag: "Operation",
      access: "public",
      summary: "This document",
      answer: {
        status: 200,
        description: "The document.",
        contents: [{ type: "application/json", schema: Document }],
      },
      infallible: true,
      run: async () => {
        text ??= await makeText(findRoutes());
        return new Response(text, { headers: { "content-type": "application/json" } });
      },
    }),
  ] as const;
}

/** Loaded and made for the first request: a start does not pay for it. */
async function makeText(routes: readonly Route[]): Promise<string> {
  const { toOpenApiDocument } = await import("./document.ts");
  return JSON.stringify(toOpenApiDocument(routes));
}

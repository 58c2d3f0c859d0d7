import { Type } from "@sinclair/typebox";
import { Elysia } from "elysia";
import type { Guard } from "#http/door/guard.ts";
import { route, type Route } from "#http/door/route.ts";

const Document = Type.Object({}, { additionalProperties: true, description: "An OpenAPI 3.1 document." });

/** `GET /openapi.json`, public (decisions, "Sign-in"). `findRoutes` is asked by the first request: it knows every route. */
export function openApiRoutes(guard: Guard, findRoutes: () => readonly Route[]) {
  let text: string | null = null;
  return new Elysia({ tags: ["Operation"] }).use(guard).get(
    "/openapi.json",
    async () => {
      text ??= await makeText(findRoutes());
      return new Response(text, { headers: { "content-type": "application/json" } });
    },
    route({
      access: "public",
      summary: "This document",
      answer: {
        status: 200,
        description: "The document.",
        contents: [{ type: "application/json", schema: Document }],
      },
      infallible: true,
    }),
  );
}

/** Loaded and made for the first request: a start does not pay for it. */
async function makeText(routes: readonly Route[]): Promise<string> {
  const { toOpenApiDocument } = await import("./document.ts");
  return JSON.stringify(toOpenApiDocument(routes));
}

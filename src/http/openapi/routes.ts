import { Elysia } from "elysia";
import type { Guard } from "#http/door/guard.ts";

/** `GET /openapi.json`, public (decisions, "Sign-in"). */
export function openApiRoutes(guard: Guard) {
  let text: string | null = null;
  return new Elysia().use(guard).get(
    "/openapi.json",
    async () => {
      text ??= await loadText();
      return new Response(text, { headers: { "content-type": "application/json" } });
    },
    { public: true },
  );
}

/** Loaded and made when somebody asks first: a start does not pay for it. */
async function loadText(): Promise<string> {
  const { toOpenApiDocument } = await import("./document.ts");
  return JSON.stringify(toOpenApiDocument());
}

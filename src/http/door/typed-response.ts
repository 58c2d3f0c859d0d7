import { Type, type Static, type TSchema } from "@sinclair/typebox";

/**
 * What a route answers whose handler returns a ready `Response`, told to typed clients: `readyMade<typeof UsageSeries>()`.
 * It holds no rule of its own, so that no schema is loaded, compiled or run for it.
 */
export function readyMade<Schema extends TSchema>() {
  return Type.Unsafe<Static<Schema>>(Type.Any());
}

import { Elysia } from "elysia";
import type { Actor } from "#audit/event.ts";
import type { Caller } from "#identity/caller.ts";
import { type BodyOwner, toBodyLimits, toPublicLimits } from "./body.ts";
import type { BodyMemory } from "./body-memory.ts";
import type { BodyLimits } from "./body-reader.ts";
import type { Door } from "./door.ts";
import { readJsonBody } from "./json-body.ts";

/**
 * The plugin that every controller uses. A declared route (`route`) has `public: true`, or `access: "caller" | "admin"` and
 * then a `caller` in its handler. Elysia reads and validates a body before any handler runs, so the caller is asked in the
 * parse hook, before the first byte of the body is read; methods without a body are asked in the transform hook.
 */
export function createGuard(door: Door, bodyBytesMax: number, memory: BodyMemory) {
  const limits = toBodyLimits(bodyBytesMax);
  const publicLimits = toPublicLimits(bodyBytesMax);
  const admitted = new WeakMap<Request, Caller>();
  const admit = async (request: Request, access: "caller" | "admin"): Promise<Caller> => {
    const known = admitted.get(request);
    if (known !== undefined) return known;
    const caller = await door.admit(request, access);
    admitted.set(request, caller);
    return caller;
  };
  return new Elysia({ name: "guard" }).macro({
    public: {
      parse: async ({ request }) => {
        door.checkBrowser(request);
        return await readBodyOf(request, publicLimits, { memory, owner: NOBODY });
      },
    },
    access: (access: "caller" | "admin") => ({
      parse: async ({ request }) => {
        const { principal } = await admit(request, access);
        return await readBodyOf(request, limits, { memory, owner: principal.name });
      },
      transform: async ({ request }) => {
        await admit(request, access);
      },
      resolve: async ({ request }) => ({ caller: await admit(request, access) }),
    }),
  });
}

export type Guard = ReturnType<typeof createGuard>;

/** Who an audit entry names. */
export function toActor({ principal }: Pick<Caller, "principal">): Actor {
  return { principalId: principal.id };
}

/** Whose the bodies of routes without credentials are; no principal has this name, and none of these bodies is large. */
const NOBODY = "";

/** A DELETE has no body of meaning: whatever comes with it is left unread. */
async function readBodyOf(request: Request, limits: BodyLimits, from: BodyOwner): Promise<unknown> {
  return request.method === "DELETE" ? {} : await readJsonBody(request, limits, from);
}

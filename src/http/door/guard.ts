import { Elysia } from "elysia";
import type { Actor } from "#audit/event.ts";
import type { Caller } from "#identity/caller.ts";
import type { SecretMaker } from "#identity/keys.ts";
import { toTermSetter } from "#identity/secret.ts";
import { JSON_BODY_BYTES_MAX, type BodyOwner, toBodyLimits, toPublicLimits } from "./body.ts";
import type { BodyMemory } from "./body-memory.ts";
import type { BodyLimits } from "./body-reader.ts";
import { type Admission, type Door, isMutation } from "./door.ts";
import { readJsonBody } from "./json-body.ts";
import type { AnswerHeaders, ServedRoute } from "./route.ts";
import { requireKnownQuery } from "./switch.ts";

export interface GuardDeps {
  readonly door: Door;
  readonly memory: BodyMemory;
  readonly maxBodyBytes: number;
  /** The id of the re-pricing that is changing costs; null where none is. */
  readonly findRepricing: () => string | null;
  /** The answer to whatever is thrown, also where no route was found. */
  readonly answerFailure: (failure: unknown, code: unknown, request: Request) => Response;
}

/**
 * Puts routes behind Elysia's router and validation. It reads and validates a body before any `run`, so a caller is asked for in
 * the parse hook, before the first byte of the body is read; methods without a body are asked in the transform hook.
 */
export function serveRoutes(routes: readonly ServedRoute[], deps: GuardDeps) {
  const { door, memory, maxBodyBytes, answerFailure } = deps;
  const admitted = new WeakMap<Request, Caller>();
  const admit = async (request: Request, access: Admission): Promise<Caller> => {
    const known = admitted.get(request);
    if (known !== undefined) return known;
    const caller = await door.admit(request, access);
    admitted.set(request, caller);
    return caller;
  };
  // `normalize` would drop unknown fields in silence, and the host is cut off the URL by its first slash, not by a guess.
  const elysia = new Elysia({ normalize: false, strictPath: true, handler: { standardHostname: false } });
  // First, since a hook applies only to the routes that come after it.
  elysia.onError(({ error, code, request }) => answerFailure(error, code, request));
  for (const {
    method,
    path,
    access,
    scope,
    body: schema,
    bodyBytesMax,
    check,
    answer,
    run,
    ...route
  } of routes) {
    const bytesMax = Math.min(maxBodyBytes, bodyBytesMax ?? JSON_BODY_BYTES_MAX);
    const limits = access === "public" ? toPublicLimits(bytesMax) : toBodyLimits(bytesMax);
    const enter = async (request: Request): Promise<Caller | null> => {
      if (access === "public") return null;
      return await admit(request, scope ?? access);
    };
    elysia.route(
      method,
      path,
      async ({ request, params, query, body, set }) => {
        const headers: AnswerHeaders = {};
        const caller = await enter(request);
        if (isMutation(method) && route.query !== undefined) requireKnownQuery(request, route.query);
        const answered = await run({ request, params, query, body, caller, headers });
        Object.assign(set.headers, headers);
        if (!(answered instanceof Response)) set.status = answer.status;
        else if (answer.headers?.includes(REPRICING) === true) noteRepricing(answered, deps.findRepricing());
        return answered;
      },
      {
        parse: async ({ request }) => {
          check?.();
          const caller = await enter(request);
          if (caller === null) door.checkBrowser(request);
          return await readBodyOf(request, limits, { memory, owner: caller?.principal.name ?? NOBODY });
        },
        transform: async ({ request }) => {
          await enter(request);
        },
        ...(schema !== undefined && { body: schema }),
      },
    );
  }
  return elysia;
}

const REPRICING = "x-proxy-repricing";

function noteRepricing({ headers }: Response, id: string | null): void {
  if (id !== null) headers.set(REPRICING, id);
}

/** Who an audit entry names. */
export function toActor({ principal }: Pick<Caller, "principal">): Actor {
  return { principalId: principal.id };
}

/** The role in which a caller sets terms, and the key by which. */
export function toMaker({ principal, credential }: Caller): SecretMaker {
  return { setter: toTermSetter(principal), key: credential.kind === "key" ? credential.key : null };
}

/** Whose the bodies of routes without credentials are; no principal has this name, and none of these bodies is large. */
const NOBODY = "";

/** A DELETE has no body of meaning: whatever comes with it is left unread. */
async function readBodyOf(request: Request, limits: BodyLimits, from: BodyOwner): Promise<unknown> {
  return request.method === "DELETE" ? {} : await readJsonBody(request, limits, from);
}

import { expect } from "bun:test";
import type { Route } from "#http/door/route.ts";
import type { Credential } from "./auth-credentials.ts";
import { expectError } from "./support.ts";

/**
 * What each cell of the matrix of routes and credentials has to be, told here by path, from the specification, and not by
 * what the routes declare.
 */

const NOTHING = "nothing";

/** A refusal's code, or what a route says to whoever is let in. */
export type Expected = { readonly status: number; readonly code: string | null };

const STATUS: { readonly [code: string]: number } = {
  missing_api_key: 401,
  invalid_api_key: 401,
  admin_required: 403,
  scope_required: 403,
  cross_origin_rejected: 403,
};
export const refused = (code: string): Expected => ({ status: STATUS[code] ?? 404, code });

const isDataPlane = (path: string) =>
  path === "/v2/rerank" ||
  /^(\/v1)?\/(chat\/completions|completions|embeddings|responses(\/compact|\/input_tokens|\/:id(\/cancel|\/input_items)?)?|messages(\/count_tokens)?|audio\/(transcriptions|translations|speech)|images\/(generations|edits)|moderations|rerank)$/.test(
    path,
  );

/** The routes that want a caller, and that a key of scope inference reaches. */
const isForInference = (path: string) =>
  isDataPlane(path) || path === "/my/limits" || /^\/my\/(usage|requests)(\/|$)/.test(path);

/** Who may call a path, by the specification's sections 4 and 5. */
export function audienceOf(path: string): "public" | "caller" | "admin" | "relay" {
  if (path.startsWith("/admin/v1/") || path.startsWith("/model/")) return "admin";
  if (path.startsWith("/my/") || path.startsWith("/stats/")) return "caller";
  if (isDataPlane(path)) return "caller";
  if (path.startsWith("/transparent/messages/")) return "relay";
  if (path.startsWith("/auth/") || /^(\/v1)?\/models$/.test(path)) return "public";
  if (["/healthz", "/metrics", "/openapi.json", "/*"].includes(path)) return "public";
  throw new Error(`no rule says who may call ${path}`);
}

/**
 * What a route answers to whoever is let in, of things that do not exist or of a body that is no object; `completion` is
 * what the data plane says of such a body.
 */
function answerOf({ method, path }: Route, completion: Expected): Expected {
  if (path === "/auth/login" || path === "/auth/callback") return { status: 404, code: "sso_not_configured" };
  if (path === "/auth/logout") return { status: 303, code: null };
  if (path.includes("/responses/:id") && completion.code !== null)
    return { status: 404, code: "response_not_found" };
  if (/\/audio\/trans/.test(path) && completion.code !== null)
    return { status: 400, code: "invalid_multipart" };
  if (isDataPlane(path)) return completion;
  if (path.startsWith("/transparent/")) return { status: 200, code: null };
  if (path === "/admin/v1/notices/test") return { status: 404, code: "notices_not_configured" };
  if (method === "POST" || method === "PATCH") return { status: 400, code: "invalid_request" };
  if (path === "/admin/v1/resolve") return { status: 400, code: "model_required" };
  if (!path.includes(":")) return { status: 200, code: null };
  const [, kind = ""] =
    /\/(provider|model|principal|key|relay-token|limit|request|repricing|schedule)s?\/:/.exec(path) ?? [];
  return { status: 404, code: `${kind.replace("-", "_")}_not_found` };
}

export function expectedOf(route: Route, { worth, foreign }: Credential, completion: Expected): Expected {
  const answer = answerOf(route, completion);
  const audience = audienceOf(route.path);
  // Section 5, point 8, and 4.5: only the token in the path counts there.
  if (audience === "relay") return answer;
  if (audience === "public") {
    // Of all that is public only the sign-in asks where it comes from, whatever comes with it.
    return route.method === "POST" && foreign !== null ? refused("cross_origin_rejected") : answer;
  }
  if (worth === "missing_api_key" || worth === "invalid_api_key") return refused(worth);
  if (worth === "former") return isDataPlane(route.path) ? answer : refused("invalid_api_key");
  if (worth === "inference" && !isForInference(route.path)) return refused("scope_required");
  if (audience === "admin" && worth === "member") return refused("admin_required");
  if (foreign === "by session" && route.method !== "GET") return refused("cross_origin_rejected");
  return answer;
}

export function toPath({ path }: Route, token: string): string {
  return path
    .replace(":token", token)
    .replaceAll(/:[a-z]+/g, NOTHING)
    .replace("*", NOTHING);
}

/** A request of a cell: `token` stands in the relay's path. */
export function sendCell(
  url: string,
  route: Route,
  headers: Record<string, string>,
  token: string,
): Promise<Response> {
  const hasBody = route.method !== "GET" && route.method !== "HEAD";
  return fetch(url + toPath(route, token), {
    method: route.method,
    redirect: "manual",
    headers: { "content-type": "application/json", ...headers },
    ...(hasBody && { body: "[]" }),
  });
}

export async function expectCell(
  cell: string,
  response: Response,
  expected: Expected,
  isHead = false,
): Promise<void> {
  const text = await response.text();
  const code = isHead || response.status < 400 ? null : JSON.parse(text).error.code;
  expect({ cell, status: response.status, code }).toEqual({
    cell,
    ...expected,
    ...(isHead && { code: null }),
  });
  if (code === null) return;
  const { status, headers } = response;
  await expectError(new Response(text, { status, headers }), `${status} ${code}`);
}

/** Routes that end a session come last. */
export const inOrder = (routes: readonly Route[]): readonly Route[] =>
  routes.toSorted(
    (one, other) => Number(one.path === "/auth/logout") - Number(other.path === "/auth/logout"),
  );

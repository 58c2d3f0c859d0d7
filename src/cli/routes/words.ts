import type { Route } from "#http/door/route.ts";

/** Nouns of paths that commands call otherwise. */
const NOUNS: { readonly [part: string]: string } = {
  providers: "provider",
  models: "model",
  principals: "principal",
  keys: "key",
  "relay-tokens": "relay-token",
  limits: "limit",
  notices: "notice",
};

/** What a request does, where its path has no word for it. */
const VERBS: { readonly [method: string]: string } = {
  POST: "create",
  PATCH: "set",
  PUT: "put",
  DELETE: "delete",
};

/** A command's words and arguments out of a route: `GET /my/keys` is `my keys list`, `POST /my/keys/:id/rotate` is `my keys rotate <id>`. */
export function toUsage(route: Pick<Route, "method" | "path">, routes: readonly Route[]): string {
  const path = route.path.replace(/^\/(?:admin\/v1|stats)(?=\/)/, "");
  const parts = path.split("/").filter((part) => part !== "");
  const isArgument = (part: string) => part.startsWith(":");
  const words = parts.filter((part) => !isArgument(part));
  const args = parts.filter(isArgument).map((part) => `<${part.slice(1)}>`);
  const [noun = "", ...rest] = words;
  return [NOUNS[noun] ?? noun, ...rest, ...toVerb(route, routes), ...args].join(" ");
}

function toVerb(
  { method, path }: Pick<Route, "method" | "path">,
  routes: readonly Route[],
): readonly string[] {
  const last = path.split("/").at(-1) ?? "";
  const isOfOne = last.startsWith(":");
  const others = routes.filter((each) => each.path === path && each.method !== method);
  if (method === "GET") {
    if (isOfOne) return ["show"];
    if (others.length > 0) return ["list"];
    return routes.some((each) => each.path.startsWith(`${path}/`)) ? ["show"] : [];
  }
  // The last word of `/keys/:id/rotate` says what is done.
  const isAction = method === "POST" && !others.some((each) => each.method === "GET");
  return isAction ? [] : [VERBS[method] ?? method.toLowerCase()];
}

import { ProxyError } from "#kernel/errors.ts";
import type { Route } from "./route.ts";

/** Knows which paths exist, to say what is wrong with one that does not. */
export interface PathIndex {
  /** 404 `unknown_endpoint` with a hint. Names only paths and methods of our own, never what was sent. */
  toUnknownEndpoint(pathname: string): ProxyError;
  /** Tells whether a GET of this path shows the web page: it is neither served otherwise nor under a prefix of the interface. */
  isPagePath(pathname: string): boolean;
}

/** Nothing under these is ever a page (decisions, "Data plane"). */
const INTERFACE_PREFIXES = ["v1", "my", "stats", "admin", "auth", "model", "transparent"] as const;

/** First segments under `/v1` that the OpenAI API has and this interface does not serve (specification, section 1). */
const UNSUPPORTED_OPENAI_PATHS = [
  "assistants",
  "audio",
  "batches",
  "chatkit",
  "containers",
  "conversations",
  "evals",
  "files",
  "fine_tuning",
  "images",
  "moderations",
  "organization",
  "realtime",
  "responses",
  "threads",
  "uploads",
  "vector_stores",
  "videos",
] as const;

/** For every client: several call it unless they are told otherwise, each by a setting of its own. */
const RESPONSES_HINT =
  "The Responses API (/v1/responses) is not supported; use chat completions (POST /v1/chat/completions). Setup on the page, and `lockport snippet`, show how to set a client to it.";
const MESSAGES_HINT =
  "/v1/messages is not supported; clients of the messages API use /transparent/messages/{relay token} as their base URL.";

export function createPathIndex(routes: readonly Pick<Route, "method" | "path">[]): PathIndex {
  const patterns = routes
    .filter(({ path }) => !path.includes("*"))
    .map(({ method, path }) => ({ method, path, steps: path.split("/") }));
  const dialect = patterns.filter(({ path }) => path.startsWith("/v1/"));

  /** Methods that are served at this path, in alphabetical order; a catch-all route does not count. */
  const methodsAt = (pathname: string): readonly string[] => {
    const steps = pathname.split("/");
    const methods = patterns.filter((pattern) => matches(pattern.steps, steps)).map(({ method }) => method);
    return [...new Set(methods)].sort();
  };
  const isServed = (pathname: string) => methodsAt(pathname).length > 0;

  /** Names a route whose path looks much like this one. */
  const describeNear = (pathname: string): string | null => {
    const [first = "", ...rest] = pathname.split("/").slice(1);
    const tidy = pathname.replaceAll(/\/{2,}/g, "/").replace(/\/$/, "");
    if (tidy !== pathname && isServed(tidy)) return "it has a slash too many.";
    if (isServed(`/v1${pathname}`)) return "the /v1 prefix seems to be missing.";
    if (first === "v1" && isServed(`/${rest.join("/")}`)) return "it has a /v1 too many at its front.";
    if (first === "admin" && isServed(`/admin/v1/${rest.join("/")}`))
      return "the prefix of the admin API is /admin/v1.";
    if (pathname.startsWith("/admin/v1/models/")) return "a / in an alias is written as %2F in a path.";
    if (first !== "v1" && isInterfacePrefix(first)) return null;

    // A client was given too much, or something else, as its base URL: `…/v1/chat/completions/chat/completions`.
    const longer = dialect.find(({ path }) => pathname.endsWith(path.slice("/v1".length)));
    if (longer !== undefined)
      return "the base URL of a client is the address of this server and /v1, and nothing more.";
    const start = first === "v1" ? `${pathname}/` : `/v1${pathname}/`;
    const shorter = dialect.find(({ path }) => path.startsWith(start));
    return shorter === undefined ? null : `${shorter.method} ${shorter.path} is one.`;
  };

  const describe = (pathname: string): string => {
    const methods = methodsAt(pathname);
    if (methods.length > 0) return `This path answers ${methods.join(", ")} only.`;
    const steps = pathname.split("/").slice(1);
    const name = steps[0] === "v1" ? steps[1] : steps[0];
    if (name === "responses") return RESPONSES_HINT;
    if (name === "messages") return MESSAGES_HINT;
    const openAiPath = UNSUPPORTED_OPENAI_PATHS.find((path) => path === name);
    if (openAiPath !== undefined) return `The OpenAI endpoints under /v1/${openAiPath} are not supported.`;
    if (name === "models" && steps.at(-1) !== "")
      return "GET /v1/models lists the models; there is no endpoint for one of them.";
    const near = describeNear(pathname);
    return near === null ? "There is no such endpoint." : `There is no such endpoint; ${near}`;
  };

  return {
    toUnknownEndpoint: (pathname) => new ProxyError("unknown_endpoint", describe(pathname)),
    // A slash too many at the front makes a path of the interface no page: its clients do not read HTML.
    isPagePath: (pathname) =>
      !isServed(pathname) && !isInterfacePrefix(pathname.replace(/^\/+/, "").split("/")[0] ?? ""),
  };
}

function isInterfacePrefix(step: string): boolean {
  return INTERFACE_PREFIXES.some((prefix) => prefix === step);
}

function matches(pattern: readonly string[], steps: readonly string[]): boolean {
  if (pattern.length !== steps.length) return false;
  return pattern.every((step, index) => (step.startsWith(":") ? steps[index] !== "" : step === steps[index]));
}

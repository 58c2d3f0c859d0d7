import { ProxyError } from "#kernel/errors.ts";
import type { RouteEntry } from "./guard.ts";

/** Knows which paths exist, to say what is wrong with one that does not. */
export interface PathIndex {
  /** 404 `unknown_endpoint` with a hint. Names only paths and methods of our own, never what was sent. */
  toUnknownEndpoint(pathname: string): ProxyError;
  /** Whether a GET of this path shows the web page: it is neither served otherwise nor under a prefix of the interface. */
  isPagePath(pathname: string): boolean;
}

/** Nothing under these is ever a page (decisions, "Data plane"). */
const INTERFACE_PREFIXES = ["v1", "my", "stats", "admin", "auth", "model", "transparent"] as const;

/** What the OpenAI API has and this interface does not serve (specification, section 1), by first segments under `/v1`. */
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
  "messages",
  "moderations",
  "organization",
  "realtime",
  "responses",
  "threads",
  "uploads",
  "vector_stores",
  "videos",
] as const;

export function createPathIndex(routes: readonly Pick<RouteEntry, "method" | "path">[]): PathIndex {
  const patterns = routes
    .filter(({ path }) => !path.includes("*"))
    .map(({ method, path }) => ({ method, steps: path.split("/") }));

  /** Methods that are served at this path, in alphabetical order; a catch-all route does not count. */
  const methodsAt = (pathname: string): readonly string[] => {
    const steps = pathname.split("/");
    const methods = patterns.filter((pattern) => matches(pattern.steps, steps)).map(({ method }) => method);
    return [...new Set(methods)].sort();
  };

  const describe = (pathname: string): string => {
    const methods = methodsAt(pathname);
    if (methods.length > 0) return `This path answers ${methods.join(", ")} only.`;
    const steps = pathname.split("/").slice(1);
    const openAiPath = UNSUPPORTED_OPENAI_PATHS.find(
      (path) => path === (steps[0] === "v1" ? steps[1] : steps[0]),
    );
    if (openAiPath !== undefined) return `The OpenAI endpoints under /v1/${openAiPath} are not supported.`;
    if (steps[0] === "v1" && steps[1] === "models")
      return "GET /v1/models lists the models; there is no endpoint for one of them.";
    if (methodsAt(`/v1${pathname}`).length > 0)
      return "There is no such endpoint; the /v1 prefix seems to be missing.";
    if (steps[0] === "admin" && methodsAt(`/admin/v1/${steps.slice(1).join("/")}`).length > 0) {
      return "There is no such endpoint; the prefix of the admin API is /admin/v1.";
    }
    if (pathname.startsWith("/admin/v1/models/"))
      return "There is no such endpoint; a / in an alias is written as %2F in a path.";
    return "There is no such endpoint.";
  };

  return {
    toUnknownEndpoint: (pathname) => new ProxyError("unknown_endpoint", describe(pathname)),
    isPagePath: (pathname) =>
      methodsAt(pathname).length === 0 &&
      !INTERFACE_PREFIXES.some((prefix) => prefix === pathname.split("/")[1]),
  };
}

function matches(pattern: readonly string[], steps: readonly string[]): boolean {
  if (pattern.length !== steps.length) return false;
  return pattern.every((step, index) => (step.startsWith(":") ? steps[index] !== "" : step === steps[index]));
}

import type { Capability } from "#catalog/capability.ts";
import { ENDPOINT_NAMES, toPaths, toRow } from "#catalog/endpoint.ts";
import { toAddCommand } from "#catalog/resolve.ts";
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
  "batches",
  "chatkit",
  "containers",
  "conversations",
  "evals",
  "files",
  "fine_tuning",
  "organization",
  "realtime",
  "threads",
  "uploads",
  "vector_stores",
  "videos",
] as const;

/** Other ways for the clients that call it, which several do unless they are told otherwise. */
const IN_PLACE_OF: { readonly [capability in Capability]?: string } = {
  responses:
    " Until then use chat completions (POST /v1/chat/completions): `lockport snippet` shows how to set a client to it.",
  messages:
    " With a credential of the messages API of their own, clients use /transparent/messages/{relay token} as their base URL.",
};

/** `findOpen`: what models can do at the moment; a path that opens with something else is unknown. */
export function createPathIndex(
  routes: readonly Pick<Route, "method" | "path" | "opensWith">[],
  findOpen: () => ReadonlySet<Capability>,
): PathIndex {
  const known = routes
    .filter(({ path }) => !path.includes("*"))
    .map(({ method, path, opensWith }) => ({ method, path, opensWith, steps: path.split("/") }));
  const listOpen = () => {
    const open = findOpen();
    return known.filter(({ opensWith }) => opensWith === undefined || open.has(opensWith));
  };
  /** Why a path is unknown that a capability would open; null for any other. */
  const describeClosed = (pathname: string): string | null => {
    const steps = pathname.split("/");
    const name = ENDPOINT_NAMES.find((endpoint) =>
      toPaths(endpoint).some((path) => matches(path.split("/"), steps)),
    );
    if (name === undefined) return null;
    const { path, capability, isAlwaysOpen } = toRow(name);
    if (isAlwaysOpen === true || findOpen().has(capability)) return null;
    return `/v1${path} is not supported until a model has the capability ${capability}. An admin opens it: \`${toAddCommand("NAME", [capability])}\`, or Models on the page.${IN_PLACE_OF[capability] ?? ""}`;
  };

  const listServed = () => {
    const served = listOpen().filter(({ path }) => path.startsWith("/v1/"));
    return `Served are ${served.map(({ method, path }) => `${method} ${path}`).join(", ")}.`;
  };

  /** A path beside those of the table, such as `/v1/audio/voices`; null where the table has none that begins so. */
  const describeBeside = (first: string | undefined): string | null => {
    const rows = ENDPOINT_NAMES.map(toRow).filter(
      ({ path, isAlwaysOpen }) => isAlwaysOpen !== true && path.split("/")[1] === first,
    );
    if (rows.length === 0) return null;
    const open = findOpen();
    const closed = new Set(rows.map(({ capability }) => capability).filter((one) => !open.has(one)));
    const opening = [...closed].map(
      (capability) => ` \`${toAddCommand("NAME", [capability])}\` opens POST /v1${toRow(capability).path}.`,
    );
    return `There is no such endpoint under /v1/${first}.${opening.join("")} ${listServed()}`;
  };

  /** Methods that are served at this path, in alphabetical order; a catch-all route does not count. */
  const methodsAt = (pathname: string): readonly string[] => {
    const steps = pathname.split("/");
    const methods = listOpen()
      .filter((pattern) => matches(pattern.steps, steps))
      .map(({ method }) => method);
    return [...new Set(methods)].sort();
  };
  /** A path of the data plane that a browser navigates to shows the page, as `/models` does. */
  const isNavigable = (pathname: string) =>
    listOpen().some(
      ({ method, opensWith, steps }) =>
        method === "GET" && opensWith !== undefined && matches(steps, pathname.split("/")),
    );
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
    const dialect = listOpen().filter(({ path }) => path.startsWith("/v1/"));
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
    const closed = describeClosed(pathname);
    if (closed !== null) return closed;
    const openAiPath = UNSUPPORTED_OPENAI_PATHS.find((path) => path === name);
    if (openAiPath !== undefined) {
      return `The OpenAI endpoints under /v1/${openAiPath} are not supported. ${listServed()}`;
    }
    const beside = describeBeside(name);
    if (beside !== null) return beside;
    if (name === "models" && steps.at(-1) !== "")
      return "GET /v1/models lists the models; there is no endpoint for one of them.";
    const near = describeNear(pathname);
    return near === null ? "There is no such endpoint." : `There is no such endpoint; ${near}`;
  };

  return {
    toUnknownEndpoint: (pathname) => new ProxyError("unknown_endpoint", describe(pathname)),
    // A slash too many at the front makes a path of the interface no page: its clients do not read HTML.
    isPagePath: (pathname) =>
      (!isServed(pathname) || isNavigable(pathname)) &&
      !isInterfacePrefix(pathname.replace(/^\/+/, "").split("/")[0] ?? ""),
  };
}

function isInterfacePrefix(step: string): boolean {
  return INTERFACE_PREFIXES.some((prefix) => prefix === step);
}

function matches(pattern: readonly string[], steps: readonly string[]): boolean {
  if (pattern.length !== steps.length) return false;
  return pattern.every((step, index) => (step.startsWith(":") ? steps[index] !== "" : step === steps[index]));
}

import { toTemplate } from "#http/openapi/document.ts";
import type { Route } from "#http/door/route.ts";
import { ALICE_KEY, ID, OWN_KEY, PASSWORD, PROVIDER, RELAY_TOKEN } from "#http/schemas/examples.ts";
import type { TestApp } from "../support/app.ts";
import { openApi, ROUTES } from "./openapi-reader.ts";

/** Made-up names of the examples, and what the server gave out in their place. */
const MADE_UP: ReadonlySet<string> = new Set([...Object.values(ID), OWN_KEY, ALICE_KEY, RELAY_TOKEN]);

/** Sends the examples of the document as they stand, each id and secret replaced by the one that an earlier answer gave. */
export function createReplay(app: TestApp, upstreamBaseUrl: string) {
  const real = new Map<string, string>([
    [PROVIDER.base_url, upstreamBaseUrl],
    [PASSWORD, app.adminPassword],
  ]);
  const translate = (text: string) => {
    let translated = text;
    for (const [madeUp, given] of real) translated = translated.replaceAll(madeUp, given);
    return translated;
  };
  /** Both are answers of one shape. */
  const learn = (example: unknown, answer: unknown): void => {
    if (typeof example === "string" && typeof answer === "string") {
      if (MADE_UP.has(example)) real.set(example, answer);
    } else if (typeof example === "object" && example !== null) {
      for (const [name, value] of Object.entries(example)) learn(value, (answer as any)?.[name]);
    }
  };
  return {
    real,
    learn,
    /** `change` adds to the example's own body. */
    send(operation: Route, headers: Record<string, string> = {}, change?: object): Promise<Response> {
      const { body, bodyType, params = {}, query = [] } = operation;
      const path = toTemplate(operation).replaceAll(/\{([a-z]+)\}/g, (_, name) => params[name]!);
      const asked = query.flatMap(({ name, example }) =>
        example === undefined ? [] : [`${name}=${encodeURIComponent(example)}`],
      );
      return fetch(app.url + translate(asked.length === 0 ? path : `${path}?${asked.join("&")}`), {
        method: operation.method,
        redirect: "manual",
        headers: {
          ...(operation.access !== "relay" && { authorization: `Bearer ${app.adminKey}` }),
          "user-agent": "replay/1",
          "x-proxy-tags": "app:replay",
          ...(body !== undefined && bodyType === undefined && { "content-type": "application/json" }),
          ...headers,
        },
        ...(body !== undefined && {
          body:
            bodyType === undefined
              ? translate(JSON.stringify({ ...(operation.example as object), ...change }))
              : toForm({ ...(operation.example as object), ...change }),
        }),
      });
    },
  };
}

/** Each member is a part; what is called by the name of a file is one. */
export function toForm(example: object): FormData {
  const form = new FormData();
  for (const [name, value] of Object.entries(example)) {
    const isFile = typeof value === "string" && /\.[a-z]+$/.test(value);
    form.append(name, isFile ? new File(["content"], value) : String(value));
  }
  return form;
}

/** What is made comes before what is read, that before what is changed, and what is deleted comes last. */
export function inOrderOfALife(): readonly Route[] {
  const rank = ({ method, path, access }: Route) => {
    if (access === "relay") return 2;
    // Before its model is renamed.
    if (method === "DELETE" && path.endsWith("/responses/:id")) return 3.5;
    if (method === "POST")
      return /delete$|revoke/.test(path) ? 5 : path.startsWith("/admin") || path === "/model/new" ? 0 : 1;
    if (method === "GET") return 3;
    if (method === "PATCH") return 4;
    // Those take others with them.
    return /providers|principals/.test(path) ? 7 : 6;
  };
  return [...ROUTES].sort((one, other) => rank(one) - rank(other));
}

/** Where the document speaks of it. */
export function stepsOf(operation: Route): readonly string[] {
  return ["paths", toTemplate(operation), operation.method.toLowerCase()];
}

/** The document's own object for an operation. */
export function findOperation(operation: Route): any {
  return stepsOf(operation).reduce((place, step) => place[step], openApi);
}

export function nameOf({ method, path }: Pick<Route, "method" | "path">): string {
  return `${method} ${path}`;
}

/** The input of a route's call. */
export interface RouteInput {
  /** The values of the path's parameters, as they are: names may hold slashes. */
  readonly params?: { readonly [name: string]: string };
  /** Undefined values are left out; a list is one parameter for each of its texts. */
  readonly query?: QueryParams | undefined;
  /** Becomes JSON. */
  readonly body?: unknown;
  readonly headers?: { readonly [name: string]: string };
  readonly signal?: AbortSignal | undefined;
}

export interface QueryParams {
  readonly [name: string]: string | number | readonly string[] | undefined;
}

/** `PATCH /my/keys/:id` with its input → the address, without an origin, and what `fetch` takes beside it. */
export function toRouteRequest(
  route: string,
  { params = {}, query = {}, body, headers, signal }: RouteInput,
) {
  const [method = "", path = ""] = route.split(" ", 2);
  const steps = path
    .split("/")
    .map((step) => (step.startsWith(":") ? encodeURIComponent(params[step.slice(1)] ?? "") : step));
  const search = toSearch(query);
  return {
    address: `${steps.join("/")}${search === "" ? "" : `?${search}`}`,
    init: {
      method,
      headers: { ...(body !== undefined && { "content-type": "application/json" }), ...headers },
      ...(body !== undefined && { body: JSON.stringify(body) }),
      ...(signal !== undefined && { signal }),
    },
  };
}

export function toSearch(query: QueryParams): string {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value === undefined) continue;
    for (const text of typeof value === "object" ? value : [String(value)]) search.append(name, text);
  }
  return search.toString();
}

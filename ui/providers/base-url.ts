/** What looks wrong about a base URL, and how it would look right. The server judges whether it is a URL at all. */
export interface BaseUrlWarning {
  readonly text: string;
  readonly suggestion: string;
  /** The verb for taking the suggestion. */
  readonly action: string;
}

/** Some write the address of an endpoint, to which the endpoint's path would be added once more. */
const ENDPOINT_PATH = /\/(?:chat\/completions|completions|embeddings|models)\/*$/u;
/** `/v1`, and the few that count on: `/v1beta/openai`, `/api/v3`. */
const VERSION_SEGMENT = /\/v\d+[a-z0-9]*(?:\/|$)/u;

/** Null when nothing does, and for what is no http(s) URL yet. */
export function findBaseUrlWarning(text: string): BaseUrlWarning | null {
  const url = URL.parse(text.trim());
  if (url === null || !["http:", "https:"].includes(url.protocol) || url.hostname === "") return null;
  const trimmed = text.trim().replace(/\/+$/u, "");
  const endpoint = ENDPOINT_PATH.exec(url.pathname)?.[0];
  if (endpoint !== undefined) {
    return {
      text: `${endpoint} is the path of an endpoint and is added automatically.`,
      suggestion: trimmed.slice(0, trimmed.length - endpoint.length),
      action: `Remove ${endpoint}`,
    };
  }
  if (VERSION_SEGMENT.test(url.pathname)) return null;
  return {
    text: "Most servers expect /v1 at the end.",
    suggestion: `${trimmed}/v1`,
    action: "Add /v1",
  };
}

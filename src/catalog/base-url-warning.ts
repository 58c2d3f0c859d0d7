/** What looks wrong about a base URL, and how it would look right. */
export interface BaseUrlWarning {
  readonly text: string;
  readonly suggestion: string;
}

/** Some write the address of an endpoint, to which the endpoint's path would be added once more. */
const ENDPOINT_PATH = /\/(?:chat\/completions|completions|embeddings|models)$/u;
/** `/v1`, and the few that count on: `/v1beta/openai`, `/api/v3`. */
const VERSION_SEGMENT = /\/v\d+[a-z0-9]*(?:\/|$)/u;

/** Looks at a provider's base URL as it is stored; null when nothing looks wrong. */
export function findBaseUrlWarning(baseUrl: string): BaseUrlWarning | null {
  const { pathname } = new URL(baseUrl);
  const endpoint = ENDPOINT_PATH.exec(pathname)?.[0];
  if (endpoint !== undefined) {
    return {
      text: `${endpoint} is the path of an endpoint, which is added by itself`,
      suggestion: baseUrl.slice(0, -endpoint.length),
    };
  }
  if (VERSION_SEGMENT.test(pathname)) return null;
  return { text: "there is no /v1 at the end, which most servers expect", suggestion: `${baseUrl}/v1` };
}

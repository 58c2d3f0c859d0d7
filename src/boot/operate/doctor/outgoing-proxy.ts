import type { Environment } from "#boot/settings/environment.ts";

/** `fetch` honours these; `NO_PROXY` is its own to read. */
const PROXY_VARIABLES = ["HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy"];

/** Whether an outgoing proxy may stand before what is called. */
export function isBehindProxy(env: Environment): boolean {
  return PROXY_VARIABLES.some((name) => (env[name] ?? "") !== "");
}

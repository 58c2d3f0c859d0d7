import { CAPABILITIES } from "#catalog/capability.ts";
import { Planted } from "../invariants/planted.ts";
import { callApi, makeInstallation, provide, type Installation } from "../support/installation.ts";
import type { RunningProcess } from "../support/process.ts";
import { RESPONSE_ID, type Asked } from "./endpoints.ts";

export const CONNECT_SECONDS = 0.5;
export const READ_SECONDS = 2;
/** The relay's, which nobody sets. */
export const RELAY_CONNECT_SECONDS = 10;
export const RELAY_SILENCE_SECONDS = 300;
/** Room for a line of 10 MB, not for an answer without an end. */
const RESPONSE_BYTES_MAX = 16 * 1024 * 1024;
export const MODEL = "m";

/** A server whose `/v1` and whose relay go to one upstream. */
export interface Site {
  readonly installation: Installation;
  readonly server: RunningProcess;
  readonly port: number;
  readonly planted: Planted;
  /** What each request says. */
  readonly asked: Asked;
}

export interface SiteOptions {
  readonly lockport: string;
  /** With `/v1`. */
  readonly baseUrl: string;
  /** Where the relay goes, if not there; with `/v1`. */
  readonly relayUrl?: string;
  readonly more?: Record<string, unknown>;
  readonly env?: Record<string, string>;
}

export async function startSite(options: SiteOptions): Promise<Site> {
  const { lockport, baseUrl, relayUrl = baseUrl, more = {}, env = {} } = options;
  const installation = await makeInstallation(lockport);
  const server = await installation.start({
    env: {
      PROXY_MESSAGES_BASE_URL: relayUrl.replace(/\/v1$/, ""),
      PROXY_MAX_RESPONSE_BYTES: String(RESPONSE_BYTES_MAX),
      PROXY_LOG: "debug",
      ...env,
    },
  });
  const planted = new Planted();
  await provide(server.url, installation.adminKey, {
    name: "up",
    baseUrl,
    apiKey: planted.plant("the provider's credential"),
    models: { [MODEL]: "um" },
    capabilities: CAPABILITIES,
    pricing: { input_tokens: 2.5, output_tokens: 10 },
    more: { timeout_connect: CONNECT_SECONDS, timeout_read: READ_SECONDS, ...more },
  });
  const made = await callApi(server.url, installation.adminKey, "POST", "/my/relay-tokens", {});
  const { token } = JSON.parse(await made.text());
  planted.plant("the relay token", token);
  planted.plant("a response's id", RESPONSE_ID);
  return {
    installation,
    server,
    port: Number(new URL(server.url).port),
    planted,
    asked: {
      key: installation.adminKey,
      relayToken: token,
      content: planted.plant("the prompt"),
      fileName: planted.plant("a file's name"),
      headers: { "x-planted": planted.plant("a header of the caller's") },
    },
  };
}

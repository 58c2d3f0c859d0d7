import { connect } from "node:net";
import type { Config } from "#boot/settings/config.ts";
import type { Environment } from "#boot/settings/environment.ts";
import { systemCode } from "#kernel/system-code.ts";
import { toOk, toWarning, type Check } from "./check.ts";
import { isBehindProxy } from "./providers.ts";

const CONNECT_MS_MAX = 3_000;

/** Connects to the webhook of notices. Nothing is sent, and nothing but its host is told. Null without one. */
export async function checkNotices({ notices }: Config, env: Environment): Promise<Check | null> {
  const name = "notices";
  if (notices === null) return null;
  const { protocol, host, hostname, port } = new URL(notices.url);
  if (isBehindProxy(env)) return toOk(name, `${host} is reached by an outgoing proxy, and was not looked at`);
  const target = {
    host: hostname.replace(/^\[|\]$/g, ""),
    port: port === "" ? (protocol === "https:" ? 443 : 80) : Number(port),
  };
  const code = await findFault(target);
  if (code === null) return toOk(name, `${host} takes connections; lockport notice test sends one`);
  const advice = "Correct PROXY_NOTICE_URL, or open the way to it (DNS, firewall). Notices wait for an hour.";
  return toWarning(name, `no connection to ${host} can be made (${code})`, advice);
}

function findFault(target: { readonly host: string; readonly port: number }): Promise<string | null> {
  const socket = connect(target);
  return new Promise<string | null>((resolve) => {
    socket.setTimeout(CONNECT_MS_MAX, () => resolve("timeout"));
    socket.once("connect", () => resolve(null));
    socket.once("error", (cause) => resolve(systemCode(cause) ?? "connection_error"));
  }).finally(() => socket.destroy());
}

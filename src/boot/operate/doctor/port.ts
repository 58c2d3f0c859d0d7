import type { Config } from "#boot/settings/config.ts";
import type { Environment } from "#boot/settings/environment.ts";
import { formatAddress, probeListen, toReachable } from "#boot/settings/listen-address.ts";
import { findListeningUrl } from "#boot/folder/serving-address.ts";
import { toFailure, toOk, toWarning, type Check } from "./check.ts";

const ANSWER_MS_MAX = 3_000;
const OWN_SETTINGS = "Run doctor with the server's own settings (PROXY_HOST, PROXY_PORT).";

export interface PortLook {
  /** Whether a server runs from the data folder; null when this user cannot tell. */
  readonly isServing: boolean | null;
  readonly env: Environment;
}

/** Whether the running server answers, wherever it listens, or whether one could listen where the settings say. */
export async function checkPort(
  address: Pick<Config, "dataDir" | "host" | "port">,
  { isServing, env }: PortLook,
): Promise<Check> {
  const name = "port";
  const { port } = address;
  const where = formatAddress(address);
  if (isServing === true) {
    const url = findListeningUrl(address, env);
    if (url === null)
      return toWarning(name, "a server runs from this folder, and where is not known", OWN_SETTINGS);
    if (await answers(url)) return toOk(name, `the server answers at ${url}`);
    return toWarning(name, `a server runs from this folder and does not answer at ${url}`, OWN_SETTINGS);
  }
  if (port === 0) return toOk(name, "a free one is chosen at each start");
  const fault = await probeListen(address);
  if (fault === null) return toOk(name, `${where} is free`);
  if (isServing === null && (await answers(toReachable(`http://${where}`)))) {
    return toOk(name, `a server answers at ${where}; whether it is this folder's cannot be seen`);
  }
  return toFailure(name, fault.finding, fault.advice);
}

async function answers(origin: string): Promise<boolean> {
  try {
    const response = await fetch(`${origin}/healthz`, {
      redirect: "manual",
      signal: AbortSignal.timeout(ANSWER_MS_MAX),
    });
    return response.status === 200 && (await response.text()) === '{"status":"ok"}';
  } catch {
    return false;
  }
}

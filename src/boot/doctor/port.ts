import { findListenFault, formatAddress, toReachable, type ListenAddress } from "#boot/listen-address.ts";
import { systemCode } from "#kernel/system-code.ts";
import { toFailure, toOk, toWarning, type Check } from "./check.ts";

const ANSWER_MS_MAX = 3_000;

/** Whether the running server answers where the settings say, or whether one could listen there. */
export async function checkPort(address: ListenAddress, isServing: boolean | null): Promise<Check> {
  const name = "port";
  const { host, port } = address;
  const where = formatAddress(address);
  if (port === 0) return toOk(name, "a free one is chosen at each start");
  if (isServing === true) {
    if (await answers(where)) return toOk(name, `the server answers at ${where}`);
    const finding = `a server runs from this folder and does not answer at ${where}`;
    return toWarning(name, finding, "Run doctor with the server's own settings (PROXY_HOST, PROXY_PORT).");
  }
  try {
    // As the server does it, which is told more than a bare socket is.
    await Bun.serve({ hostname: host, port, reusePort: false, fetch: () => new Response() }).stop(true);
    return toOk(name, `${where} is free`);
  } catch (cause) {
    if (isServing === null && (await answers(where))) {
      return toOk(name, `a server answers at ${where}; whether it is this folder's cannot be seen`);
    }
    const fault = findListenFault(cause, address);
    if (fault !== null) return toFailure(name, fault.finding, fault.advice);
    const finding = `nothing can listen on ${where} (${systemCode(cause) ?? "no reason given"})`;
    return toFailure(name, finding, "Look at PROXY_HOST and PROXY_PORT.");
  }
}

async function answers(where: string): Promise<boolean> {
  const url = `${toReachable(`http://${where}`)}/healthz`;
  try {
    const response = await fetch(url, { redirect: "manual", signal: AbortSignal.timeout(ANSWER_MS_MAX) });
    return response.status === 200 && (await response.text()) === '{"status":"ok"}';
  } catch {
    return false;
  }
}

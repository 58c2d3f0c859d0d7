import type { Config } from "#boot/settings/config.ts";
import type { Environment } from "#boot/settings/environment.ts";
import { formatAddress, probeListen, toReachable } from "#boot/settings/listen-address.ts";
import { findListeningUrl } from "#boot/folder/serving-address.ts";
import { toFailure, toOk, toWarning, type Check } from "./check.ts";
import { toCounted } from "#kernel/text.ts";

const ANSWER_MS_MAX = 3_000;
const OWN_SETTINGS = "Run doctor with the server's own settings (PROXY_HOST, PROXY_PORT).";

interface ServerLook {
  /** True while a server runs from the data folder; null when this user cannot tell. */
  readonly isServing: boolean | null;
  readonly env: Environment;
}

/** Checks that the running server answers, wherever it listens, or that one could listen where the settings say. */
export async function checkPort(
  address: Pick<Config, "dataDir" | "host" | "port">,
  { isServing, env }: ServerLook,
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
  return (await ask(`${origin}/healthz`)) === '{"status":"ok"}';
}

const BACK_UP =
  "What is written there is gone when the server ends: its log names the file and why it is not put back.";
const FOUND =
  "What lay in the place of such a file is beside it as FILE.found-1: find out what works in the folder, and remove it.";

/** Checks that the files that the running server has open are still in the data folder. Null when it cannot be asked. */
export async function checkOpenFiles(
  address: Pick<Config, "dataDir" | "host" | "port">,
  { isServing, env }: ServerLook,
): Promise<Check | null> {
  const name = "open files";
  const url = isServing === true ? findListeningUrl(address, env) : null;
  const metrics = url === null ? null : await ask(`${url}/metrics`);
  if (metrics === null) return null;
  const [lost, missing] = [
    findFigure(metrics, "proxy_files_lost_total"),
    findFigure(metrics, "proxy_files_missing"),
  ];
  if (missing > 0) {
    const finding = `${toCounted(missing, "file")} that the server has open ${missing === 1 ? "is" : "are"} not in its place`;
    return toFailure(name, finding, BACK_UP);
  }
  if (lost > 0) {
    const finding = `removed or replaced while the server runs: ${toCounted(lost, "file")}, put back since`;
    return toWarning(name, finding, FOUND);
  }
  return toOk(name, "what the server has open is in its place");
}

/** The body of a 200; null for any other answer, and for none. */
async function ask(url: string): Promise<string | null> {
  try {
    const response = await fetch(url, {
      redirect: "manual",
      signal: AbortSignal.timeout(ANSWER_MS_MAX),
    });
    return response.status === 200 ? await response.text() : null;
  } catch {
    return null;
  }
}

/** Zero for a figure that a server of an earlier version does not tell. */
function findFigure(metrics: string, name: string): number {
  return Number(new RegExp(`^${name} (\\d+)$`, "m").exec(metrics)?.[1] ?? 0);
}

import type { Config } from "#boot/settings/config.ts";
import { findListeningUrl } from "#boot/folder/serving-address.ts";
import { toCounted } from "#kernel/text.ts";
import { toFailure, toOk, toWarning, type Check } from "./check.ts";
import type { PortLook } from "./port.ts";

const ANSWER_MS_MAX = 3_000;
const BACK_UP =
  "What is written there is gone when the server ends: its log names the file and why it is not put back.";
const FOUND =
  "What lay in the place of such a file is beside it as FILE.found-1: find out what works in the folder, and remove it.";

/** Whether the files that the running server has open are still in the data folder. Null when it cannot be asked. */
export async function checkOpenFiles(
  address: Pick<Config, "dataDir" | "host" | "port">,
  { isServing, env }: PortLook,
): Promise<Check | null> {
  const name = "open files";
  const url = isServing === true ? findListeningUrl(address, env) : null;
  const metrics = url === null ? null : await readMetrics(url);
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

async function readMetrics(origin: string): Promise<string | null> {
  try {
    const response = await fetch(`${origin}/metrics`, {
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

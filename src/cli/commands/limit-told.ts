import { parseInstant } from "#kernel/instant.ts";
import type { Told, ToldLimit } from "#limits/limit-check.ts";
import type { Client } from "#cli/installation/client.ts";
import { listAll, listLimits } from "#cli/installation/lists.ts";

/** What a server says was used of each of its limits, of all values of `each`. */
export async function readTold(api: Client): Promise<Told> {
  const told: [string, ToldLimit][] = [];
  for (const { id, each, window_start: start, ...use } of await listLimits(api)) {
    const uses = each === undefined ? [{ ...use, label: "" }] : await readUses(api, id);
    told.push([id, { windowStartUs: parseInstant(start ?? "") ?? 0, uses }]);
  }
  return new Map(told);
}

async function readUses(api: Client, id: string) {
  const rows = await listAll("usage of a limit", async (query) => {
    const { usage, total } = await api.call("GET /admin/v1/limits/:id/usage", {
      params: { id },
      query: { ...query },
    });
    return { rows: usage, total };
  });
  return rows.map((use) => ({
    label: use.principal ?? use.key ?? use.tag ?? "",
    used: use.used,
    unpriced_requests: use.unpriced_requests,
    unknown_requests: use.unknown_requests,
  }));
}

/** A server that takes longer is not asked. */
const METRICS_MS_MAX = 3_000;
const OPEN_EXCHANGES = /^proxy_open_exchanges (\d+)$/m;

/** How many requests a server has begun and not ended; as many as may be where it does not say. */
export async function readUnderWay(origin: string): Promise<number> {
  try {
    const signal = AbortSignal.timeout(METRICS_MS_MAX);
    const response = await fetch(`${origin}/metrics`, { redirect: "manual", signal });
    const [, count] = OPEN_EXCHANGES.exec(await response.text()) ?? [];
    return count === undefined ? Number.POSITIVE_INFINITY : Number(count);
  } catch {
    return Number.POSITIVE_INFINITY;
  }
}

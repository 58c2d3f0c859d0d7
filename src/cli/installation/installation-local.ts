import type { Local } from "#boot/local.ts";
import type { Clock } from "#kernel/clock.ts";
import type { LocalApp } from "#http/local.ts";
import { createClient, findRefusal, type Installation } from "./client.ts";

/**
 * The data folder of this machine, also while a server has it open; what changes applies from that server's next request on.
 * Only a route that changes something opens the folder for writing.
 */
export function createLocalInstallation(local: Local, clock: Clock): Installation {
  let reading: LocalApp | null = null;
  let writing: LocalApp | null = null;
  const send = async (request: Request): Promise<Response> => {
    // Loaded here and not above: the routes take as long to load as the rest of the program.
    const { openLocalApi } = await import("#boot/local-api.ts");
    if (!isReading(request)) writing ??= openLocalApi(await local.forWriting(), { clock });
    const app = writing ?? (reading ??= openLocalApi(local, { clock }));
    const response = await app.fetch(request);
    if (response.ok) return response;
    const refusal = findRefusal(response.status, await response.json());
    throw refusal ?? new TypeError(`the interface answered ${response.status}`);
  };
  return { api: createClient("http://localhost", send), local, origin: null, clock };
}

/** What a dry run would change, it only tells. */
function isReading({ method, url }: Request): boolean {
  return method === "GET" || new URL(url).searchParams.get("dry_run") === "1";
}

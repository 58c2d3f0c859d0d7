import { type QueryParams, toSearch } from "#kernel/route-request.ts";
import { isJson, OWN_SERVER, refuse } from "./client.ts";
import { toApiFailure, unreadableAnswer } from "./failure.ts";

/** Reports that come as CSV too; cells that a spreadsheet would run are defused by the server. */
export type CsvPath =
  | "/stats/requests"
  | "/stats/summary"
  | "/stats/breakdown"
  | "/stats/statement"
  | "/my/usage"
  | "/my/usage/breakdown";

export interface CsvProgress {
  readonly signal?: AbortSignal;
  /** Lines that have come so far, the header among them. */
  readonly onLines?: (lines: number) => void;
}

/**
 * A report as a file, with the same filters and window; of the request log every row, unless `limit` or `offset` say
 * otherwise. Throws as `call` does.
 */
export async function fetchCsv(
  path: CsvPath,
  query: QueryParams,
  { signal, onLines }: CsvProgress = {},
): Promise<Blob> {
  const response = await askForCsv(path, query, signal);
  const reader = response.body?.getReader();
  const parts: Uint8Array<ArrayBuffer>[] = [];
  let lines = 0;
  for (;;) {
    const part = await reader?.read().catch(refuse);
    if (part?.value === undefined) return new Blob(parts, { type: "text/csv;charset=utf-8" });
    parts.push(part.value);
    for (const byte of part.value) if (byte === LINE_FEED) lines += 1;
    onLines?.(lines);
  }
}

const LINE_FEED = 10;

async function askForCsv(
  path: CsvPath,
  query: QueryParams,
  signal: AbortSignal | undefined,
): Promise<Response> {
  const response = await ask(`${path}?${toSearch(query)}`, signal);
  if (response.ok) return response;
  if (!isJson(response.headers)) throw unreadableAnswer(response.status);
  throw toApiFailure(response.status, await response.json().catch(refuse));
}

async function ask(address: string, signal: AbortSignal | undefined): Promise<Response> {
  return await fetch(address, {
    ...OWN_SERVER,
    headers: { accept: "text/csv" },
    ...(signal !== undefined && { signal }),
  }).catch(refuse);
}

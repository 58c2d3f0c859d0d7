import type { Download } from "playwright-core";

/** The text of a file that a page gave. Its path is of no use where the browser is another process's. */
export async function readDownload(download: Download): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of await download.createReadStream()) chunks.push(Buffer.from(chunk));
  return Buffer.concat(chunks).toString();
}

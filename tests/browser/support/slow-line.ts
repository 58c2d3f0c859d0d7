const DELAY_MS = 80;
const ANSWERS = /^\/(?:stats|my|admin|v1)\//;

export interface SlowLine {
  readonly url: string;
  stop(): Promise<void>;
}

/**
 * Passes everything on to a site; answers come late and one by one. The browser itself could hold requests back, but then
 * keeps nothing in its cache, and compiles the page's code for each visit.
 */
export function startSlowLine(siteUrl: string): SlowLine {
  let turn = 0;
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    async fetch(request) {
      const { pathname, search } = new URL(request.url);
      if (ANSWERS.test(pathname)) {
        turn += 1;
        await new Promise((resolve) => setTimeout(resolve, DELAY_MS * (1 + (turn % 4))));
      }
      const { method, headers, body, signal } = request;
      return await fetch(siteUrl + pathname + search, {
        method,
        headers,
        body,
        signal,
        redirect: "manual",
        decompress: false,
      });
    },
  });
  return { url: server.url.origin, stop: () => server.stop(true) };
}

import { startApp, type TestApp } from "../support/app.ts";

/** The server and a browser's share of the page: addresses without an origin, and a cookie jar of one cookie. */
export interface TestPage {
  readonly app: TestApp;
  /** Path and query of every question, in order, as it was sent. */
  readonly sent: string[];
  /** Where addresses without an origin lead from now on. */
  moveTo(origin: string): void;
  close(): Promise<void>;
}

/** Until it is closed, `fetch` of this process is the page's. */
export async function openPage(): Promise<TestPage> {
  const app = await startApp();
  const networkFetch = globalThis.fetch;
  const sent: string[] = [];
  let origin = app.url;
  let cookie = "";

  const pageFetch = async (input: string | URL | Request, init: RequestInit = {}) => {
    if (typeof input !== "string" || !input.startsWith("/")) return await networkFetch(input, init);
    sent.push(input);
    const headers = new Headers(init.headers);
    headers.set("origin", origin);
    if (cookie !== "") headers.set("cookie", cookie);
    const response = await networkFetch(origin + input, { ...init, headers });
    const [set] = response.headers.getSetCookie();
    if (set !== undefined) cookie = set.split(";", 1)[0] ?? "";
    return response;
  };
  globalThis.fetch = Object.assign(pageFetch, { preconnect: networkFetch.preconnect });
  return {
    app,
    sent,
    moveTo(next) {
      origin = next;
    },
    async close() {
      globalThis.fetch = networkFetch;
      await app.stop();
    },
  };
}

import { afterEach, beforeEach, expect, test } from "bun:test";
import { QueryClient } from "@tanstack/react-query";
import { PROVIDERS } from "../../ui/api/catalog.ts";
import { streamChat } from "../../ui/api/chat.ts";
import { fetchCsv } from "../../ui/api/csv.ts";
import { ApiFailure } from "../../ui/api/failure.ts";
import { meQuery, signInWithPassword } from "../../ui/api/session.ts";
import { openPage, type TestPage } from "./page.ts";

let page: TestPage;
let elsewhere: Bun.Server<undefined>;
let redirecting: Bun.Server<undefined>;
let heard: string[];
beforeEach(async () => {
  heard = [];
  const hostname = "127.0.0.1";
  elsewhere = Bun.serve({
    hostname,
    port: 0,
    async fetch(request) {
      heard.push(`${request.method} ${request.url} ${await request.text()}`);
      return Response.json({ authenticated: true });
    },
  });
  redirecting = Bun.serve({
    hostname,
    port: 0,
    fetch: ({ url }) => {
      const location = new URL(new URL(url).pathname, elsewhere.url).href;
      return new Response(null, { status: 307, headers: { location } });
    },
  });
  page = await openPage();
  page.moveTo(redirecting.url.origin);
});
afterEach(async () => {
  await page.close();
  await elsewhere.stop(true);
  await redirecting.stop(true);
});

const QUESTIONS: readonly (readonly [string, () => Promise<unknown>])[] = [
  ["who is signed in", () => new QueryClient().fetchQuery({ ...meQuery(), retry: false })],
  ["the password", () => signInWithPassword("secret")],
  ["a change", () => PROVIDERS.create.run({ name: "a", base_url: "https://a.example", api_key: "secret" })],
  ["a report", () => fetchCsv("/my/usage", {})],
];

test.each(QUESTIONS)(
  "a redirect is followed by no question of the page, and nobody else hears it: %s",
  async (_, ask) => {
    const failure: unknown = await ask().catch((thrown: unknown) => thrown);
    expect(failure).toBeInstanceOf(ApiFailure);
    expect(failure).toMatchObject({ code: "offline", source: "page" });
    expect(page.sent).toHaveLength(1);
    expect(heard).toEqual([]);
  },
);

test("a message of the playground follows none either, and says that a redirect came", async () => {
  const failure: unknown = await streamChat({
    model: "m",
    messages: [{ role: "user", content: "secret" }],
    onDelta: () => {},
  }).catch((thrown: unknown) => thrown);
  expect(failure).toBeInstanceOf(ApiFailure);
  expect(failure).toMatchObject({ code: "upstream_redirect", source: "upstream" });
  expect(page.sent).toHaveLength(1);
  expect(heard).toEqual([]);
});

test("every fetch that the page's source has is of that kind", async () => {
  const folder = new URL("../../ui/", import.meta.url).pathname;
  let fetches = 0;
  for await (const path of new Bun.Glob("**/*.{ts,tsx}").scan(folder)) {
    for (const [, options] of (await Bun.file(folder + path).text()).matchAll(/\bfetch\(([^;]*?)\)/gs)) {
      fetches += 1;
      expect({ path, options }).toEqual({ path, options: expect.stringContaining("...OWN_SERVER") });
    }
  }
  expect(fetches).toBeGreaterThan(3);
});

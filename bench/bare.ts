/** The runtime's own ceiling: a proxy that only passes on a request and its answer: `bun bench/bare.ts PORT ORIGIN`. */
const [port = "0", upstream = ""] = process.argv.slice(2);

async function pass(path: string, request: Request): Promise<Response> {
  const response = await fetch(upstream + path, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: await request.bytes(),
    decompress: false,
    redirect: "manual",
  });
  const type = response.headers.get("content-type") ?? "application/json";
  const body = type.startsWith("text/event-stream") ? response.body : await response.bytes();
  return new Response(body, { status: response.status, headers: { "content-type": type } });
}

Bun.serve({
  hostname: "127.0.0.1",
  port: Number(port),
  development: false,
  idleTimeout: 0,
  routes: {
    "/v1/chat/completions": { POST: (request) => pass("/v1/chat/completions", request) },
  },
  fetch: () => new Response(null, { status: 404 }),
});

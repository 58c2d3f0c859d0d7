/** What the runtime itself can do: a proxy that does nothing but pass a request on and its answer back. */
const [port = "0", upstream = ""] = process.argv.slice(2);
Bun.serve({
  hostname: "127.0.0.1",
  port: Number(port),
  development: false,
  routes: {
    "/v1/chat/completions": {
      POST: async (request) => {
        const response = await fetch(`${upstream}/v1/chat/completions`, {
          method: "POST",
          headers: { "content-type": "application/json" },
          body: await request.bytes(),
          decompress: false,
          redirect: "manual",
        });
        return new Response(await response.bytes(), {
          status: response.status,
          headers: { "content-type": "application/json" },
        });
      },
    },
  },
  fetch: () => new Response(null, { status: 404 }),
});

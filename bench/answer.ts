/** An upstream that answers at once, in a process of its own: `bun bench/answer.ts <port>`. */
import { UNARY_ANSWER } from "./peers.ts";

Bun.serve({
  hostname: "127.0.0.1",
  port: Number(process.argv[2]),
  development: false,
  fetch: () => new Response(UNARY_ANSWER, { headers: { "content-type": "application/json" } }),
});

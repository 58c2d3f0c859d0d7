/** A server process in which two failures happen that nobody catches, for the test beside this file. */
import { parseConfig } from "#boot/settings/config.ts";
import { readEnvironment } from "#boot/settings/environment.ts";
import { serve } from "#boot/serve.ts";

await serve(parseConfig({ ...readEnvironment(), PROXY_PORT: "0" }), async (server) => {
  setTimeout(() => {
    throw new TypeError("planted https://user:secret@upstream.example");
  });
  void Promise.reject(new RangeError("planted https://user:secret@upstream.example"));
  process.stdout.write(`Lockport listens on ${server.url}\n`);
});

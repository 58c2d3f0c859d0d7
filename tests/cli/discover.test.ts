import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { startApp, type TestApp } from "../support/app.ts";
import { startUpstream, type ScriptedUpstream } from "../support/upstream.ts";
import { waysTo } from "./both-ways.ts";

let upstream: ScriptedUpstream;
let app: TestApp;

beforeEach(async () => {
  upstream = await startUpstream();
  app = await startApp();
  await app.api("POST", "/admin/v1/providers", { name: "up", base_url: upstream.baseUrl, api_key: "sk-old" });
});
afterEach(async () => {
  await app.stop();
  await upstream.stop();
});

describe("provider discover", () => {
  test("of a provider that refuses the API key says so, and how to set another where the command ran", async () => {
    for (const way of waysTo(app)) {
      const where = way.name === "through --url" ? ` --url ${app.url}` : "";
      for (const status of [401, 403, 404]) {
        const running = way.run("provider discover up");
        await (await upstream.nextCall()).reply({ status, body: "{}" });
        const { code, data, messages } = await running;
        expect({ status, code, data }).toEqual({ status, code: 1, data: "" });
        expect(messages).toContain(`answered with status ${status}. (discovery_failed)`);
        const hint = `provider set up --api-key-file PATH${where}\n`;
        expect({ status, hinted: messages.endsWith(hint) }).toEqual({ status, hinted: status !== 404 });
        expect(messages).not.toContain("sk-old");
      }
    }
  });

  test("of a provider that keeps silent says after a while what is waited for, also where there is no terminal", async () => {
    const said = Promise.withResolvers<string>();
    const [local] = waysTo(app);
    const running = local.run("provider discover up", { onMessage: said.resolve });
    const call = await upstream.nextCall();
    expect(await said.promise).toBe("asking up, for at most 30 s …\n");
    await call.reply({ body: '{"data":[{"id":"alpha"}]}' });
    expect(await running).toMatchObject({ code: 0, messages: "asking up, for at most 30 s …\n" });
  }, 20_000);
});

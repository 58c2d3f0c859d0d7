import { describe, expect, test } from "bun:test";
import net from "node:net";
import { Drain } from "#http/door/connections.ts";
import { refuseConnections } from "#boot/process/listening-sockets.ts";
import { untilQuiet } from "#boot/server.ts";
import { connect } from "../http/open-connection.ts";
import { startApp } from "../support/app.ts";
import { startUpstream } from "../support/upstream.ts";

/** Long enough for what a test does within it, on a busy machine. */
const DEPARTURE = { quietMs: 3_000, listeningMsMax: 60_000, settleMs: 50 };
const TEST_MS_MAX = 60_000;
const CHAT = JSON.stringify({ model: "m", messages: [] });

describe("a server that is stopped", () => {
  test(
    "answers what is under way and what still comes, on new connections too, ends each connection by its answer, and tells load balancers at once",
    async () => {
      const upstream = await startUpstream();
      const app = await startApp({ drainTimeoutSeconds: 60 }, {}, { departure: DEPARTURE });
      const port = Number(new URL(app.url).port);
      await app.api("POST", "/admin/v1/providers", { name: "up", base_url: upstream.baseUrl });
      const model = { alias: "m", provider: "up", upstream_name: "u", capabilities: ["chat"] };
      expect((await app.api("POST", "/admin/v1/models", model)).status).toBe(201);
      const headers = { authorization: `Bearer ${app.adminKey}`, "content-type": "application/json" };
      using idle = await connect(port);
      using busy = await connect(port);
      for (const kept of [idle, busy]) {
        const before = await kept.send("GET", "/healthz");
        expect([before.status, before.headers.get("connection")]).toEqual([200, null]);
      }
      const underWay = busy.send("POST", "/v1/chat/completions", headers, CHAT);
      const call = await upstream.nextCall();

      const stopping = app.stop();
      const health = await fetch(`${app.url}/healthz`);
      expect({ status: health.status, body: await health.json() }).toEqual({
        status: 503,
        body: { status: "draining" },
      });
      const late = await idle.send("GET", "/v1/models", headers);
      expect([late.status, late.headers.get("connection")]).toEqual([200, "close"]);
      using fresh = await connect(port);
      const refused = await fresh.send("POST", "/v1/chat/completions", headers, "{");
      expect([refused.status, refused.headers.get("connection")]).toEqual([400, "close"]);
      await call.reply({ body: '{"choices":[]}' });
      const answered = await underWay;
      expect([answered.status, answered.headers.get("connection")]).toEqual([200, "close"]);
      await stopping;
      expect(fetch(`${app.url}/healthz`)).rejects.toThrow();
      await upstream.stop();
    },
    TEST_MS_MAX,
  );

  test("goes on listening for as long as requests come, and within a limit", async () => {
    const told = [1, 2, 3, 3, 4];
    let asked = 0;
    let unawareLooks = 0;
    const traffic = {
      latestArrivalUs: () => told[asked++] ?? asked,
      awaitsHealthCheck: () => (unawareLooks -= 1) >= 0,
    };
    await untilQuiet(traffic, { quietMs: 1, limitMs: 1_000, hurry: undefined });
    expect(asked).toBe(4);
    asked = told.length;
    await untilQuiet(traffic, { quietMs: 1, limitMs: 5, hurry: undefined });
    expect(asked - told.length).toBe(6);
    // A load balancer that has not asked yet is waited for, however quiet it is.
    unawareLooks = 2;
    const quiet = { ...traffic, latestArrivalUs: () => 1 };
    await untilQuiet(quiet, { quietMs: 1, limitMs: 1_000, hurry: undefined });
    expect(unawareLooks).toBe(-1);
    // A second signal ends it.
    await untilQuiet(traffic, { quietMs: 60_000, limitMs: 60_000, hurry: AbortSignal.abort() });
  });
});

describe("a load balancer", () => {
  test("is one that asks for the health three times in ten seconds, and is waited for until it asks again", () => {
    const drainAt = (checksUs: readonly number[], nowUs: number) => {
      const drain = new Drain();
      for (const checkUs of checksUs) drain.checked(checkUs);
      drain.begin(nowUs);
      return drain;
    };
    const balanced = drainAt([1e6, 2e6, 3e6, 4e6], 5e6);
    expect(balanced.awaitsCheck).toBe(true);
    balanced.checked(5.5e6);
    expect(balanced.awaitsCheck).toBe(false);
    expect(drainAt([4e6, 4.5e6], 5e6).awaitsCheck).toBe(false);
    expect(drainAt([1e6, 2e6, 3e6], 12e6).awaitsCheck).toBe(false);
  });
});

describe.skipIf(process.platform !== "linux")("a socket that takes no connection any more", () => {
  test("still has those that were made, and none is made and then reset", async () => {
    const other = net.createServer().listen(0, "127.0.0.1");
    const server = Bun.serve({ hostname: "127.0.0.1", port: 0, fetch: () => new Response("here") });
    const port = server.port ?? 0;
    using made = await connect(port);
    expect(refuseConnections(port)).toBe(true);
    // Its first packet is lost, and what comes of it is told by the closed socket.
    const late = fetch(server.url);
    late.catch(() => undefined);
    expect(await (await made.send("GET", "/")).text()).toBe("here");
    await server.stop();
    expect(late).rejects.toThrow(expect.objectContaining({ code: "ECONNREFUSED" }));
    // Another socket of the process is left alone.
    const address = other.address();
    const otherPort = address === null || typeof address === "string" ? 0 : address.port;
    using reached = await connect(otherPort);
    expect(reached).toBeDefined();
    other.close();
  });
});

import { afterEach, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { connect, type Socket } from "node:net";
import { createChance, type Chance } from "../support/chance.ts";
import { executable } from "../support/executable.ts";
import { makeInstallation, provide, type Installation } from "../support/installation.ts";
import { checkLedger } from "../support/invariants.ts";
import { readNumber, scale } from "../support/scale.ts";
import { startMixedUpstream, type Kind, type MixedUpstream } from "./mixed-load.ts";

const SETUP_MS_MAX = 120_000;
const STOPS = readNumber("LOCKPORT_STOPS") ?? 4 * scale;
const TEST_MS_MAX = 120_000 + STOPS * 10_000;
const CONNECTIONS = 64;
const KINDS = ["unary", "stream", "slow", "silent"] as const satisfies readonly Kind[];

let lockport: string;
let installation: Installation;
let upstream: MixedUpstream;

beforeAll(async () => {
  lockport = await executable();
}, SETUP_MS_MAX);
beforeEach(async () => {
  upstream = await startMixedUpstream();
  installation = await makeInstallation(lockport);
});
afterEach(async () => {
  await installation.remove();
  await upstream.stop();
});

describe("SIGTERM right behind connections that were cut", () => {
  test(
    "ends with 0, and each request that had begun has an event with an outcome of its own",
    async () => {
      const chance = createChance(readNumber("LOCKPORT_SEED"));
      console.log(`stops: ${STOPS}, seed ${chance.seed}`);
      const first = await installation.start();
      await provide(first.url, installation.adminKey, {
        name: "mixed",
        baseUrl: upstream.baseUrl,
        models: { m: "um" },
      });
      expect(await first.stop()).toBe(0);
      const sent = new Set<string>();
      for (let round = 0; round < STOPS; round += 1) await cutAndStop(sent, chance);

      const events = checkLedger(installation.dataDir, {
        arrivals: upstream.arrivals,
        sent,
        isAtRest: true,
      });
      expect(events.length).toBeGreaterThan(0);
      // Nothing is left for the next start to settle.
      expect(events.filter(({ error_kind }) => error_kind === "interrupted")).toEqual([]);
    },
    TEST_MS_MAX,
  );
});

/** One life of the server, cut and stopped while requests stand at every place between their head and their answer. */
async function cutAndStop(sent: Set<string>, chance: Chance): Promise<void> {
  const server = await installation.start();
  const { port } = new URL(server.url);
  const sockets = await Promise.all(Array.from({ length: CONNECTIONS }, () => openSocket(Number(port))));
  const before = upstream.arrivals.size;
  for (const socket of sockets) socket.write(toRequest(sent, chance));
  while (upstream.arrivals.size < before + chance.below(CONNECTIONS / 2)) await Bun.sleep(1);
  for (const socket of sockets.slice(0, chance.below(CONNECTIONS))) socket.write(toRequest(sent, chance));
  await Bun.sleep(chance.below(4));
  for (const socket of sockets) socket.destroy();
  server.signal("SIGTERM");
  expect(await server.exited).toBe(0);
  expect(server.messages()).not.toContain(`"level":"error"`);
  expect(server.messages()).not.toContain("could not be written");
}

function openSocket(port: number): Promise<Socket> {
  return new Promise((resolve) => {
    const socket: Socket = connect(port, "127.0.0.1", () => resolve(socket));
    socket.on("error", () => undefined);
    socket.resume();
  });
}

function toRequest(sent: Set<string>, chance: Chance): string {
  const id = `r${sent.size}`;
  sent.add(id);
  const kind = chance.pick(KINDS);
  const body = JSON.stringify({ model: "m", user: id, kind, stream: kind === "stream" || kind === "slow" });
  return [
    "POST /v1/chat/completions HTTP/1.1",
    "host: 127.0.0.1",
    `authorization: Bearer ${installation.adminKey}`,
    `x-proxy-tags: id:${id}`,
    "content-type: application/json",
    `content-length: ${body.length}`,
    "",
    body,
  ].join("\r\n");
}

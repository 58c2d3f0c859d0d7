/**
 * Latency of honest callers beside slow attackers: `bun bench/slow-callers.ts [ROUNDS] [STREAMS] [ATTACKERS] [BINARY]` (after
 * `npm run build`; 3 rounds of 5,000 streams with two events a second on each, 100 unary requests a second beside them, and
 * 500 attackers). Each round once without attackers and once with them, on a server of its own. Some never read a stream that
 * never ends, as many as a server bears at once (past 144 each that comes cuts another one off); of the others one half sends
 * the head of a request a byte a second, one half its body. One that is refused comes back. Needs 2 descriptors a stream
 * (`ulimit -n 20000`).
 */
import { connect, type Socket } from "node:net";
import { loadavg } from "node:os";
import { LOAD_CORE, BINARY } from "./executable.ts";
import { toLockport, type RunningLockport } from "./lockport.ts";
import { runLoad, startEndless, startUpstream, toRequest, writeRequests, type Load } from "./wire.ts";

const [rounds = 3, streams = 5_000, attackers = 500] = process.argv.slice(2, 5).map(Number);
const SECONDS = 8;
const PER_SECOND = 100;
const DRIP_MS = 1_000;
/** Until those that never read have filled what is between them and their upstream. */
const SETTLE_MS = 3_000;
const BODY_BYTES = 4_000;
const NEVER_READING = 140;
const CHAT = "/v1/chat/completions";

// This process attacks: it stays off the core of what is measured.
Bun.spawnSync(["taskset", "-a", "-cp", LOAD_CORE.at(-1) ?? "1", String(process.pid)]);
const upstream = await startUpstream();
const endless = await startEndless();
const lockport = toLockport(process.argv[5] ?? BINARY);

interface Seen {
  readonly delay: number;
  readonly answer: number;
}
const seen: { readonly alone: Seen[]; readonly attacked: Seen[] } = { alone: [], attacked: [] };
for (let round = 0; round < rounds; round += 1) {
  for (const kind of ["alone", "attacked"] as const) {
    const running = await lockport.start(`http://127.0.0.1:${upstream.port}`);
    const attack = kind === "attacked" ? await startAttack(running) : null;
    const { held, unary } = await measure(running);
    const [delay, answer] = [held.delayUs, unary.latencyUs];
    if (delay === null || answer === null) throw new Error("nothing was measured");
    seen[kind].push({ delay: delay.p99, answer: answer.p99 });
    console.log(
      `${kind}: events late by p50 ${delay.p50} p99 ${delay.p99} µs (${delay.n}), unary p50 ${answer.p50} p99 ${answer.p99} µs (${answer.n}, ${unary.unsent} unsent), ${held.failures + unary.failures} failures${held.firstFailure}${unary.firstFailure}${attack === null ? "" : `, ${attack.open()} attackers open, ${attack.returned()} came back`}, load ${loadavg()[0]?.toFixed(1)}`,
    );
    attack?.stop();
    await running.stop();
  }
}
for (const what of ["delay", "answer"] as const) {
  const [alone, attacked] = [median(seen.alone, what), median(seen.attacked, what)];
  console.log(
    `${what} p99, medians: alone ${alone} µs, attacked ${attacked} µs, × ${(attacked / alone).toFixed(2)}`,
  );
}
await upstream.stop();
process.exit(0);

function median(of: readonly Seen[], what: keyof Seen): number {
  return of.map((one) => one[what]).toSorted((left, right) => left - right)[Math.floor(of.length / 2)] ?? 0;
}

/** The streams, and once all are open the unary requests beside them. */
async function measure(running: RunningLockport): Promise<{ readonly held: Load; readonly unary: Load }> {
  const body = (fields: object) => JSON.stringify({ model: running.model, messages: [], ...fields });
  const stream = writeRequests([toRequest(CHAT, running.headers, body({ stream: true }))]);
  const whole = writeRequests([toRequest(CHAT, running.headers, body({}))]);
  await upstream.set({ events: 1_000_000, interval: 500_000 });
  const beside: Promise<Load>[] = [];
  const held = await runLoad(
    stream,
    running.port,
    { connections: streams, hold: 1, seconds: SECONDS },
    async (line) => {
      if (line.startsWith('{"open"'))
        beside.push(
          runLoad(whole, running.port, { connections: 64, rate: PER_SECOND, seconds: SECONDS - 1 }),
        );
      if (line.startsWith('{"measured"')) await upstream.finish();
    },
  );
  const [unary] = await Promise.all(beside);
  if (unary === undefined) throw new Error("the streams were never open");
  return { held, unary };
}

async function startAttack(running: RunningLockport) {
  const { headers, port, model } = running;
  await running.ask("/admin/v1/providers", {
    name: "endless",
    base_url: `http://127.0.0.1:${endless.port}/v1`,
  });
  const capabilities = ["chat", "chat_stream"];
  await running.ask("/admin/v1/models", {
    alias: "endless",
    provider: "endless",
    upstream_name: "u",
    capabilities,
  });
  const head = toRequest(CHAT, headers, "x".repeat(BODY_BYTES)).slice(0, -BODY_BYTES);
  const never = toRequest(CHAT, headers, JSON.stringify({ model: "endless", stream: true, messages: [] }));
  const body = JSON.stringify({ model, messages: [] }).padEnd(BODY_BYTES);
  const open = new Set<Socket>();
  let returned = 0;
  let isOver = false;
  const attack = (kind: "head" | "body" | "never") => {
    const socket = connect(port, "127.0.0.1");
    open.add(socket);
    socket.on("error", () => undefined);
    if (kind === "never") {
      socket.pause();
      socket.write(never);
    } else {
      if (kind === "body") socket.write(head);
      const text = kind === "body" ? body : head;
      let at = 0;
      const timer = setInterval(() => socket.write(text[at++] ?? " "), DRIP_MS);
      socket.on("close", () => clearInterval(timer));
      socket.resume();
    }
    socket.on("close", () => {
      open.delete(socket);
      if (isOver) return;
      returned += 1;
      setTimeout(() => attack(kind), DRIP_MS);
    });
  };
  for (let index = 0; index < attackers; index += 1) {
    attack(index < NEVER_READING ? "never" : index % 2 === 0 ? "head" : "body");
  }
  await Bun.sleep(SETTLE_MS);
  return {
    open: () => open.size,
    returned: () => returned,
    stop() {
      isOver = true;
      for (const socket of open) socket.destroy();
    },
  };
}

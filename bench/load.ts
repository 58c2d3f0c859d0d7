import { openStream, openUnary, percentile, startStreamUpstream, toRequest } from "./wire.ts";

/**
 * The load: it runs in the benchmark's own process, which pins itself beside the upstream.
 */
const RATE_PER_SECOND = 3_000;
const LATENCY_SECONDS = 6;
const WARM_UP_SHARE = 0.25;
const CHUNK_STREAMS = 20;
const CHUNKS = 4_000;
/** About 1,000 events a second over all streams: twenty readers at fifty tokens a second each. */
const CHUNK_INTERVAL_MS = 1;
/** Enough for a pause of 40 ms at this rate. */
const CONNECTIONS = 128;

/** An open loop at a fixed rate: requests are due on the clock, not when the last one came back. */
export async function measureLatency(
  port: number,
  authorization: string,
  body: string,
): Promise<{ p50: number; p99: number; n: number }> {
  const request = toRequest(`127.0.0.1:${port}`, authorization, body);
  const idle = await Promise.all(Array.from({ length: CONNECTIONS }, () => openUnary(port)));
  const all = [...idle];
  const delays: number[] = [];
  const running = new Set<Promise<void>>();
  const startedMs = performance.now();
  const total = RATE_PER_SECOND * LATENCY_SECONDS;
  let late = 0;
  for (let sent = 0; sent < total;) {
    const due = Math.floor(((performance.now() - startedMs) / 1000) * RATE_PER_SECOND);
    while (sent < Math.min(due, total)) {
      const connection = idle.pop();
      sent += 1;
      if (connection === undefined) {
        // What falls behind while the proxy warms up is not measured anyway.
        if (sent > total * WARM_UP_SHARE) late += 1;
        continue;
      }
      const one = connection.send(request).then((ms) => {
        delays.push(ms);
        idle.push(connection);
      });
      running.add(one);
      void one.finally(() => running.delete(one));
    }
    await new Promise<void>((done) => setImmediate(done));
  }
  await Promise.all(running);
  for (const connection of all) connection.close();
  const kept = delays.slice(Math.floor(delays.length * WARM_UP_SHARE));
  if (late > total * 0.02)
    throw new Error(`the load fell behind: ${late} of ${total} requests found no free connection`);
  return { p50: percentile(kept, 0.5), p99: percentile(kept, 0.99), n: kept.length };
}

/** The delay of an event from the upstream's write to the client's read, directly and through each proxy. */
export async function measureChunks(
  upstream: ReturnType<typeof startStreamUpstream>,
  port: number,
  authorization: string,
  body: string,
): Promise<{ p50: number; p99: number; n: number }> {
  const delays: number[] = [];
  const request = toRequest(`127.0.0.1:${port}`, authorization, body);
  const clients = await Promise.all(
    Array.from({ length: CHUNK_STREAMS }, () => openStream(request, port, (ms) => delays.push(ms))),
  );
  await untilOpen(upstream, CHUNK_STREAMS);
  for (let chunk = 0; chunk < CHUNKS; chunk += 1) {
    upstream.sendNext();
    await Bun.sleep(CHUNK_INTERVAL_MS);
  }
  upstream.finishAll();
  await Bun.sleep(100);
  for (const client of clients) client.close();
  const kept = delays.slice(Math.floor(delays.length * WARM_UP_SHARE));
  return { p50: percentile(kept, 0.5), p99: percentile(kept, 0.99), n: delays.length };
}

/** Opens `count` streams through the proxy, sends `events` on each, and counts what arrived. */
export async function holdStreams(
  upstream: ReturnType<typeof startStreamUpstream>,
  port: number,
  authorization: string,
  body: string,
  shape: { readonly count: number; readonly events: number; readonly onOpen: () => void },
): Promise<{ delivered: number; expected: number }> {
  const request = toRequest(`127.0.0.1:${port}`, authorization, body);
  const clients: Awaited<ReturnType<typeof openStream>>[] = [];
  const batch = 100;
  for (let opened = 0; opened < shape.count; opened += batch) {
    const wanted = Math.min(batch, shape.count - opened);
    clients.push(
      ...(await Promise.all(Array.from({ length: wanted }, () => openStream(request, port, () => {})))),
    );
    await untilOpen(upstream, opened + wanted);
  }
  for (let event = 0; event < shape.events; event += 1) {
    upstream.sendAll();
    await Bun.sleep(1_000);
  }
  shape.onOpen();
  upstream.finishAll();
  await Bun.sleep(1_500);
  const delivered = clients.reduce((sum, client) => sum + client.events(), 0);
  for (const client of clients) client.close();
  return { delivered, expected: shape.count * shape.events };
}

const OPEN_DEADLINE_MS = 10_000;

async function untilOpen(upstream: ReturnType<typeof startStreamUpstream>, count: number): Promise<void> {
  const deadline = performance.now() + OPEN_DEADLINE_MS;
  while (upstream.open() < count) {
    if (performance.now() > deadline)
      throw new Error(`only ${upstream.open()} of ${count} streams reached the upstream`);
    await Bun.sleep(1);
  }
}

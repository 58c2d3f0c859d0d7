import { type ScriptedUpstream, type UpstreamScript, startUpstream } from "../support/upstream.ts";
import { type Proxy, type Setup, startProxy } from "./harness.ts";

const running: { stop(): Promise<void> }[] = [];

/** Ends what the test started; for `afterEach`. */
export async function stopPairs(): Promise<void> {
  for (const each of running.splice(0).toReversed()) await each.stop();
}

/** A proxy in front of a scripted upstream; without a script the test answers each request through `nextCall`. */
export async function startPair(
  script?: UpstreamScript,
  setup: Partial<Setup> = {},
): Promise<{ readonly upstream: ScriptedUpstream; readonly proxy: Proxy }> {
  const upstream = await startUpstream(script === undefined ? {} : { script });
  const proxy = startProxy({ baseUrl: upstream.baseUrl, ...setup });
  running.push(upstream, proxy);
  return { upstream, proxy };
}

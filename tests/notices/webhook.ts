import { startUpstream, type UpstreamCall } from "../support/upstream.ts";

/** What a webhook was sent. */
export interface SentNotice {
  readonly id: string;
  readonly type: string;
  readonly at: string;
  readonly text: string;
  readonly [field: string]: any;
}

export interface Webhook {
  readonly url: string;
  /** All that came, in its order, whatever was answered. */
  readonly calls: readonly UpstreamCall[];
  readonly notices: readonly SentNotice[];
  types(): readonly string[];
  /** Fulfilled as soon as so many have come. */
  received(count: number): Promise<readonly SentNotice[]>;
  stop(): Promise<void>;
}

/** A receiver on loopback. `answer` is told how many came before. */
export async function startWebhook(
  answer: (call: UpstreamCall, before: number) => unknown = (call) => call.reply({ body: "ok" }),
): Promise<Webhook> {
  const calls: UpstreamCall[] = [];
  const notices: SentNotice[] = [];
  let onReceived = () => {};
  const upstream = await startUpstream({
    script(call) {
      calls.push(call);
      notices.push(JSON.parse(call.request.body.toString()));
      onReceived();
      return answer(call, calls.length - 1);
    },
  });
  return {
    url: `${new URL(upstream.baseUrl).origin}/services/SECRET-PATH`,
    calls,
    notices,
    types: () => notices.map(({ type }) => type),
    async received(count) {
      while (notices.length < count) {
        await new Promise<void>((resolve) => {
          onReceived = resolve;
        });
      }
      return notices;
    },
    stop: () => upstream.stop(),
  };
}

/** Scenes of a request's cost beside 10, 1,000 and 10,000 keys, models, limits or tags; the requests go through all of them. */
import { toLockport, type Caller, type Contender } from "./contenders.ts";
import { LATENCY, small, type Scene } from "./scenes.ts";

const SIZES = [10, 1_000, 10_000];
const KEYS_OF_PRINCIPAL = 500;
const AMOUNT = 1_000_000_000;
/** All of the largest size have their turn in a round. */
const LOAD = { connections: 256, rate: 2_500, seconds: 5, warm: 1 };

/** Brings in so many of a kind as a catalog file; callers use each of them. */
type Grow = (
  numbers: readonly number[],
  caller: Caller,
) => { readonly file?: object; readonly callers: readonly Caller[] };

const KINDS: { readonly [kind: string]: Grow } = {
  keys(numbers, { model }) {
    const toPrincipal = (index: number) => `bench-${Math.floor(index / KEYS_OF_PRINCIPAL)}`;
    const toId = (index: number) => `00000000-0000-4000-8000-${String(index).padStart(12, "0")}`;
    const toSecret = (index: number) => `lp_${String(index).padStart(43, "0")}`;
    const toKey = (index: number) => ({ principal: toPrincipal(index), secret: toSecret(index) });
    return {
      file: {
        principals: Object.fromEntries(numbers.map((index) => [toPrincipal(index), {}])),
        keys: Object.fromEntries(numbers.map((index) => [toId(index), toKey(index)])),
      },
      callers: numbers.map((index) => ({ headers: `authorization: Bearer ${toSecret(index)}\r\n`, model })),
    };
  },
  models(numbers, { headers }) {
    const prices = { input_tokens: 2.5, output_tokens: 10 };
    const settings = { provider: "bench", capabilities: ["chat"], prices };
    const toModel = (index: number) => ({ ...settings, upstream_name: `bench-${index}` });
    return {
      file: { models: Object.fromEntries(numbers.map((index) => [`bench-${index}`, toModel(index)])) },
      callers: numbers.map((index) => ({ headers, model: `bench-${index}` })),
    };
  },
  // Each limit holds for a tag of its own: what it costs is what it costs more than `tags`.
  limits(numbers, caller) {
    const toLimit = (index: number) => ({
      subject: { tag: `bench:${index}` },
      measure: "requests",
      window: "day",
      amount: AMOUNT,
    });
    return {
      file: { limits: Object.fromEntries(numbers.map((index) => [`bench-${index}`, toLimit(index)])) },
      callers: toTagged(numbers, caller),
    };
  },
  tags: (numbers, caller) => ({ callers: toTagged(numbers, caller) }),
};

function toTagged(numbers: readonly number[], { headers, model }: Caller): readonly Caller[] {
  return numbers.map((index) => ({ headers: `${headers}x-proxy-tags: bench:${index}\r\n`, model }));
}

/** The executable with so many of a kind. */
function toGrown(grow: Grow, size: number): Contender {
  const lockport = toLockport(undefined, size.toLocaleString("en"));
  return {
    ...lockport,
    async start(upstream) {
      const running = await lockport.start(upstream);
      const numbers = Array.from({ length: size }, (_, index) => index);
      const { file, callers } = grow(numbers, running);
      const providers = { bench: { base_url: `${upstream}/v1`, verify_tls: false } };
      if (file !== undefined)
        await running.ask("/admin/v1/catalog", { lockport_catalog: 1, providers, ...file });
      return { ...running, callers };
    },
  };
}

export function toGrowth(): readonly Scene[] {
  return Object.entries(KINDS).map(([kind, grow]) => ({
    name: `growth-${kind}`,
    about: `unary of 1 KB, ${LOAD.rate.toLocaleString("en")} requests/s over all ${kind}`,
    answers: {},
    load: LOAD,
    rounds: 3,
    figures: LATENCY.filter(({ name }) => /answer p(50|99), µs|CPU|never sent/.test(name)),
    contenders: SIZES.map((size) => toGrown(grow, size)),
    toRequest: small,
  }));
}

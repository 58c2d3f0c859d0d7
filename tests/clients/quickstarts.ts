import { cpSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { toGroupFolder } from "../../contrib/clients/groups.ts";
import { provide } from "../support/installation.ts";
import { runProcess } from "../support/process.ts";
import {
  ALIAS,
  GREETING,
  OWN_CREDENTIAL,
  PLAIN_GREETING,
  RECORDED,
  RELAYED,
  RELAY_MODEL,
  WEATHER,
  startSite,
  toInterpreter,
  type SeenRequest,
  type Site,
} from "./support.ts";
import type { Api, ClientRow, Medium } from "./table.ts";
import { startVendors, TOKENS } from "./vendors.ts";

const CREDENTIAL = "sk-of-the-vendors";
export const GREET = "greet me";
/** In the words of both mocks. */
const USE_TOOL = `the weather, please: use weather ${JSON.stringify(WEATHER)}`;

const DOLLARS_PER_MILLION = {
  input_tokens: 2,
  cached_input_tokens: 0.5,
  cache_write_tokens: 2.5,
  output_tokens: 10,
};

/** Aliases by what is asked of them; the one without a slash is for the client that takes no other. */
export const MODELS = {
  responses: "team/responder",
  messages: "team/messenger",
  chat: ALIAS,
  withoutSlash: "responder",
} as const;

/** Prices of the models of media, by the million. */
const MEDIA_MODELS = {
  transcription: { audio_seconds: 100 },
  speech: { requests: 15_000 },
  images: { input_tokens: 5, input_image_tokens: 10, output_tokens: 40 },
  moderation: { requests: 100 },
  embeddings: { input_tokens: 0.02 },
  rerank: { search_units: 2000 },
} as const;

/** A site whose vendors serve every capability, each by a priced alias. */
export async function startVendorSite(): Promise<Site> {
  const site = await startSite();
  const vendors = startVendors(CREDENTIAL, { greeting: GREETING, plainGreeting: PLAIN_GREETING });
  const add = (name: string, capability: string, alias: string, pricing: Record<string, number>) =>
    provide(site.url, site.key, {
      name,
      baseUrl: `${vendors.url}/v1`,
      apiKey: CREDENTIAL,
      ...(capability === "messages" && { more: { auth_style: "x-api-key" } }),
      models: { [alias]: `vendor-${capability}` },
      capabilities: [capability],
      pricing,
    });
  await add("openai", "responses", MODELS.responses, DOLLARS_PER_MILLION);
  await add("openai-too", "responses", MODELS.withoutSlash, DOLLARS_PER_MILLION);
  await add("anthropic", "messages", MODELS.messages, DOLLARS_PER_MILLION);
  for (const [capability, pricing] of Object.entries(MEDIA_MODELS)) {
    await add(capability, capability, capability, pricing);
  }
  return {
    ...site,
    async stop() {
      await site.stop();
      await vendors.stop();
    },
  };
}

/** An API of the table, or Anthropic's messages through the relay, with the client's own credential. */
export type Way = Api | "relay";

/** Runs a file of `quickstarts` with addresses and the key in the variables that its client reads. */
export async function runQuickstart(
  site: Site,
  { group, isWithoutSlash, isWithoutLineSeparator }: ClientRow,
  { file, way = "responses" }: { readonly file: string; readonly way?: Way },
): Promise<Record<string, unknown>> {
  const folder = join(toGroupFolder(group), "quickstarts");
  mkdirSync(folder, { recursive: true });
  const path = join(folder, file);
  cpSync(join(import.meta.dir, "quickstarts", file), path);
  const media = Object.keys(MEDIA_MODELS).map((name) => [name.toUpperCase(), name]);
  const { code, data, messages } = await runProcess([toInterpreter(group), path], {
    cwd: folder,
    env: {
      HOME: folder,
      API: way,
      MODEL: way === "relay" ? RELAY_MODEL : isWithoutSlash === true ? MODELS.withoutSlash : MODELS[way],
      GREET: isWithoutLineSeparator === true ? `${GREET} plainly` : GREET,
      USE_TOOL,
      OPENAI_BASE_URL: `${site.url}/v1`,
      OPENAI_API_KEY: site.key,
      ...(way === "relay"
        ? {
            ANTHROPIC_BASE_URL: `${site.url}/transparent/messages/${site.token}`,
            ANTHROPIC_API_KEY: OWN_CREDENTIAL,
          }
        : {
            // The Vercel AI SDK has the version in it.
            ANTHROPIC_BASE_URL: file === "ai-sdk.mjs" ? `${site.url}/v1` : site.url,
            ANTHROPIC_API_KEY: site.key,
          }),
      CO_API_URL: site.url,
      CO_API_KEY: site.key,
      // Else it fetches a list of prices from elsewhere.
      LITELLM_LOCAL_MODEL_COST_MAP: "True",
      ...Object.fromEntries(media),
    },
  });
  if (code !== 0) throw new Error(`${file} ended with ${code}: ${data}${messages}`);
  // LiteLLM says more than it is asked.
  return JSON.parse(data.trim().split("\n").at(-1) ?? "");
}

/** Fields that an event has to have; `billed` are its quantities by unit, those of zero left out. */
type Expected = Partial<SeenRequest> & { readonly billed: Record<string, number> };

/** The event as it is compared. */
export function toSeen(event: SeenRequest): SeenRequest & Expected {
  const told = Object.entries(event.unit_details ?? {}).map(([unit, { quantity }]) => [unit, quantity]);
  const quantities: Record<string, number> = { ...event.units, ...Object.fromEntries(told) };
  const billed = Object.entries(quantities).filter(([, quantity]) => quantity > 0);
  return { ...event, billed: Object.fromEntries(billed) };
}

/** The events of these uses in their order. */
export function toEvents(
  way: Way,
  { uses, isWithoutSlash, makesStreamsOf }: Pick<ClientRow, "uses" | "isWithoutSlash" | "makesStreamsOf">,
): readonly Expected[] {
  const target =
    way === "relay"
      ? { endpoint: "/v1/messages", provider: "transparent:messages", model: RELAY_MODEL }
      : { endpoint: way, model: isWithoutSlash === true ? MODELS.withoutSlash : MODELS[way] };
  return uses.flatMap((use) => {
    const stages = use.startsWith("tools") ? (["call", "done"] as const) : (["text"] as const);
    return stages.map((stage) => {
      const { billed, cost } = toUse(way, stage);
      return Object.assign({}, target, {
        outcome: "ok",
        status_code: 200,
        error_kind: null,
        streamed: use.endsWith("stream") && way !== makesStreamsOf,
        billed,
        cost,
      });
    });
  });
}

interface Recorded {
  readonly billed: Record<string, number>;
  readonly cost: number;
}

function toUse(way: Way, stage: keyof typeof TOKENS): Recorded {
  if (way === "chat" || way === "relay") {
    const { units, cost } = (way === "chat" ? RECORDED : RELAYED)[stage];
    return { billed: units, cost };
  }
  const { plain, cached, written, output } = TOKENS[stage];
  const prices = DOLLARS_PER_MILLION;
  return {
    billed: {
      input_tokens: plain,
      output_tokens: output,
      ...(cached > 0 && { cached_input_tokens: cached }),
      ...(written > 0 && { cache_write_tokens: written }),
    },
    cost: toDollars(
      plain * prices.input_tokens +
        cached * prices.cached_input_tokens +
        written * prices.cache_write_tokens +
        output * prices.output_tokens,
    ),
  };
}

/** Amounts are counted in millionths. */
function toDollars(microdollars: number): number {
  return Number((microdollars / 1e6).toFixed(12));
}

const IMAGES = {
  model: "images",
  billed: { input_tokens: 40, input_image_tokens: 10, output_tokens: 200 },
  cost: toDollars(40 * 5 + 10 * 10 + 200 * 40),
};
const TRANSCRIPTION = { model: "transcription", billed: { audio_seconds: 9 }, cost: toDollars(900) };
const RERANK = { model: "rerank", endpoint: "rerank", billed: { search_units: 1 }, cost: toDollars(2000) };

/** The event of each call. */
export const MEDIA_EVENTS: { readonly [medium in Medium]: Expected } = {
  transcription: { ...TRANSCRIPTION, endpoint: "transcription" },
  translation: { ...TRANSCRIPTION, endpoint: "translation" },
  speech: { model: "speech", endpoint: "speech", billed: { requests: 1 }, cost: toDollars(15_000) },
  images: { ...IMAGES, endpoint: "images" },
  "images/edits": { ...IMAGES, endpoint: "images/edits" },
  moderation: { model: "moderation", endpoint: "moderation", billed: { requests: 1 }, cost: toDollars(100) },
  embeddings: {
    model: "embeddings",
    endpoint: "embeddings",
    billed: { input_tokens: 8 },
    cost: toDollars(0.16),
  },
  "rerank v1": RERANK,
  "rerank v2": RERANK,
};

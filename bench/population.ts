/** Callers, models and call sites of a filled folder: a company of some hundred people, for `bench/fill.ts`. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createCatalog } from "#catalog/catalog.ts";
import { createKeys } from "#identity/keys.ts";
import { createPrincipals } from "#identity/principals.ts";
import type { Clock, InstantUs } from "#kernel/clock.ts";
import { SECRET_KEY_BYTES, createKeyring } from "#kernel/crypto.ts";
import type { Ids } from "#kernel/ids.ts";
import { createLog } from "#kernel/log.ts";
import type { PriceSet } from "#kernel/units.ts";
import { openCatalogDatabase } from "#storage/sqlite/catalog/catalog-database.ts";
import type { UsageDimensions } from "#usage/event.ts";
import { RELAY_PROVIDER } from "#usage/event.ts";
import { createChance, createWeighted, createZipf, type Chance } from "./chance.ts";

/** A company of some hundred people, as `docs/performance.md` describes it. */
const PRINCIPALS = 200;
const KEYS = 536;
const MODELS = 60;
/** Ten that exist, one that was deleted, and the relay. */
const PROVIDERS = 12;
const TAG_SETS = 300;
/** A call site is what repeats: with its failures, which report no usage, it makes up to two combinations. */
const SITES = 6_400;

const silentLog = createLog({
  level: "error",
  json: false,
  write: console.error,
  timestamp: () => "",
});

export interface Model {
  readonly alias: string;
  readonly upstreamName: string;
  readonly provider: number;
  readonly endpoint: string;
  readonly prices: PriceSet;
  readonly medianMs: number;
}

/** A call site: everything about an event that repeats. */
export interface Site {
  readonly subject: UsageDimensions;
  readonly model: Model;
  readonly isRelay: boolean;
  readonly streams: boolean;
}

/** A caller that the benchmark asks as. */
export interface Asker {
  readonly principal: string;
  readonly keyId: string;
  readonly key: string;
}

export interface Population {
  readonly sites: readonly Site[];
  readonly admin: Asker;
  /** The most and one of the least busy. */
  readonly biggest: Asker;
  readonly smallest: Asker;
}

/** Makes a data folder with its catalog: names, keys and models that the events then speak of. The same seed, the same ids. */
export async function makePopulation(
  dataDir: string,
  { seed, bornAtUs }: { readonly seed: number; readonly bornAtUs: InstantUs },
): Promise<Population> {
  const chance = createChance(seed);
  const ids = createSeededIds(createChance(seed + 1));
  let nowUs = bornAtUs;
  const clock: Clock = { nowUs: () => (nowUs += 1000), monotonicMs: () => performance.now() };
  mkdirSync(dataDir, { recursive: true, mode: 0o700 });
  const secret = ids.randomBytes(SECRET_KEY_BYTES);
  writeFileSync(join(dataDir, "secret.key"), `${Buffer.from(secret).toString("base64")}\n`, { mode: 0o600 });
  const secrets = createKeyring(secret);
  const database = await openCatalogDatabase({
    path: join(dataDir, "catalog.db"),
    secrets,
    clock,
    log: silentLog,
  });
  const deps = { store: database.identity, secrets, clock, ids };
  const principals = createPrincipals(deps);
  const keys = createKeys(deps);
  const catalog = createCatalog({ store: database.catalog, secrets, clock, ids });

  const createKey = async (principal: { id: string; name: string }): Promise<Asker & { id: string }> => {
    const { secret: made, plaintext } = await keys.create(
      { principalId: principal.id, label: "benchmark" },
      null,
    );
    return { id: principal.id, principal: principal.name, keyId: made.id, key: plaintext };
  };
  const admin = await createKey(await principals.create({ name: "admin", role: "admin" }, null));
  const owners = [];
  for (let index = 0; index < PRINCIPALS; index += 1) {
    const kind = index % 5 === 0 ? "service" : "user";
    owners.push(await principals.create({ name: `${kind}-${index}`, kind }, null));
  }
  const askers: (Asker & { readonly id: string })[] = [];
  const toOwner = createZipf(PRINCIPALS, 0.8);
  // Each has one; the busy ones have more.
  for (let index = 0; index < KEYS; index += 1) {
    askers.push(await createKey(owners[index < PRINCIPALS ? index : toOwner(chance)]!));
  }

  const providerIds: string[] = [];
  for (let index = 0; index < PROVIDERS - 1; index += 1) {
    const name = `provider-${index}`;
    providerIds.push(
      (await catalog.createProvider({ name, base_url: `https://${name}.invalid/v1` }, null)).id,
    );
  }
  const models = toModels(chance);
  for (const { alias, upstreamName, provider } of models) {
    await catalog.createModel({ alias, provider: `provider-${provider}`, upstreamName }, null);
  }
  // Its models go with it; what was used of it stays in the ledger.
  await catalog.deleteProvider(`provider-${PROVIDERS - 2}`, null);
  await database.close();

  const sites = toSites(chance, { askers, models, providerIds, ids });
  return { sites, admin, biggest: askers[0]!, smallest: askers[PRINCIPALS - 1]! };
}

function toModels(chance: Chance): readonly Model[] {
  return Array.from({ length: MODELS }, (_, index) => {
    const isEmbedding = index % 12 === 7;
    const price = (perMillion: number) => Math.round(perMillion * 1e6);
    const input = [0.15, 0.6, 1.25, 2.5, 3, 5][index % 6]!;
    const output = isEmbedding ? {} : { output_tokens: price(input * 4) };
    const prices =
      // Some have no price at all, some none for what was cached.
      index % 9 === 5
        ? {}
        : index % 7 === 3
          ? { input_tokens: price(input), ...output }
          : { input_tokens: price(input), ...output, cached_input_tokens: price(input / 4) };
    return {
      alias: `model-${index}`,
      upstreamName: `vendor/model-${index}-2026-01`,
      provider: index < PROVIDERS - 1 ? index : Math.floor(chance() ** 2 * (PROVIDERS - 1)),
      endpoint: isEmbedding ? "embeddings" : index % 20 === 13 ? "completions" : "chat",
      prices,
      medianMs: isEmbedding ? 90 : 900 + 5_000 * chance() ** 2,
    };
  });
}

const CLIENTS: readonly (string | null)[] = [
  ...Array.from({ length: 22 }, (_, index) => `OpenAI/Python 1.${index + 40}.0`),
  ...Array.from({ length: 12 }, (_, index) => `OpenAI/JS 4.${index + 60}.1`),
  ...Array.from({ length: 6 }, (_, index) => `AsyncOpenAI/Python 1.${index + 70}.2`),
  ...Array.from({ length: 5 }, (_, index) => `langchain-openai/0.3.${index}`),
  "curl/8.5.0",
  "litellm/1.60.0",
  "python-httpx/0.28.1",
  "Go-http-client/2.0",
  null,
];

function toTagSets(chance: Chance): readonly (readonly string[])[] {
  const sets = new Map<string, readonly string[]>([["", []]]);
  const toApp = createZipf(60, 0.7);
  while (sets.size < TAG_SETS) {
    const tags = [`app:service-${toApp(chance)}`];
    if (chance() < 0.8) tags.push(`env:${chance() < 0.7 ? "prod" : chance() < 0.5 ? "test" : "dev"}`);
    if (chance() < 0.6) tags.push(`team:team-${Math.floor(chance() * 12)}`);
    sets.set(tags.join(), tags);
  }
  return [...sets.values()];
}

/** The most popular first. */
function toSites(
  chance: Chance,
  given: {
    readonly askers: readonly (Asker & { readonly id: string })[];
    readonly models: readonly Model[];
    readonly providerIds: readonly string[];
    readonly ids: Ids;
  },
): readonly Site[] {
  const { askers, models, providerIds, ids } = given;
  const toAsker = createZipf(askers.length, 0.7);
  const toModel = createZipf(models.length, 0.9);
  const toClient = createZipf(CLIENTS.length, 0.8);
  const tagSets = toTagSets(chance);
  const toTags = createWeighted(tagSets.map((_, index) => (index === 0 ? 0.3 : 1 / (index + 3) ** 0.8)));
  const tokenIds = askers.map(() => ids.uuid());
  const sites = new Map<string, Site>();
  // The first principal's first key and the last one's are asked for, so each has some.
  while (sites.size < SITES) {
    const at = sites.size === 0 ? 0 : sites.size % 600 === 599 ? PRINCIPALS - 1 : toAsker(chance);
    const asker = askers[at]!;
    const isRelay = chance() < 0.04;
    const model = models[toModel(chance)]!;
    const tags = tagSets[toTags(chance)]!;
    const client = isRelay ? `claude-cli/2.0.${Math.floor(chance() * 4)}` : CLIENTS[toClient(chance)]!;
    const subject = {
      principalId: asker.id,
      principalName: asker.principal,
      keyId: isRelay ? null : asker.keyId,
      relayTokenId: isRelay ? tokenIds[at]! : null,
      providerId: isRelay ? RELAY_PROVIDER : providerIds[model.provider]!,
      model: isRelay && chance() < 0.1 ? null : model.alias,
      upstreamName: isRelay ? null : model.upstreamName,
      endpoint: isRelay ? "/v1/messages" : model.endpoint,
      client,
      tags,
      fixedTags: [],
    };
    sites.set(JSON.stringify(subject), {
      subject,
      model,
      isRelay,
      streams: isRelay || model.endpoint === "chat",
    });
  }
  return [...sites.values()];
}

function createSeededIds(chance: Chance): Ids {
  const randomBytes = (sizeBytes: number) =>
    Uint8Array.from({ length: sizeBytes }, () => Math.floor(chance() * 256));
  return {
    uuid() {
      const hex = Buffer.from(randomBytes(16)).toString("hex");
      return `0190c3a1-${hex.slice(0, 4)}-7${hex.slice(5, 8)}-8${hex.slice(9, 12)}-${hex.slice(12, 24)}`;
    },
    randomBytes,
  };
}

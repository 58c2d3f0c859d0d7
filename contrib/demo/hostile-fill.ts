import { isUpstreamName } from "#catalog/model.ts";
import { toStoredClient, toTags } from "#forward/headers.ts";
import { readAsked } from "#forward/relay-body.ts";
import { RelayTerms } from "#forward/relay.ts";
import { requireLabel } from "#identity/keys.ts";
import type { Principal } from "#identity/principal.ts";
import type { InstantUs } from "#kernel/clock.ts";
import { ProxyError } from "#kernel/errors.ts";
import {
  ALIAS_LENGTH_MAX,
  ALIAS_PATTERN,
  isName,
  LABEL_LENGTH_MAX,
  truncateCodePoints,
  UPSTREAM_NAME_LENGTH_MAX,
} from "#kernel/text.ts";
import { toErrorKind } from "#usage/meter.ts";
import { createChance } from "../../bench/chance.ts";
import type { Course } from "./course.ts";
import { CONTROL_TEXTS, HOSTILE_TEXTS, type HostileText } from "./hostile-texts.ts";
import { openInstallation, type Installation } from "./installation.ts";
import { createSimulatedIds, createSimulatedTime, HOUR_US, type SimulatedTime } from "./simulated-time.ts";
import { playRequest, toTerms, type PlannedRequest } from "./traffic.ts";

/** Form in which one text stands now, as in which each field has it; null where the field does not take it. */
export interface Planted extends HostileText {
  readonly principalName: string;
  readonly keyLabel: string | null;
  readonly relayTokenLabel: string | null;
  /** The alias that its requests asked for; `hostile/<number>` where the text is no alias. */
  readonly alias: string;
  readonly isAlias: boolean;
  readonly upstreamName: string | null;
  /** The model of its relayed requests. */
  readonly relayedModel: string | null;
  readonly client: string | null;
  readonly tags: readonly string[];
  readonly errorKind: string;
}

export interface FilledHostile {
  readonly dataDir: string;
  readonly events: number;
  readonly planted: readonly Planted[];
  /** The file with the password of `admin`, and an API key of it. */
  readonly adminPasswordPath: string;
  readonly adminKey: string;
}

/**
 * Plants every hostile text into a data folder, new or filled, that nothing serves from: once, and with an hour of usage
 * that ends at `untilUs` (default: now). Throws as `openInstallation` does, and `provider_exists` the second time.
 */
export async function fillHostile(
  dataDir: string,
  { untilUs = Date.now() * 1000 }: { readonly untilUs?: InstantUs } = {},
): Promise<FilledHostile> {
  const time = createSimulatedTime(untilUs - HOUR_US);
  const ids = createSimulatedIds(createChance(HOSTILE_TEXTS.length), time.clock);
  const installation = await openInstallation(dataDir, { clock: time.clock, ids });
  try {
    const admin = await installation.principals.ensureAdmin();
    const { planted, events } = await plantHostile(installation, { time, admin, untilUs });
    const { plaintext: adminKey } = await installation.keys.create(
      { principalId: admin.id, label: "browser" },
      null,
    );
    return { dataDir, events, planted, adminPasswordPath: installation.adminPasswordPath, adminKey };
  } finally {
    await installation.close();
  }
}

/** Plants the texts with open parts, under the clock of `time`, which it runs. The audit log names `admin`. */
export async function plantHostile(
  installation: Installation,
  given: { readonly time: SimulatedTime; readonly admin: Principal; readonly untilUs: InstantUs },
): Promise<{ readonly planted: readonly Planted[]; readonly events: number }> {
  const { time, untilUs } = given;
  const actor = { principalId: given.admin.id };
  const { catalog } = installation;
  await catalog.createProvider({ name: HOSTILE_PROVIDER, base_url: "https://hostile.example.com/v1" }, actor);
  for (const { text } of HOSTILE_TEXTS.filter((each) => isName(each.text))) {
    await catalog.createProvider({ name: text, base_url: `https://example.com/${text}/v1` }, actor);
  }
  await catalog.loadFeed(
    {
      version: `<b onclick="window.__pwned=1">2026</b>`,
      entries: HOSTILE_TEXTS.flatMap(({ text }) => {
        const model = truncateCodePoints(text, UPSTREAM_NAME_LENGTH_MAX);
        return isUpstreamName(model) ? [{ model, unit: "input_tokens", price_per_million: 1.5 }] : [];
      }),
    },
    actor,
  );

  const texts = [...HOSTILE_TEXTS, ...CONTROL_TEXTS];
  const beganUs = time.clock.nowUs();
  const stepUs = Math.floor((untilUs - beganUs) / (texts.length + 1));
  const planted: Planted[] = [];
  let events = 0;
  for (const [index, text] of texts.entries()) {
    const one = await plantOne(installation, text, { index, actor });
    planted.push(one.planted);
    for (const [nth, request] of one.requests.entries()) {
      events += 1;
      playRequest({ time, installation }, request, time.clock.nowUs() + nth * 1_000_000);
    }
    await time.runUntil(beganUs + (index + 1) * stepUs);
  }
  await time.runUntil(untilUs);
  return { planted, events };
}

/** Its name is a word that objects know. */
const HOSTILE_PROVIDER = "tostring";
const SSO_ISSUER = "https://login.example.com";
const SUBJECT_PATTERN = /^[\x20-\x7e]{1,255}$/;

interface PlantedOne {
  readonly planted: Planted;
  readonly requests: readonly PlannedRequest[];
}

async function plantOne(
  { catalog, keys, relayTokens, ssoAccounts }: Installation,
  hostile: HostileText,
  { index, actor }: { readonly index: number; readonly actor: { readonly principalId: string } },
): Promise<PlantedOne> {
  const { name, text } = hostile;
  const principal = await ssoAccounts.settle(toIdentity(text, index), null);
  const owner = { principalId: principal.id };
  const label = toLabel(text);
  const ownKey = await keys.create({ ...owner, label: label ?? `text ${index}` }, owner);
  const ownToken = await relayTokens.create({ ...owner, label: label ?? `text ${index}` }, owner);

  const wantedAlias = truncateCodePoints(text, ALIAS_LENGTH_MAX);
  const isAlias = ALIAS_PATTERN.test(wantedAlias);
  const alias = isAlias ? wantedAlias : `hostile/${index}`;
  const wantedUpstream = truncateCodePoints(text, UPSTREAM_NAME_LENGTH_MAX);
  const upstreamName = isUpstreamName(wantedUpstream) ? wantedUpstream : null;
  const model = await catalog.createModel(
    { alias, provider: HOSTILE_PROVIDER, upstreamName: upstreamName ?? `text-${index}` },
    actor,
  );

  const headers = toHeaders(text);
  const caller = { principalId: principal.id, principalName: principal.name, fixedTags: [] };
  const { model: relayedModel } = readAsked(Buffer.from(JSON.stringify({ model: wantedUpstream })));
  const errorKind = toErrorKind(400, { error: { type: text } });
  const sent = { isRetried: false, streamed: false };
  const proxied = {
    ...sent,
    credentialId: ownKey.secret.id,
    head: { caller: { ...caller, keyId: ownKey.secret.id }, headers },
    terms: toTerms(model, "chat"),
  };
  const relayed = {
    ...sent,
    credentialId: ownToken.secret.id,
    head: { caller: { ...caller, relayTokenId: ownToken.secret.id }, headers },
    terms: new RelayTerms({ method: "POST", path: `/v1/${encodeURIComponent(text)}` }, relayedModel, 0),
    streamed: true,
  };
  return {
    planted: {
      name,
      text,
      principalName: principal.name,
      keyLabel: label,
      relayTokenLabel: label,
      alias,
      isAlias,
      upstreamName,
      relayedModel,
      client: toStoredClient(headers),
      tags: toTags(headers, []),
      errorKind,
    },
    requests: [
      { ...GOOD, ...proxied },
      { ...toRefused(errorKind), ...proxied },
      { ...GOOD, ...relayed },
    ],
  };
}

/** The subject that an identity provider tells for this name. */
function toIdentity(text: string, index: number) {
  const claims = new Map<string, unknown>([
    ["preferred_username", text],
    ["email", `${text}@example.com`],
  ]);
  return {
    issuer: SSO_ISSUER,
    subject: SUBJECT_PATTERN.test(text) ? text : `subject-${index}`,
    claim: (claim: string) => claims.get(claim),
  };
}

function toLabel(text: string): string | null {
  const label = truncateCodePoints(text, LABEL_LENGTH_MAX);
  try {
    requireLabel(label);
    return label;
  } catch (refusal) {
    if (!(refusal instanceof ProxyError)) throw refusal;
    return null;
  }
}

/** Headers as they come over a socket, one character per byte, without characters that a header cannot carry. */
function toHeaders(text: string): Headers {
  const bytes = Buffer.from(text).toString("latin1");
  // Short enough for the limit of the whole header.
  const word = bytes.slice(0, 200);
  const headers = new Headers();
  for (const [name, value] of [
    ["user-agent", bytes],
    ["x-proxy-tags", `${word},text:${word},${word}:text`],
  ] as const) {
    try {
      headers.set(name, value);
    } catch (refusal) {
      if (!(refusal instanceof TypeError)) throw refusal;
    }
  }
  return headers;
}

const GOOD: Course = {
  answer: { statusCode: 200, firstByteUs: 400_000 },
  durationUs: 900_000,
  ending: {
    kind: "answered",
    metered: {
      usage: {
        shape: "inclusive",
        quantities: { input_tokens: 120, output_tokens: 40 },
      },
      errorKind: null,
      complete: true,
    },
  },
};

function toRefused(errorKind: string): Course {
  return {
    answer: { statusCode: 400, firstByteUs: 90_000 },
    durationUs: 90_000,
    ending: { kind: "answered", metered: { usage: null, errorKind, complete: true } },
  };
}

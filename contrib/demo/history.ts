import type { Actor } from "#audit/event.ts";
import type { InstantUs } from "#kernel/clock.ts";
import type { LimitDraft } from "#limits/limit-draft.ts";
import { MEMBERS, type Member, type Stage } from "./stage.ts";
import {
  FEEDS,
  LATE_MODEL,
  LATE_PROVIDER,
  LIVE_PROVIDER,
  MODELS,
  RELAYED,
  toProviders,
} from "./catalogue.ts";
import { DAY_US, HOUR_US, SECOND_US, type SimulatedTime } from "./simulated-time.ts";

/** An event in the installation's history: `at` is the share of the whole time that had passed, from 0 to 1. */
interface Happening {
  readonly at: number;
  readonly act: (stage: Stage) => Promise<unknown>;
}

export interface Span {
  readonly fromUs: InstantUs;
  readonly untilUs: InstantUs;
}

/** Adds everything that admins and owners do to the time that is to run. */
export function planHistory(
  time: SimulatedTime,
  stage: Stage,
  { span, liveBaseUrl }: { readonly span: Span; readonly liveBaseUrl: string | null },
): void {
  const happenings = [...toSetUp(liveBaseUrl), ...MEMBERS.flatMap(toArrival), ...CHANGES, ...toTerms(span)];
  let lastUs = span.fromUs;
  for (const { at, act } of happenings.toSorted((left, right) => left.at - right.at)) {
    // An admin clicks once in some seconds.
    lastUs = Math.max(lastUs + CLICK_US, toOfficeInstant(at, span));
    time.at(lastUs, async () => void (await act(stage)));
  }
}

const CLICK_US = 7 * SECOND_US;
/** Soon enough that a server tells of it by its webhook, which does so seven days before, and not of a key that is newer. */
const KEY_LEFT_US = 7 * DAY_US - HOUR_US / 2;
/** The last change lies at least this far back. */
const QUIET_US = HOUR_US;

const ada = (stage: Stage): Actor => ({ principalId: stage.find("ada").principal.id });
const grace = (stage: Stage): Actor => ({ principalId: stage.find("grace").principal.id });

/** The first two admins are made by `admin`, everything else by them. */
function toSetUp(liveBaseUrl: string | null): readonly Happening[] {
  return [
    ...toProviders(liveBaseUrl).map((draft) => ({
      at: AFTER_FIRST_ADMINS,
      act: (stage: Stage) => stage.installation.catalog.createProvider(draft, ada(stage)),
    })),
    ...MODELS.map((draft) => ({
      at: AFTER_FIRST_ADMINS,
      act: (stage: Stage) => stage.installation.catalog.createModel(draft, ada(stage)),
    })),
    {
      at: AFTER_FIRST_ADMINS,
      act: (stage) => stage.installation.catalog.loadFeed(FEEDS[0], ada(stage)),
    },
  ];
}

const AFTER_FIRST_ADMINS = 0.0001;

function toArrival(member: Member): readonly Happening[] {
  const { name, joinsAt, keys, relayTokens = [] } = member;
  const isFirst = member.role === "admin";
  const at = isFirst ? joinsAt : joinsAt + 2 * AFTER_FIRST_ADMINS;
  return [
    { at, act: async (stage) => stage.enter(member, await (isFirst ? byAdmin(stage) : ada(stage))) },
    ...keys.map((label) => ({ at, act: (stage: Stage) => stage.createKey(name, label) })),
    ...relayTokens.map((label) => ({ at, act: (stage: Stage) => stage.createRelayToken(name, label) })),
  ];
}

async function byAdmin({ installation }: Stage): Promise<Actor> {
  return { principalId: (await installation.principals.ensureAdmin()).id };
}

/** Limits in the order of their creation. The usage of sixty days stays below those that refuse. */
const LIMITS: readonly LimitDraft[] = [
  {
    name: "everyone: month",
    subject: {},
    measure: "cost",
    amount: 250,
    window: "month",
    action: "warn",
  },
  { name: "each person: week", subject: {}, each: "principal", measure: "cost", amount: 15, window: "week" },
  {
    name: "research: month",
    subject: { tag: "team:research" },
    measure: "cost",
    amount: 25,
    window: "month",
    action: "warn",
  },
  { name: "opus: month", subject: { model: RELAYED.opus }, measure: "cost", amount: 60, window: "month" },
  {
    name: "support-bot: day",
    subject: { principal: "support-bot" },
    measure: "tokens",
    amount: 3_000_000,
    window: "day",
  },
  {
    name: "nightly-eval: at once",
    subject: { principal: "nightly-eval" },
    measure: "concurrent",
    amount: 8,
  },
  // The live provider: a few questions in the playground use it up, and its notice follows.
  {
    name: "lab trial: hour",
    subject: { model: "qwen3-32b", principal: "admin" },
    measure: "requests",
    amount: 5,
    window: "hour",
  },
];

/** The team sets limits once it knows its usage. */
function toTerms({ untilUs }: Span): readonly Happening[] {
  return [
    ...LIMITS.map((draft) => ({
      at: 0.57,
      act: (stage: Stage) => stage.installation.createLimit(draft, grace(stage)),
    })),
    {
      at: 0.58,
      act: (stage) => stage.endKey("alan", "laptop", { atUs: untilUs + KEY_LEFT_US, actor: ada(stage) }),
    },
  ];
}

const CHANGES: readonly Happening[] = [
  {
    at: 0.15,
    act: (stage) =>
      stage.installation.catalog.updateProvider("openai", { max_concurrency: 96 }, grace(stage)),
  },
  {
    at: 0.2,
    act: (stage) => stage.installation.catalog.createProvider(LATE_PROVIDER, ada(stage)),
  },
  { at: 0.2, act: (stage) => stage.installation.catalog.createModel(LATE_MODEL, ada(stage)) },
  // A name moves to a better model, and its callers change no setting.
  {
    at: 0.33,
    act: (stage) => stage.installation.catalog.updateModel("default", { target: "gpt-5-mini" }, grace(stage)),
  },
  { at: 0.4, act: (stage) => stage.createKey("ken", "laptop (new)") },
  { at: 0.402, act: (stage) => stage.deleteKey("ken", "laptop") },
  {
    at: 0.45,
    act: (stage) => {
      const pricing = { input_tokens: 0.25, output_tokens: 2, cached_input_tokens: 0.025 };
      return stage.installation.catalog.updateModel("gpt-5-mini", { pricing }, ada(stage));
    },
  },
  { at: 0.5, act: (stage) => stage.leave("tony", ada(stage)) },
  { at: 0.52, act: (stage) => stage.deleteRelayToken("ken", "build box") },
  { at: 0.6, act: (stage) => stage.installation.catalog.loadFeed(FEEDS[1], grace(stage)) },
  {
    at: 0.66,
    act: (stage) =>
      stage.installation.principals.revokeSessions(stage.find("dennis").principal.id, ada(stage)),
  },
  { at: 0.66, act: (stage) => stage.setEnabled("dennis", false, ada(stage)) },
  // Its usage stays.
  { at: 0.7, act: (stage) => stage.installation.catalog.deleteModel("gpt-4o-mini", ada(stage)) },
  {
    at: 0.75,
    act: (stage) =>
      stage.installation.catalog.updateProvider(LIVE_PROVIDER, { timeout_read: 180 }, grace(stage)),
  },
  { at: 0.82, act: (stage) => stage.createKey("barbara", "spreadsheet trial") },
  { at: 0.86, act: (stage) => stage.deleteKey("barbara", "spreadsheet trial") },
  {
    at: 0.9,
    act: (stage) => stage.installation.catalog.updateProvider("together", { enabled: false }, ada(stage)),
  },
];

/** That moment, moved into the working hours of its day; later moments never come before earlier ones. */
function toOfficeInstant(at: number, { fromUs, untilUs }: Span): InstantUs {
  const instantUs = fromUs + at * (untilUs - fromUs);
  const dayUs = Math.floor(instantUs / DAY_US) * DAY_US;
  const officeUs = dayUs + OPENS_HOUR * HOUR_US + ((instantUs - dayUs) * OPEN_HOURS) / 24;
  return Math.round(Math.min(Math.max(officeUs, fromUs), untilUs - QUIET_US));
}

const OPENS_HOUR = 8;
const OPEN_HOURS = 9;

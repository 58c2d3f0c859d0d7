/**
 * A data folder with the life of an installation: people and services, providers and models, keys, and weeks of usage that
 * end now, written through the product's own parts under a clock that is passed in.
 *
 *   npm run demo:fill -- --data-dir DIR [--days 60] [--seed 1] [--until 2026-11-20T15:00:00Z] [--live PORT]
 *
 * The same seed and end make the same usage; keys and passwords are new each time. With `--live` one provider is the model
 * server of this folder on that port, so that its models answer.
 */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import type { InstantUs } from "#kernel/clock.ts";
import { createChance, type Chance } from "../../bench/chance.ts";
import { LIVE_MODELS, LIVE_PROVIDER } from "./catalogue.ts";
import { HABITS, type Habit } from "./habits.ts";
import { planHistory, type Span } from "./history.ts";
import { openInstallation } from "./installation.ts";
import {
  toCount,
  toHourShare,
  createSimulatedIds,
  createSimulatedTime,
  DAY_US,
  HOUR_US,
  SECOND_US,
  type SimulatedTime,
} from "./simulated-time.ts";
import { createStage, type Stage } from "./stage.ts";
import { playRequest, planRequest } from "./traffic.ts";
import { findIncident, toIncidents, type Incident } from "./trouble.ts";

export interface FillOptions {
  /** Days that the installation has been in use. Default 60. */
  readonly days?: number;
  /** A whole number. Default 1. */
  readonly seed?: number;
  /** The last instant; default now. */
  readonly untilUs?: InstantUs;
  /** Including `/v1`: where a model server answers for `LIVE_MODELS`. Null: no provider can be reached. */
  readonly liveBaseUrl?: string | null;
}

/** The facts of a filled folder. */
export interface Filled extends Span {
  readonly dataDir: string;
  readonly events: number;
  /** The file with the password of `admin`. */
  readonly adminPasswordPath: string;
  /** API keys, in plaintext: of an admin and of a member. */
  readonly adminKey: string;
  readonly memberKey: string;
  readonly incidents: readonly Incident[];
}

export const DAYS_DEFAULT = 60;
export const DAYS_MIN = 3;
export const DAYS_MAX = 400;
const SEED_DEFAULT = 1;

/** Fills a folder that is new or empty. Throws when it holds an installation already, and as `openInstallation` does. */
export async function fillDemo(dataDir: string, options: FillOptions = {}): Promise<Filled> {
  const { days = DAYS_DEFAULT, seed = SEED_DEFAULT, liveBaseUrl = null } = options;
  if (!Number.isInteger(days) || days < DAYS_MIN || days > DAYS_MAX)
    throw new RangeError(`days are a whole number from ${DAYS_MIN} to ${DAYS_MAX}`);
  if (!Number.isSafeInteger(seed)) throw new RangeError("a seed is a whole number");
  refuseUsedFolder(dataDir);
  const untilUs = options.untilUs ?? Date.now() * 1000;
  const span: Span = { fromUs: untilUs - days * DAY_US, untilUs };

  const time = createSimulatedTime(span.fromUs);
  const ids = createSimulatedIds(createChance(seed), time.clock);
  const installation = await openInstallation(dataDir, { clock: time.clock, ids });
  try {
    const stage = createStage(installation);
    await installation.principals.ensureAdmin();
    planHistory(time, stage, { span, liveBaseUrl });
    const incidents = toIncidents(span);
    const events = await playTraffic({ time, stage, span, incidents, chance: createChance(seed + 1) });
    return {
      ...span,
      dataDir,
      events,
      adminPasswordPath: installation.adminPasswordPath,
      adminKey: getKey(stage, "ada"),
      memberKey: getKey(stage, "linus"),
      incidents,
    };
  } finally {
    await installation.close();
  }
}

interface Play {
  readonly time: SimulatedTime;
  readonly stage: Stage;
  readonly span: Span;
  readonly incidents: readonly Incident[];
  readonly chance: Chance;
}

/** Requests are certain in this time before the end, so that charts of the last minutes are not empty. */
const RECENT_US = 15 * 60 * SECOND_US;
const RECENT_REQUESTS = 40;
/** Longer than any request lasts. */
const REQUEST_US_MAX = 310 * SECOND_US;
const ATTEMPTS_MAX = 4;
const RETRY_SHARE = 0.6;

/** Runs the whole time, with everything that was added to it before. Returns how many requests there were. */
async function playTraffic({ time, stage, span, incidents, chance }: Play): Promise<number> {
  const { fromUs, untilUs } = span;
  const { installation } = stage;
  const { clock } = installation;
  let events = 0;

  const plan = (habit: Habit) => {
    const atUs = clock.nowUs();
    return planRequest(stage, habit, {
      chance,
      progress: (atUs - fromUs) / (untilUs - fromUs),
      findIncident: (provider) => findIncident(incidents, { provider, atUs }),
    });
  };
  const ask = async (habit: Habit, attempt: number): Promise<void> => {
    const request = await plan(habit);
    if (request === null) return;
    const endsAtUs = clock.nowUs() + request.durationUs;
    // It would still be under way at the end, which is nothing that a folder at rest knows.
    if (endsAtUs > untilUs) return;
    events += 1;
    playRequest({ time, installation }, request, clock.nowUs());
    if (!request.isRetried || attempt === ATTEMPTS_MAX || chance() > RETRY_SHARE) return;
    time.at(endsAtUs + attempt * SECOND_US, () => ask(habit, attempt + 1));
  };
  const drawHour = (hourUs: InstantUs) => {
    const beginsAtUs = Math.max(hourUs, fromUs);
    const lengthUs = Math.min(hourUs + HOUR_US, untilUs) - beginsAtUs;
    const progress = (beginsAtUs - fromUs) / (untilUs - fromUs);
    for (const habit of HABITS) {
      const share = toHourShare(habit.rhythm, { hourUs, progress });
      const count = toCount(chance, habit.perDay * share * (lengthUs / HOUR_US));
      for (let index = 0; index < count; index += 1) {
        time.at(beginsAtUs + Math.floor(chance() * lengthUs), () => ask(habit, 1));
      }
    }
  };

  for (let hourUs = Math.floor(fromUs / HOUR_US) * HOUR_US; hourUs < untilUs; hourUs += HOUR_US) {
    time.at(Math.max(hourUs, fromUs), () => drawHour(hourUs));
  }
  for (let dayUs = fromUs; dayUs < untilUs - RECENT_US - REQUEST_US_MAX; dayUs += DAY_US) {
    await time.runUntil(dayUs);
    // Signals and the ledger's writer are heard in between only.
    await Bun.sleep(0);
  }
  await time.runUntil(untilUs - RECENT_US - REQUEST_US_MAX);
  const frequent = HABITS.filter(({ rhythm }) => rhythm !== "nightly");
  for (let index = 0; index < RECENT_REQUESTS; index += 1) {
    const habit = frequent[Math.floor(chance() * frequent.length)];
    const request = habit === undefined ? null : await plan(habit);
    if (request === null) continue;
    const endsAtUs = untilUs - Math.floor(((index + chance()) * RECENT_US) / RECENT_REQUESTS);
    events += 1;
    playRequest({ time, installation }, request, endsAtUs - request.durationUs);
  }
  await time.runUntil(untilUs);
  return events;
}

function refuseUsedFolder(dataDir: string): void {
  const found = ["catalog.db", "usage.db", "secret.key"].find((name) => existsSync(join(dataDir, name)));
  if (found === undefined) return;
  throw new Error(
    `${dataDir} holds an installation already (${found}): choose a folder that is empty or new.`,
  );
}

function getKey(stage: Stage, name: string): string {
  const [key] = stage.find(name).keys;
  if (key === undefined) throw new Error(`${name} has no key`);
  return key.plaintext;
}

if (import.meta.main) await main();

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      "data-dir": { type: "string" },
      days: { type: "string", default: String(DAYS_DEFAULT) },
      seed: { type: "string", default: String(SEED_DEFAULT) },
      until: { type: "string" },
      live: { type: "string" },
    },
  });
  const dataDir = values["data-dir"];
  if (dataDir === undefined) return refuse("Say which folder to fill: --data-dir DIR.");
  const port = values.live === undefined ? null : Number(values.live);
  if (port !== null && !(Number.isInteger(port) && port > 0 && port < 65_536))
    return refuse("--live is the port of a model server.");
  const untilMs = values.until === undefined ? Date.now() : Date.parse(values.until);
  if (Number.isNaN(untilMs)) return refuse("--until is an instant such as 2026-11-20T15:00:00Z.");
  const startedMs = performance.now();
  try {
    const filled = await fillDemo(dataDir, {
      days: Number(values.days),
      seed: Number(values.seed),
      untilUs: untilMs * 1000,
      liveBaseUrl: port === null ? null : `http://127.0.0.1:${port}/v1`,
    });
    console.log(describe(filled, (performance.now() - startedMs) / 1000));
    if (port !== null) console.log(describeLive(port));
  } catch (failure) {
    if (!(failure instanceof Error)) throw failure;
    refuse(failure.message);
  }
}

function describe(filled: Filled, seconds: number): string {
  const { dataDir, events, fromUs, untilUs, adminPasswordPath, adminKey, memberKey } = filled;
  const toText = (atUs: InstantUs) => new Date(atUs / 1000).toISOString().slice(0, 16);
  return [
    `Filled ${dataDir} with ${events} requests from ${toText(fromUs)} to ${toText(untilUs)} UTC in ${seconds.toFixed(1)} s`,
    `  sign in      as admin, with the password in ${adminPasswordPath}`,
    `  API keys     of ada (admin) ${adminKey}`,
    `               of linus       ${memberKey}`,
    `  serve it     npm start -- --data-dir ${dataDir}`,
  ].join("\n");
}

function describeLive(port: number): string {
  const names = [
    ...LIVE_MODELS.chat.map((name) => `--chat ${name}`),
    ...LIVE_MODELS.embeddings.map((name) => `--embedding ${name}`),
  ];
  return `  ${LIVE_PROVIDER}     answers while this runs: bun contrib/demo/model-server.ts ${port} ${names.join(" ")}`;
}

function refuse(message: string): void {
  console.error(message);
  process.exitCode = 2;
}

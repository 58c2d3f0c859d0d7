/** The reports that `bun bench/stats.ts` asks for, with the goal of each, and how an answer is timed and checked. */
import { DAY_US, type InstantUs } from "#kernel/clock.ts";
import { formatInstant } from "#kernel/clock.ts";
import type { Filled } from "./fill.ts";
import type { Asker } from "./population.ts";
import { percentile } from "./table.ts";

const WARM_UP_RUNS = 3;
/** A question that takes long is asked less often, but never less than this. */
const RUNS_MIN = 5;
const QUESTION_MS_MAX = 20_000;
const ANSWER_MS_MAX = 30_000;

export interface Question {
  readonly name: string;
  readonly path: string;
  readonly asker: Asker;
  /** For p50 at ten million events; null is only told. */
  readonly goalMs: number | null;
  /** A page in the middle or at the end of whatever matches. */
  readonly page?: "middle" | "last";
  readonly accept?: string;
  /** Sent as JSON by a POST. */
  readonly body?: object;
}

export interface Timing {
  readonly p50: number;
  readonly p95: number;
  readonly max: number;
  readonly runs: number;
  readonly sizeBytes: number;
}

const GOAL_MS = 100;
const SUMMARY_GOAL_MS = 150;
const ERRORS_GOAL_MS = 250;
const HOURS_GOAL_MS = 300;
const WHAT_IF_GOAL_MS = 250;
/** On PostgreSQL every report but hours under a filter has this goal. */
const POSTGRES_GOAL_MS = 250;
/** The widest prefix that people would type, and filters from broad to narrow. */
const CLIENT = "client=OpenAI%2F";

/** Every report as a person or a dashboard asks for it, with the goals of a ledger of ten million events. */
export function toQuestions(filled: Filled, engine: "sqlite" | "postgres"): readonly Question[] {
  const questions = listQuestions(filled);
  if (engine === "sqlite") return questions;
  return questions.map((one) => Object.assign(one, { goalMs: Math.max(one.goalMs ?? 0, POSTGRES_GOAL_MS) }));
}

function listQuestions(filled: Filled): readonly Question[] {
  const { admin, biggest, smallest, fromUs, untilUs } = filled;
  const toWindow = (sinceUs: InstantUs, endUs: InstantUs) =>
    `since=${formatInstant(sinceUs)}&until=${formatInstant(endUs)}`;
  const year = toWindow(fromUs, untilUs);
  const month = toWindow(untilUs - 30 * DAY_US, untilUs);
  // 984 hours and the one that the window begins in: nearly the thousand buckets that there may be.
  const hours = toWindow(untilUs - 41 * DAY_US, untilUs);
  // In the middle of busy hours, at both ends.
  const noon = Math.floor(untilUs / DAY_US) * DAY_US + 11.21 * 3_600e6 + 123_457;
  const ragged = toWindow(noon - 321 * DAY_US, noon - 2 * DAY_US + 7_654_321);
  const raggedHours = toWindow(noon - 42 * DAY_US, noon - 2 * DAY_US + 7_654_321);
  const principal = (asker: Asker) => `principal=${asker.principal}`;
  const filters: readonly (readonly [string, string])[] = [
    ["client prefix", CLIENT],
    ["busiest principal", principal(biggest)],
    ["narrow principal", principal(smallest)],
    ["tag", "tag=env%3Aprod"],
    ["two tags", "tag=env%3Aprod&tag=app%3Aservice-0"],
    ["provider", "provider=provider-0"],
    ["(deleted)", "provider=(deleted)"],
    ["model", "model=model-0"],
    ["failed", "outcome=failed"],
    ["client prefix, failed", `${CLIENT}&outcome=failed`],
  ];

  const questions: Question[] = [];
  const ask = (name: string, path: string, goalMs: number | null, more: Partial<Question> = {}) =>
    questions.push({ name, path, goalMs, asker: admin, ...more });

  ask("series, hour, 41 days", `/stats/series?bucket=hour&${hours}`, GOAL_MS);
  for (const bucket of ["day", "week", "month"]) {
    ask(`series, ${bucket}, 12 months`, `/stats/series?bucket=${bucket}&${year}`, GOAL_MS);
  }
  ask("series, month, no window", "/stats/series?bucket=month", GOAL_MS);
  ask("series, day, ragged", `/stats/series?bucket=day&${ragged}`, GOAL_MS);
  ask("admin series, day, 12 months", `/admin/v1/usage/series?bucket=day&${year}`, GOAL_MS);
  for (const [name, filter] of filters) {
    ask(`series, day, 12 months: ${name}`, `/stats/series?bucket=day&${year}&${filter}`, GOAL_MS);
  }
  for (const bucket of ["week", "month"]) {
    ask(
      `series, ${bucket}, 12 months: client prefix`,
      `/stats/series?bucket=${bucket}&${year}&${CLIENT}`,
      GOAL_MS,
    );
  }
  ask("series, day, ragged: client prefix", `/stats/series?bucket=day&${ragged}&${CLIENT}`, GOAL_MS);
  ask(
    "series, month, no window: narrow principal",
    `/stats/series?bucket=month&${principal(smallest)}`,
    GOAL_MS,
  );
  for (const [name, filter] of filters) {
    ask(`series, hour, 41 days: ${name}`, `/stats/series?bucket=hour&${hours}&${filter}`, HOURS_GOAL_MS);
  }
  ask(
    "series, hour, 40 days, ragged: client prefix",
    `/stats/series?bucket=hour&${raggedHours}&${CLIENT}`,
    HOURS_GOAL_MS,
  );
  for (const by of ["model", "client", "tag:env", "principal"]) {
    ask(`series, day, 12 months, by ${by}`, `/stats/series?bucket=day&${year}&group_by=${by}`, null);
  }
  ask("series, hour, 41 days, by model", `/stats/series?bucket=hour&${hours}&group_by=model`, HOURS_GOAL_MS);
  for (const by of ["model", "client"]) {
    ask(`breakdown, 12 months, by ${by}`, `/stats/breakdown?${year}&by=${by}`, null);
    ask(`breakdown, 30 days, by ${by}`, `/stats/breakdown?${month}&by=${by}`, null);
  }

  const others = { "model-0": "model-1", "model-1": "model-0" };
  for (const [name, sinceUs] of [
    ["12 months", fromUs],
    ["30 days", untilUs - 30 * DAY_US],
    ["a day", untilUs - DAY_US],
  ] as const) {
    const [since, until] = [sinceUs, untilUs].map(formatInstant);
    ask(`what if, ${name}`, "/stats/what-if", WHAT_IF_GOAL_MS, { body: { since, until, models: others } });
  }

  ask("facets, 12 months", `/stats/requests/facets?${year}`, GOAL_MS);
  ask("facets, 12 months, with counts", `/stats/requests/facets?${year}&counts=1`, GOAL_MS);
  ask("facets, 30 days", `/stats/requests/facets?${month}`, GOAL_MS);
  ask("facets, no window", "/stats/requests/facets", GOAL_MS);
  ask("facets, ragged", `/stats/requests/facets?${ragged}`, GOAL_MS);
  ask("facets, 12 months: client prefix", `/stats/requests/facets?${year}&${CLIENT}`, GOAL_MS);
  ask("facets, 30 days: failed", `/stats/requests/facets?${month}&outcome=failed`, GOAL_MS);

  for (const [who, asker] of [
    ["busiest", biggest],
    ["narrow", smallest],
  ] as const) {
    ask(`own usage, 12 months, ${who}`, `/my/usage?${year}`, GOAL_MS, { asker });
    ask(`own usage, 30 days, ${who}`, `/my/usage?${month}`, GOAL_MS, { asker });
    ask(`own usage, no window, ${who}`, "/my/usage", GOAL_MS, { asker });
    ask(`own series, day, 12 months, ${who}`, `/my/usage/series?bucket=day&${year}`, GOAL_MS, { asker });
    ask(`own series, hour, 41 days, ${who}`, `/my/usage/series?bucket=hour&${hours}`, HOURS_GOAL_MS, {
      asker,
    });
  }

  ask("log, first page", "/stats/requests?limit=100", GOAL_MS);
  ask("log, middle page", "/stats/requests?limit=100", GOAL_MS, { page: "middle" });
  ask("log, middle page of 500", "/stats/requests?limit=500", GOAL_MS, { page: "middle" });
  ask("log, last page", "/stats/requests?limit=100", GOAL_MS, { page: "last" });
  ask("log, ragged, middle page", `/stats/requests?limit=100&${ragged}`, GOAL_MS, { page: "middle" });
  ask("admin log, middle page", "/admin/v1/requests?limit=100", GOAL_MS, { page: "middle" });
  for (const [name, filter] of filters) {
    ask(`log, middle page: ${name}`, `/stats/requests?limit=100&${filter}`, GOAL_MS, { page: "middle" });
  }
  ask("log, last page: narrow principal", `/stats/requests?limit=100&${principal(smallest)}`, GOAL_MS, {
    page: "last",
  });
  ask("log, ragged: client prefix", `/stats/requests?limit=100&${ragged}&${CLIENT}`, GOAL_MS);

  ask("team summary, 12 months", `/stats/summary?${year}`, SUMMARY_GOAL_MS);
  ask("team summary, no window", "/stats/summary", SUMMARY_GOAL_MS);
  ask("team summary, 30 days", `/stats/summary?${month}`, SUMMARY_GOAL_MS);
  ask("team summary, ragged", `/stats/summary?${ragged}`, SUMMARY_GOAL_MS);
  ask("team summary, 12 months: client prefix", `/stats/summary?${year}&${CLIENT}`, SUMMARY_GOAL_MS);
  ask("team summary, 12 months, CSV", `/stats/summary?${year}`, SUMMARY_GOAL_MS, { accept: "text/csv" });
  ask("admin summary, 12 months", `/admin/v1/usage/summary?${year}`, SUMMARY_GOAL_MS);
  ask("admin summary, 30 days", `/admin/v1/usage/summary?${month}`, SUMMARY_GOAL_MS);

  ask("errors, day, 30 days", `/stats/errors?bucket=day&${month}`, ERRORS_GOAL_MS);
  ask("errors, hour, 30 days", `/stats/errors?bucket=hour&${month}`, ERRORS_GOAL_MS);
  ask("errors, day, 30 days: failed", `/stats/errors?bucket=day&${month}&outcome=failed`, ERRORS_GOAL_MS);
  ask("errors, day, 30 days: client prefix", `/stats/errors?bucket=day&${month}&${CLIENT}`, ERRORS_GOAL_MS);
  ask("errors, day, 12 months", `/stats/errors?bucket=day&${year}`, null);
  ask("errors, day, 12 months: failed", `/stats/errors?bucket=day&${year}&outcome=failed`, null);
  return questions;
}

/** Its answer to the last byte, at its own path or that of a page. */
export async function askOnce(
  origin: string,
  { asker, accept = "application/json", body }: Question,
  path: string,
): Promise<{ readonly status: number; readonly bytes: Uint8Array }> {
  const headers = { authorization: `Bearer ${asker.key}`, accept, "content-type": "application/json" };
  const init = body === undefined ? {} : { method: "POST", body: JSON.stringify(body) };
  const response = await fetch(origin + path, {
    ...init,
    headers,
    signal: AbortSignal.timeout(ANSWER_MS_MAX),
  });
  return { status: response.status, bytes: await response.bytes() };
}

/** Asks until the answer is warm, then `runs` times; the time is the client's, up to the last byte. A refusal is its text. */
export async function measureQuestion(
  origin: string,
  question: Question,
  runs: number,
): Promise<Timing | string> {
  try {
    let { path } = question;
    if (question.page !== undefined) {
      const { bytes } = await askOnce(origin, question, path.replace(/limit=\d+/, "limit=1"));
      const { total = 0 } = JSON.parse(Buffer.from(bytes).toString());
      path += `&offset=${Math.max(0, question.page === "middle" ? Math.floor(total / 2) : total - 100)}`;
    }
    const times: number[] = [];
    let sizeBytes = 0;
    const startedMs = performance.now();
    for (let run = -WARM_UP_RUNS; run < runs; run += 1) {
      const beganMs = performance.now();
      const { status, bytes } = await askOnce(origin, question, path);
      const tookMs = performance.now() - beganMs;
      if (status !== 200)
        return `${status} ${/"code":"(\w+)"/.exec(Buffer.from(bytes).toString())?.[1] ?? ""}`;
      sizeBytes = bytes.length;
      if (run >= 0) times.push(tookMs);
      if (times.length >= RUNS_MIN && performance.now() - startedMs > QUESTION_MS_MAX) break;
    }
    return {
      p50: percentile(times, 0.5),
      p95: percentile(times, 0.95),
      max: Math.max(...times),
      runs: times.length,
      sizeBytes,
    };
  } catch (cause) {
    return String(cause);
  }
}

/** Throws when a report does not account for every event: figures of wrong answers are worth nothing. */
export async function checkAnswers(origin: string, filled: Filled): Promise<void> {
  const get = async (path: string) => {
    const response = await fetch(origin + path, { headers: { authorization: `Bearer ${filled.admin.key}` } });
    return JSON.parse(await response.text());
  };
  const { total } = await get("/admin/v1/requests?limit=1");
  if (total !== filled.events) throw new Error(`the log counts ${total} of ${filled.events} events`);
  const { series = [] } = await get("/stats/series?bucket=month");
  const counted = series.reduce((sum: number, bucket: { requests: number }) => sum + bucket.requests, 0);
  if (series.length > 0 && counted !== filled.events) {
    throw new Error(`the series counts ${counted} of ${filled.events} events`);
  }
}

import type { Command } from "commander";
import { configWith, isOnFiles, type Config } from "#boot/settings/config.ts";
import { engineOf } from "#boot/settings/engine.ts";
import { findMissingData } from "#boot/folder/data-dir.ts";
import { SetupError } from "#kernel/errors.ts";
import { formatInstant, parseInstant } from "#kernel/clock.ts";
import { toCounted } from "#kernel/text.ts";
import { sleep } from "#kernel/timer.ts";
import { addExamples } from "#cli/screen/help.ts";
import { addLocalCommand } from "#cli/input/options.ts";
import {
  type LocalOptions,
  createRemoteInstallation,
  withLocal,
  readApiKey,
} from "#cli/installation/open.ts";
import { CommandError } from "#cli/screen/failure.ts";
import { writeJson, createStyle, writeList, toMeasured } from "#cli/screen/output.ts";
import { toPrintable } from "#kernel/printable.ts";
import { withTransfer } from "#cli/screen/progress.ts";
import { type Terminal, toSize } from "#cli/screen/terminal.ts";
import { toReachable } from "#boot/settings/listen-address.ts";
import { findServingAddress } from "#boot/folder/serving-address.ts";
import type { Local } from "#boot/local.ts";
import {
  addUpWindow,
  compareWithServer,
  compareWithTotals,
  isRecorded,
  toExpected,
  type LimitFinding,
  type Told,
  type ToldLimit,
} from "#limits/limit-check.ts";
import type { Limit } from "#limits/limit.ts";
import { LIMITS_MAX } from "#limits/store.ts";
import { settleUsage } from "#cli/input/report.ts";
import type { Client } from "#cli/installation/client.ts";
import { listAll, listLimits } from "#cli/installation/lists.ts";

type Engine = Awaited<ReturnType<typeof engineOf>>;
type LedgerCheck = NonNullable<Awaited<ReturnType<Engine["checkLedger"]>>>;
type LedgerFinding = LedgerCheck["findings"][number];

/** Beyond it the others are counted: one cause mostly has many. */
const FINDINGS_SHOWN_MAX = 20;

function listShown(findings: readonly string[]): readonly string[] {
  const more = findings.length - FINDINGS_SHOWN_MAX;
  return [
    ...findings.slice(0, FINDINGS_SHOWN_MAX),
    ...(more > 0 ? [`… and ${more} more: --json has all`] : []),
  ];
}

/** `lockport ledger …`: what looks after the recorded usage itself. */
export function addCommands(program: Command, terminal: Terminal): void {
  const ledger = program.command("ledger").description("whether the recorded usage adds up");
  const command = addLocalCommand(
    ledger,
    "check",
    "compare journal, events and totals: nothing missing, nothing counted twice",
  ).action(async (options: LocalOptions) => {
    const config = configWith(terminal.env, { PROXY_DATA_DIR: options.dataDir });
    const missing = isOnFiles(config) ? findMissingData(config) : null;
    if (missing !== null) throw new SetupError("configuration", `${missing.finding}: ${missing.advice}.`);
    const { dataDir, database } = config;
    const place = database.kind === "postgres" ? `the schema ${database.schema}` : dataDir;
    const engine = await engineOf(config);
    const checked = await withTransfer(terminal, ({ signal, step }) =>
      engine.checkLedger({
        dataDir,
        database,
        signal,
        onShare: (share) => step("adding up the ledger", share),
      }),
    );
    if (checked === null) {
      throw new SetupError(
        "configuration",
        `There is no ledger in ${place} yet: the first start of a server makes it.`,
      );
    }
    if (options.json === true) writeJson(terminal, toLedgerView(checked));
    else writeLedger(terminal, checked);
    if (checked.findings.length > 0) {
      throw new CommandError(
        "failure",
        `The ledger does not add up in ${toCounted(checked.findings.length, "place")}: keep a copy of ${place}, and compare with a backup.`,
      );
    }
  });
  command.addHelpText(
    "after",
    "\nIt works beside a running server and on a folder without one, and changes nothing. It ends with 1 when something does\nnot add up.",
  );
  addExamples(command, ["lockport ledger check", "lockport ledger check --json | jq .findings"]);
}

function toLedgerView({ events, rowsFromUs, journal, findings }: LedgerCheck) {
  return {
    ok: findings.length === 0,
    events,
    rows_from: rowsFromUs === 0 ? null : formatInstant(rowsFromUs),
    journal: {
      checked_requests: journal.checkedEnds,
      waiting_requests: journal.waitingEnds,
      waiting_bytes: journal.waitingBytes,
    },
    findings,
  };
}

function writeLedger(terminal: Terminal, { events, rowsFromUs, journal, findings }: LedgerCheck): void {
  const style = createStyle(terminal.env, terminal.screens.data);
  const write = (line: string) => terminal.writeData(`${line}\n`);
  const since = rowsFromUs === 0 ? "" : ` since ${formatInstant(rowsFromUs)}`;
  write(`added up: ${toCounted(events, "request")}${since}, by hour, day, month and value`);
  write(`looked for: ${toCounted(journal.checkedEnds, "request")} that the journal still tells of`);
  if (journal.waitingBytes > 0) {
    write(
      `not in the database yet: ${toCounted(journal.waitingEnds, "request")} (${toSize(journal.waitingBytes)} of the journal), which the server brings in`,
    );
  }
  if (findings.length === 0) write(style.good("nothing is missing or counted twice"));
  for (const sentence of listShown(findings.map(describeFinding))) write(style.bad(toPrintable(sentence)));
}

function describeFinding({ where, what, expected, stored, rows }: LedgerFinding): string {
  const gap = stored - expected;
  const off = gap === 0 ? "" : `: ${toCounted(Math.abs(gap), "request")} ${gap < 0 ? "missing" : "too many"}`;
  return `${where}: ${what}${off} (${toCounted(rows, "row")} wrong, ${stored} for ${expected})`;
}

/** A server's clock may have been read a moment before this one. */
const CLOCK_SLACK_US = 1_000_000;

/** `lockport limit check`: whether what limits count is what the log holds. */
export function addLimitCheckCommand(limit: Command, terminal: Terminal): void {
  const command = addLocalCommand(
    limit,
    "check",
    "add up the events of each limit, and compare with totals and server",
  ).action((options: LocalOptions) =>
    withLocal(terminal, options, async (local, config) => {
      const checked = await check(terminal, local, config);
      if (options.json === true) writeJson(terminal, toLimitsView(checked));
      else writeLimits(terminal, checked);
      const { findings } = checked;
      if (findings.length > 0) {
        throw new CommandError(
          "failure",
          `What is counted is not what was recorded in ${toCounted(findings.length, "place")}: lockport ledger check says whether the ledger is whole.`,
        );
      }
    }),
  );
  command.addHelpText(
    "after",
    `
Events are the rows of the request log. Beside a running server it also asks that server what it has counted, as the owner
of LOCKPORT_API_KEY, who has to be an admin. It changes nothing, and ends with 1 when something differs. Limits of concurrent
requests are in no log.`,
  );
  addExamples(command, ["lockport limit check", "lockport limit check --json | jq .findings"]);
}

type Checked = Awaited<ReturnType<typeof check>>;

async function check(terminal: Terminal, local: Local, config: Config) {
  const states = await local.limits.list(null, { limit: LIMITS_MAX, offset: 0 });
  const limits = states.rows.map(({ limit }) => limit).filter(isRecorded);
  const server = findServer(terminal, config);
  const nowUs = terminal.clock.nowUs() - CLOCK_SLACK_US;
  const { peersAgeUs } = server.origin === null ? NO_SERVER : await readGauges(server.origin);
  const before: Told = server.api === null ? new Map() : await readTold(server.api);
  const { underWay } = server.origin === null ? NO_SERVER : await readGauges(server.origin);
  const unsettled = await settleUsage({ local });
  const { dataDir, database } = config;
  const engine = await engineOf(config);
  const checked = await withTransfer(terminal, ({ signal, step }) =>
    engine.checkLimits({
      dataDir,
      database,
      limits,
      nowUs,
      signal,
      onShare: (share) => step("adding up events", share),
    }),
  );
  if (checked === null) {
    throw new SetupError(
      "configuration",
      `There is no ledger in ${dataDir} yet: the first start of a server makes it.`,
    );
  }
  if (server.origin !== null) await untilPeersKnown(server.origin);
  const after: Told = server.api === null ? new Map() : await readTold(server.api);
  const found = compareWithTotals(limits, checked);
  const sums = toExpected(limits, checked, nowUs);
  const peersLagUs = peersAgeUs === null ? 0 : peersAgeUs + COMMIT_US_MAX;
  const asked = { sums, before, after, underWay, peersLagUs };
  const findings = [...found, ...compareWithServer(limits, asked)];
  const rows = limits.map((each) => toRow(each, { checked, nowUs: nowUs + CLOCK_SLACK_US, told: after }));
  return { ...checked, findings, rows, notices: [...server.notices, ...unsettled], server: server.origin };
}

function findServer(terminal: Terminal, { dataDir }: Config) {
  const address = findServingAddress(dataDir);
  if (address === null) return { api: null, origin: null, notices: [] };
  const apiKey = readApiKey(terminal);
  const origin = toReachable(address.url);
  if (apiKey !== null)
    return {
      api: createRemoteInstallation({ origin, apiKey, clock: terminal.clock }).api,
      origin,
      notices: [],
    };
  return {
    api: null,
    origin: null,
    notices: [
      "A server runs from this folder and was not asked: set LOCKPORT_API_KEY to an admin's API key for that.",
    ],
  };
}

interface Found {
  readonly checked: NonNullable<Awaited<ReturnType<Awaited<ReturnType<typeof engineOf>>["checkLimits"]>>>;
  readonly nowUs: number;
  readonly told: Told;
}

function toRow(limit: Limit, { checked, nowUs, told }: Found) {
  const uses = told.get(limit.id)?.uses;
  return {
    name: limit.name,
    measure: limit.measure,
    by_events: addUpWindow(limit, checked.byRows, nowUs),
    by_totals: addUpWindow(limit, checked.byTotals, nowUs),
    server: uses === undefined ? null : uses.reduce((sum, { used }) => sum + used, 0),
  };
}

function toLimitsView({ events, rowsFromUs, server, rows, findings, notices }: Checked) {
  return {
    ok: findings.length === 0,
    events,
    rows_from: rowsFromUs === 0 ? null : formatInstant(rowsFromUs),
    server,
    limits: rows,
    findings: findings.map(({ limit, of, label, what, expected, told }) => ({
      limit: limit.name,
      ...(of !== "used" && { of }),
      ...(label !== "" && { value: label }),
      [what]: told,
      by_events: expected,
    })),
    notices,
  };
}

function writeLimits(terminal: Terminal, checked: Checked): void {
  const { events, rowsFromUs, rows, findings, notices } = checked;
  const style = createStyle(terminal.env, terminal.screens.data);
  const write = (line: string) => terminal.writeData(`${line}\n`);
  write(`added up: ${toCounted(events, "request")}`);
  if (rowsFromUs > 0)
    write(
      `rows before ${formatInstant(rowsFromUs).slice(0, 10)} were removed (PROXY_USAGE_RETENTION_DAYS): only what came later is compared`,
    );
  const views = rows.map(({ name, measure, by_events: byEvents, by_totals: byTotals, server }) => ({
    limit: name,
    by_events: toMeasured(measure, byEvents),
    by_totals: toMeasured(measure, byTotals),
    server: server === null ? "-" : toMeasured(measure, server),
  }));
  const figures = ["by_events", "by_totals", "server"] as const;
  writeList(terminal, {}, { views, columns: ["limit", ...figures], figures });
  if (findings.length === 0) write(style.good("every limit counts what its events add up to"));
  for (const sentence of listShown(findings.map(describeLimitFinding)))
    write(style.bad(toPrintable(sentence)));
  for (const notice of notices) terminal.writeMessage(`${notice}\n`);
}

function describeLimitFinding({ limit, of, label, what, expected, told }: LimitFinding): string {
  const who = label === "" ? "" : `, ${label}`;
  const teller = what === "totals" ? "totals have" : "the server has counted";
  const noun = { used: "", unpriced_requests: " without a price", unknown_requests: " without usage" }[of];
  const show = (figure: number) => `${toMeasured(of === "used" ? limit.measure : "requests", figure)}${noun}`;
  return `${limit.name}${who}: events add up to ${show(expected)}, ${teller} ${show(told)}`;
}

/** Asks a server what was used of each of its limits, of all values of `each`. */
async function readTold(api: Client): Promise<Told> {
  const told: [string, ToldLimit][] = [];
  for (const { id, each, window_start: start, ...use } of await listLimits(api)) {
    const uses = each === undefined ? [{ ...use, label: "" }] : await readUses(api, id);
    told.push([id, { windowStartUs: parseInstant(start ?? "") ?? 0, uses }]);
  }
  return new Map(told);
}

async function readUses(api: Client, id: string) {
  const rows = await listAll("usage of a limit", async (query) => {
    const { usage, total } = await api.call("GET /admin/v1/limits/:id/usage", {
      params: { id },
      query: { ...query },
    });
    return { rows: usage, total };
  });
  return rows.map((use) => ({
    label: use.principal ?? use.key ?? use.tag ?? "",
    used: use.used,
    unpriced_requests: use.unpriced_requests,
    unknown_requests: use.unknown_requests,
  }));
}

/** A server that takes longer is not asked. */
const METRICS_MS_MAX = 3_000;
const OPEN_EXCHANGES = /^proxy_open_exchanges (\d+)$/m;
const PEERS_AGE = /^proxy_limits_age_seconds (\S+)$/m;

interface ServerGauges {
  /** Requests that the server has begun and not ended; infinite where it does not say. */
  readonly underWay: number;
  /** Age of what it knows of other replicas' requests; null for a server on files. */
  readonly peersAgeUs: number | null;
}

const NO_SERVER: ServerGauges = { underWay: 0, peersAgeUs: null };

async function readGauges(origin: string): Promise<ServerGauges> {
  try {
    const signal = AbortSignal.timeout(METRICS_MS_MAX);
    const response = await fetch(`${origin}/metrics`, { redirect: "manual", signal });
    const text = await response.text();
    const [, count] = OPEN_EXCHANGES.exec(text) ?? [];
    const [, age] = PEERS_AGE.exec(text) ?? [];
    return {
      underWay: count === undefined ? Number.POSITIVE_INFINITY : Number(count),
      peersAgeUs: age === undefined ? null : Number(age) * 1e6,
    };
  } catch {
    return { underWay: Number.POSITIVE_INFINITY, peersAgeUs: null };
  }
}

/** A replica that is not held up commits what a request used within this time after its end. */
const COMMIT_US_MAX = 1_000_000;
/** A replica reads what others have recorded every 750 ms; one that cannot is compared as it is. */
const PEERS_MS_MAX = 5_000;
/** The age is 0 before a replica has read of others, and for as long as there are none. */
const FIRST_READING_MS_MAX = 1_000;
const PEERS_POLL_MS = 100;

/** Waits until the server has read what other replicas had recorded when this was called. */
async function untilPeersKnown(origin: string): Promise<void> {
  const sinceMs = performance.now();
  for (;;) {
    const waitedMs = performance.now() - sinceMs;
    const { peersAgeUs } = await readGauges(origin);
    if (peersAgeUs === null) return;
    const isKnown = peersAgeUs === 0 ? waitedMs >= FIRST_READING_MS_MAX : peersAgeUs <= waitedMs * 1_000;
    if (isKnown || waitedMs >= PEERS_MS_MAX) return;
    await sleep(PEERS_POLL_MS);
  }
}

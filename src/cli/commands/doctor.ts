import type { Command } from "commander";
import { isOnFiles, type Config } from "#boot/settings/config.ts";
import { toFailure, toOk, toWarning, type Check, type Look } from "#boot/operate/doctor/check.ts";
import type { UsageFound } from "#boot/operate/doctor/databases.ts";
import { checkSettings, type SettingSource } from "#boot/operate/doctor/settings.ts";
import { findMissingData } from "#boot/folder/data-dir.ts";
import { createSystem } from "#boot/process/system.ts";
import { toCounted } from "#kernel/text.ts";
import { addExamples } from "#cli/screen/help.ts";
import { addLocalCommand } from "#cli/input/options.ts";
import { withLocal, type LocalOptions, createLocalInstallation } from "#cli/installation/open.ts";
import { CommandError } from "#cli/screen/failure.ts";
import type { Installation } from "#cli/installation/client.ts";
import { writeJson, createStyle } from "#cli/screen/output.ts";
import { findMissing } from "#cli/commands/pricing.ts";
import { toPrintable } from "#kernel/printable.ts";
import { withSteps } from "#cli/screen/progress.ts";
import { toTable } from "#cli/screen/table.ts";
import type { Terminal } from "#cli/screen/terminal.ts";

const MODELS_NAMED_MAX = 5;
/** They need the catalog, and are named where there is none to be read. */
const LIVE_CHECKS = ["catalog rows", "providers", "clock", "prices"];

/** `lockport doctor`: looks at everything that an installation depends on, and changes nothing. */
export function addCommands(program: Command, terminal: Terminal): void {
  const command = addLocalCommand(program, "doctor", "look for what is wrong, and say what to do").action(
    async (options: LocalOptions) => {
      const settings = checkSettings(terminal.env, { PROXY_DATA_DIR: options.dataDir });
      const { config } = settings;
      const checks = [
        settings.check,
        ...(config === null ? [] : await examine(terminal, { config, options })),
      ];
      const failed = checks.filter(({ status }) => status === "fail").length;
      if (options.json === true) {
        writeJson(terminal, { ok: failed === 0, checks, settings: settings.sources });
      } else {
        writeChecks(terminal, checks);
        writeSources(terminal, settings.sources);
      }
      if (failed > 0) throw new CommandError("failure", `${toCounted(failed, "check")} failed.`);
    },
  );
  command.addHelpText("after", "\nIt ends with 1 when a check fails; a warning alone ends with 0.");
  addExamples(command, [
    "lockport doctor",
    "lockport doctor --json | jq '.checks[] | select(.status != \"ok\")'",
  ]);
}

function toUnseen(what: string): readonly Check[] {
  return LIVE_CHECKS.map((name) => toOk(name, `not looked at: see what is said of ${what}`));
}

interface Examination {
  readonly config: Config;
  readonly options: LocalOptions;
}

async function examine(terminal: Terminal, { config, options }: Examination): Promise<readonly Check[]> {
  // Loaded here and not above: no other command has a need of them.
  const { checkDisk, checkFolder, checkKeyFile } = await import("#boot/operate/doctor/folder.ts");
  const { checkCatalog, checkJournal, checkLock, checkUsage } =
    await import("#boot/operate/doctor/databases.ts");
  const { checkPort } = await import("#boot/operate/doctor/server.ts");
  const { checkNotices } = await import("#boot/operate/doctor/notices.ts");
  const { checkOpenFiles } = await import("#boot/operate/doctor/server.ts");
  const folder = checkFolder(config);
  const { check: lock, isServing } = checkLock(config);
  const look = { isServing, env: terminal.env };
  const openFiles = await checkOpenFiles(config, look);
  const notices = await checkNotices(config, terminal.env);
  const around = [
    await checkDisk(config),
    await checkPort(config, look),
    ...(openFiles === null ? [] : [openFiles]),
    ...(notices === null ? [] : [notices]),
  ];
  if (!isOnFiles(config)) {
    const { checkDatabase } = await import("#boot/operate/doctor/database.ts");
    const database = await checkDatabase(config, createSystem(config));
    const key = await checkKeyFile(config);
    const live = database.isUsable
      ? await examineCatalog(terminal, { config, options }, null)
      : toUnseen("the database");
    return [folder.check, lock, key, ...database.checks, ...around, ...live];
  }
  if (!folder.isOpen) return [folder.check, ...around];
  return withSteps(terminal, async (step) => {
    const key = await checkKeyFile(config);
    step("checking catalog.db", null);
    const catalog = checkCatalog(config);
    step("checking usage.db", null);
    const usage = checkUsage(config);
    const { log } = createSystem({ logLevel: "error" });
    const journal = await checkJournal(config, { facts: usage.facts, isServing, log });
    step("asking the providers", null);
    const live =
      catalog.isUsable && findMissingData(config) === null
        ? await examineCatalog(terminal, { config, options }, usage.facts)
        : toUnseen("catalog.db and usage.db");
    return [folder.check, lock, key, catalog.check, usage.check, journal, ...around, ...live];
  });
}

async function examineCatalog(
  terminal: Terminal,
  { config, options }: Examination,
  facts: UsageFound["facts"],
): Promise<readonly Check[]> {
  const { checkCatalogRows } = await import("#boot/operate/doctor/databases.ts");
  const { checkProviders } = await import("#boot/operate/doctor/providers.ts");
  const { toDiagnosis } = await import("#boot/operate/doctor/check.ts");
  try {
    return await withLocal(terminal, options, async (local) => {
      const { clock } = createSystem(config);
      const { catalog, secrets } = local;
      const newestAtUs = facts?.newestAtUs ?? null;
      const providers = await checkProviders({ catalog, secrets, clock, env: terminal.env, newestAtUs });
      const place = isOnFiles(config) ? "usage.db" : "the database";
      const rows = await checkCatalogRows(local);
      return [rows, ...providers, await checkPrices(createLocalInstallation(local, terminal.clock), place)];
    });
  } catch (cause) {
    const advice = isOnFiles(config)
      ? "See what is said of catalog.db and of the data folder."
      : "See what is said of the database.";
    const needs: Look["needs"] = isOnFiles(config) ? [[config.database.path, "change"]] : [];
    return [toDiagnosis({ name: "providers", needs, advice }, cause)];
  }
}

/** `place` is where usage is kept, as another check calls it. */
async function checkPrices(installation: Installation, place: string): Promise<Check> {
  const name = "prices";
  try {
    const { views } = await findMissing(installation);
    if (views.length === 0) return toOk(name, "every unit used in the last 30 days has a price");
    const models = [
      ...new Set(views.map(({ model, reason }) => (reason === undefined ? model : `${model} (${reason})`))),
    ];
    const more = models.length > MODELS_NAMED_MAX ? ", …" : "";
    const finding = `used in the last 30 days without a price: ${models.slice(0, MODELS_NAMED_MAX).join(", ")}${more}`;
    return toWarning(
      name,
      finding,
      "lockport pricing missing lists them; set prices with lockport pricing load.",
    );
  } catch (cause) {
    if (!(cause instanceof Error)) throw cause;
    return toFailure(name, "the usage reports cannot be read", `See what is said of ${place}.`);
  }
}

function writeChecks(terminal: Terminal, checks: readonly Check[]): void {
  const style = createStyle(terminal.env, terminal.screens.data);
  const marks = { ok: style.good("ok  "), warn: style.warn("warn"), fail: style.bad("FAIL") };
  const width = Math.max(...checks.map(({ name }) => Bun.stringWidth(name)));
  for (const { name, status, finding, advice } of checks) {
    const label = toPrintable(name) + " ".repeat(width - Bun.stringWidth(name));
    terminal.writeData(`${marks[status]}  ${style.bold(label)}  ${toPrintable(finding)}\n`);
    if (advice !== null)
      terminal.writeData(`      ${" ".repeat(width)}  ${style.dim(`→ ${toPrintable(advice)}`)}\n`);
  }
}

/** Settings that differ in source from the default: a default value is in `--json` and in docs/configuration.md. */
function writeSources(terminal: Terminal, sources: readonly SettingSource[]): void {
  const style = createStyle(terminal.env, terminal.screens.data);
  const rows = sources
    .filter(({ source }) => source !== "default")
    .map(({ name, source, value }) => [name, source, value === null ? "(secret)" : toPrintable(value)]);
  terminal.writeData(`\n${toTable(["SETTING", "SOURCE", "VALUE"], rows, { styleHeading: style.bold })}`);
}

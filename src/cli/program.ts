import { Command, CommanderError } from "commander";
import { formatInstant } from "#kernel/clock.ts";
import { createLog } from "#kernel/log.ts";
import { INTERFACE_VERSION, PRODUCT_COMMIT, PRODUCT_VERSION } from "#kernel/version.ts";
import { refuseSecrets, holdOptions, refuseBlankArguments, refuseLeadingOption } from "#cli/input/options.ts";
import { ChangesFound, DifferencesFound, EXIT, toFailure } from "#cli/screen/failure.ts";
import {
  addGroupExamples,
  toHelpLine,
  COLUMNS_MAX,
  foldHelp,
  formatRootHelp,
  listOptions,
  addWaysOut,
} from "#cli/screen/help.ts";
import { createStyle, isColoured, writeJson, toPrintableMessage } from "#cli/screen/output.ts";
import type { Made } from "#cli/routes/route-command.ts";
import type { Terminal } from "#cli/screen/terminal.ts";

interface CommandEntry {
  /** Heading of the program's help that it stands under. */
  readonly group: string;
  readonly name: string;
  /** A command line loads its own command alone: all of them take 25 ms and 13 MB, which a server would keep. */
  readonly load: () => Promise<{
    readonly addCommands: (program: Command, terminal: Terminal, made: Made) => void;
  }>;
  /** Short description for the program's help, where a line has room for two commands. */
  readonly short?: string;
  /** Routes may have more commands for it: they are loaded for whatever of it is typed. */
  readonly takesRoutes?: true;
}

/** Every command that is made by hand, in the order and under the words of the program's help. A new one is a line here. */
const COMMANDS: readonly CommandEntry[] = [
  { group: "Server", name: "serve", load: () => import("#cli/commands/serve.ts") },
  {
    group: "Server",
    name: "health",
    load: () => import("#cli/commands/health.ts"),
    short: "ask whether it is up",
  },
  { group: "Server", name: "admin", load: () => import("#cli/commands/admin.ts") },
  { group: "Catalog", name: "provider", load: () => import("#cli/commands/provider.ts"), takesRoutes: true },
  { group: "Catalog", name: "model", load: () => import("#cli/commands/model.ts"), takesRoutes: true },
  { group: "Catalog", name: "pricing", load: () => import("#cli/commands/pricing.ts"), takesRoutes: true },
  { group: "Catalog", name: "import", load: () => import("#cli/commands/import.ts") },
  { group: "Catalog", name: "export", load: () => import("#cli/commands/export.ts"), short: "to one file" },
  { group: "Catalog", name: "apply", load: () => import("#cli/commands/apply.ts"), short: "from one file" },
  { group: "People", name: "principal", load: () => import("#cli/commands/people.ts"), takesRoutes: true },
  { group: "People", name: "key", load: () => import("#cli/commands/people.ts"), takesRoutes: true },
  {
    group: "People",
    name: "relay-token",
    load: () => import("#cli/commands/people.ts"),
    takesRoutes: true,
  },
  { group: "People", name: "limit", load: () => import("#cli/commands/limit.ts"), takesRoutes: true },
  {
    group: "Usage",
    name: "usage",
    load: () => import("#cli/commands/usage.ts"),
    short: "use and cost",
  },
  {
    group: "Usage",
    name: "what-if",
    load: () => import("#cli/commands/what-if.ts"),
    short: "at other prices",
  },
  { group: "Usage", name: "requests", load: () => import("#cli/commands/requests.ts"), takesRoutes: true },
  {
    group: "Usage",
    name: "request",
    load: () => import("#cli/commands/requests.ts"),
    short: "why one failed",
  },
  {
    group: "Usage",
    name: "reconcile",
    load: () => import("#cli/commands/reconcile.ts"),
    short: "with a bill",
  },
  { group: "Operation", name: "backup", load: () => import("#cli/commands/backup.ts") },
  {
    group: "Operation",
    name: "restore",
    load: () => import("#cli/commands/backup.ts"),
    short: "a backup",
  },
  {
    group: "Operation",
    name: "migrate",
    load: () => import("#cli/commands/migrate.ts"),
    short: "to PostgreSQL",
  },
  {
    group: "Operation",
    name: "doctor",
    load: () => import("#cli/commands/doctor.ts"),
    short: "find faults",
  },
  { group: "Operation", name: "secrets", load: () => import("#cli/commands/secrets.ts") },
  { group: "Operation", name: "notice", load: () => import("#cli/commands/notice.ts"), takesRoutes: true },
  { group: "Operation", name: "ledger", load: () => import("#cli/commands/ledger.ts") },
  { group: "Operation", name: "service", load: () => import("#cli/commands/service.ts") },
  { group: "Tools", name: "snippet", load: () => import("#cli/commands/snippet.ts"), short: "for a client" },
  { group: "Tools", name: "openapi", load: () => import("#cli/commands/snippet.ts"), short: "the document" },
  { group: "Tools", name: "complete", load: () => import("#cli/commands/complete.ts"), short: "in a shell" },
];

/** Word that many programs have for their `--version`. */
const VERSION_WORD = "version";
const SERVER_WORD = "serve";

/** Runs one command line (without the program's own name) and returns its exit code. Never throws. */
export async function runCli(words: readonly string[], terminal: Terminal): Promise<number> {
  const args = words[0] === VERSION_WORD ? ["--version", ...words.slice(1)] : words;
  try {
    // Past its first word a line is completed from its own command alone: a person waits at the prompt.
    const [firstWord] = isCompletion(args) ? args.slice(2, -1) : args;
    const program = await createProgram(terminal, firstWord);
    if (isCompletion(args)) {
      const { completeLine } = await import("#cli/commands/complete.ts");
      await completeLine(program, args.slice(2), terminal);
      return EXIT.ok;
    }
    refuseSecrets(args);
    if (isVersionAsJson(args)) {
      writeJson(terminal, {
        version: PRODUCT_VERSION,
        commit: PRODUCT_COMMIT,
        interface_version: INTERFACE_VERSION,
      });
      return EXIT.ok;
    }
    refuseLeadingOption(program, args);
    await program.parseAsync(toHelpLine(program, args), { from: "user" });
    return EXIT.ok;
  } catch (error) {
    return reportFailure(error, terminal, args[0] === SERVER_WORD);
  }
}

/** The command tree: all of it, or what runs a line that begins with this word. */
export async function createProgram(terminal: Terminal, firstWord = ""): Promise<Command> {
  const { env, screens } = terminal;
  const style = createStyle(env, screens.data);
  const prefix = toPrefix(terminal);
  const program = new Command("lockport")
    // With that of `errors`: its options would else be its own behind `errors clients`, too.
    .enablePositionalOptions()
    .description("A self-hosted model-routing proxy.")
    .version(
      `lockport ${PRODUCT_VERSION} (${PRODUCT_COMMIT === null ? "" : `commit ${PRODUCT_COMMIT}, `}interface ${INTERFACE_VERSION})`,
      "--version",
      "print the version, its commit, and the version of the interface",
    )
    .exitOverride()
    .configureOutput({
      writeOut: (text) => terminal.writeData(foldHelp(text)),
      writeErr: (text) => terminal.writeMessage(foldHelp(text)),
      outputError: (text) => terminal.writeMessage(toPrintableMessage(text).replace(/^error:/, prefix)),
      getOutHelpWidth: () => COLUMNS_MAX,
      getErrHelpWidth: () => COLUMNS_MAX,
      getOutHasColors: () => isColoured(env, screens.data),
      getErrHasColors: () => isColoured(env, screens.messages),
    })
    // Taken over by each command as it is added.
    .configureHelp({ styleTitle: style.bold, visibleOptions: listOptions });
  await addCommands(program, terminal, firstWord);
  program.hook("preAction", (_program, command) => refuseBlankArguments(command));
  addGroupExamples(program);
  holdOptions(program);
  addWaysOut(program);
  return program.configureHelp({ formatHelp: () => formatRootHelp(program, style) });
}

/**
 * Adds the commands of this name, or all of them for a word that is none, which may ask for help, and for the completion of
 * any. Routes are loaded for commands that are made of them: no server has to.
 */
async function addCommands(program: Command, terminal: Terminal, name: string): Promise<void> {
  const named = COMMANDS.filter((each) => each.name === name && name !== "complete");
  if (named.length > 0 && named.every(({ takesRoutes }) => takesRoutes !== true)) {
    for (const { load } of named) (await load()).addCommands(program, terminal, { name, routes: [] });
    return;
  }
  const { addRouteCommands, hasRouteCommand } = await import("#cli/commands/route-commands.ts");
  const { listRoutes } = await import("#http/local.ts");
  const routes = listRoutes();
  const isMade = named.length === 0 && hasRouteCommand(routes, name);
  const firstWord = named.length > 0 || isMade ? name : null;
  const entries = named.length > 0 ? named : isMade ? [] : COMMANDS;
  for (const group of new Set(COMMANDS.map((each) => each.group))) {
    program.commandsGroup(group);
    for (const { name: word, short, load } of entries.filter((each) => each.group === group)) {
      (await load()).addCommands(program, terminal, { name: word, routes });
      if (short !== undefined) program.commands.find((each) => each.name() === word)?.summary(short);
    }
    addRouteCommands(program, { terminal, routes, group, firstWord });
  }
}

/** The scripts' `complete -- WORD...`; any other line was typed by a person. */
function isCompletion([first, second]: readonly string[]): boolean {
  return first === "complete" && second === "--";
}

/** commander prints its version before it knows of any other option. */
function isVersionAsJson(args: readonly string[]): boolean {
  return args.length === 2 && args[0] === "--version" && args[1] === "--json";
}

/** Tells what went wrong and returns the exit code. */
export function reportFailure(error: unknown, terminal: Terminal, isServer: boolean): number {
  // commander has written its own message: help and version end with 0, everything else is a usage error.
  if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.ok : EXIT.usage;
  if (error instanceof ChangesFound) return EXIT.changes;
  if (error instanceof DifferencesFound) return EXIT.failure;
  const { kind, sentence } = toFailure(error);
  // The last line of a server's log is one as the others: what collects them takes no other.
  if (isServer && kind !== "usage" && !terminal.screens.messages) writeLast(sentence, EXIT[kind], terminal);
  else terminal.writeMessage(`${toPrefix(terminal)} ${toPrintableMessage(sentence)}\n`);
  return EXIT[kind];
}

function writeLast(sentence: string, code: number, terminal: Terminal): void {
  const log = createLog({
    level: "error",
    json: true,
    write: (line) => terminal.writeMessage(line),
    timestamp: () => formatInstant(terminal.clock.nowUs()),
  });
  log.error(sentence, { exit_code: code });
}

/** Before every message of a failure. */
function toPrefix({ env, screens }: Terminal): string {
  return createStyle(env, screens.messages).bad("lockport:");
}

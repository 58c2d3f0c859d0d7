import type { Command } from "commander";
import { toPrintable } from "#kernel/printable.ts";
import { addExamples } from "#cli/help/examples.ts";
import { toPath } from "#cli/help/command-tree.ts";
import { toWindow, type DefaultWindow } from "#cli/input/filters.ts";
import { confirm } from "#cli/input/input.ts";
import { addCommand } from "#cli/input/options.ts";
import { isObject, type Installation, type Json } from "#cli/installation/client.ts";
import { withInstallation, type InstallationOptions } from "#cli/installation/open.ts";
import { settleUsage, toNotices } from "#cli/installation/report.ts";
import { CommandError } from "#cli/screen/failure.ts";
import { toMoment } from "#cli/screen/figures.ts";
import { toCell, writeDone, writeJson } from "#cli/screen/output.ts";
import type { Terminal } from "#cli/screen/terminal.ts";
import type { Route } from "#http/door/route.ts";
import { writeAnswer, writeRows, type TableShape } from "./answer.ts";
import { addFlags, readFlags, toRouteFlags, toWords, type Flag } from "./flags.ts";
import { showSecret } from "./secret.ts";

/** A command that asks one route. What it does not say comes from the route's declaration. */
export interface RouteCommand {
  /** `METHOD /path`, as the table of routes has it. */
  readonly route: string;
  /** Words and arguments, such as `my keys create`; those of the path stand for `:id` in their order. */
  readonly usage: string;
  readonly about?: string;
  /** The same in the program's help, where a line has room for two commands. */
  readonly short?: string;
  /** What the program's help lists it under; absent: by the route's part of the documentation. */
  readonly group?: string;
  readonly flags?: readonly Flag[];
  /** Fields that have a value where none is said. */
  readonly defaults?: { readonly [field: string]: unknown };
  /** The window of a report that has no `--since`. */
  readonly window?: DefaultWindow;
  readonly table?: TableShape;
  /** Asks and shows the answer in its own way, unless JSON is asked for. */
  readonly show?: (terminal: Terminal, installation: Installation) => Promise<void>;
  /** What was done, with `{name}` for an argument or a field of the answer; absent: the answer is shown. */
  readonly done?: string;
  /** The field of a secret that is shown once, and the route that takes it back where it cannot be shown. */
  readonly secret?: { readonly field: string; readonly what: string; readonly takeBack: string | null };
  /** What an argument is called by, where that is not what the path takes. */
  readonly find?: (installation: Installation, name: string) => Promise<string>;
  /** Asks before: what goes, with `{name}` as in `done`. */
  readonly asks?: string;
  /** It is about a server, or its caller: a data folder has no answer. */
  readonly isOfServer?: true;
  readonly help?: string;
  readonly examples?: readonly string[];
}

interface RouteOptions extends InstallationOptions {
  readonly yes?: true;
}

/** Makes the command beneath the groups that its words name. */
export function addRouteCommand(
  program: Command,
  preset: RouteCommand,
  { route, terminal }: { readonly route: Route; readonly terminal: Terminal },
): Command {
  const words = preset.usage.split(" ").filter((word) => !/^[<[]/.test(word));
  const args = preset.usage.split(" ").slice(words.length);
  const parent = words.slice(0, -1).reduce((above, name) => {
    const found = above.commands.find((each) => each.name() === name);
    return found ?? above.command(name);
  }, program);
  const flags = preset.flags ?? toRouteFlags(route);
  const about = preset.about ?? toWords(route.summary);
  const verb = words.at(-1) ?? "";
  // `lockport my keys` alone lists them.
  const isDefault = parent !== program && args.length === 0 && DEFAULT_VERBS.has(verb) && words.length > 2;
  const command = addCommand(parent, [verb, ...args].join(" "), about, { isDefault });
  if (preset.short !== undefined) command.summary(preset.short);
  addFlags(command, flags);
  if (preset.asks !== undefined) command.option("--yes", "do not ask");
  command.action(async (...given: readonly unknown[]) => {
    const values = given.slice(0, args.length).map((value) => (typeof value === "string" ? value : ""));
    const named = Object.fromEntries(
      command.registeredArguments.map((arg, index) => [arg.name(), values[index]]),
    );
    await run(terminal, command.opts<RouteOptions>(), {
      preset,
      route,
      fields: { ...preset.defaults, ...readFlags(command, flags) },
      values,
      named,
    });
  });
  if (preset.help !== undefined) command.addHelpText("after", `\n${preset.help}`);
  addExamples(command, preset.examples ?? [toExample(command, route, flags)]);
  return command;
}

const DEFAULT_VERBS: ReadonlySet<string> = new Set(["list", "show"]);

/** What the program's help lists it under. */
export function toGroup({ group }: Pick<RouteCommand, "group">, { tag }: Pick<Route, "tag">): string {
  return group ?? HELP_GROUPS[tag] ?? "Tools";
}

/** By the part of the documentation. */
const HELP_GROUPS: { readonly [tag: string]: string } = {
  Catalog: "Catalog",
  People: "People",
  "Self-service": "People",
  Limits: "People",
  Statistics: "Usage",
  Reports: "Usage",
  Operation: "Operation",
};

/** A line that can be typed: the example of the declaration. */
function toExample(command: Command, { params, example }: Route, flags: readonly Flag[]): string {
  const said = flags.flatMap(({ flags: text, field, isRequired }) => {
    const value = isObject(example) ? example[field] : undefined;
    return isRequired === true && typeof value === "string" ? [text.split(" ")[0], value] : [];
  });
  return ["lockport", toPath(command), ...Object.values(params ?? {}), ...said].join(" ");
}

interface Run {
  readonly preset: RouteCommand;
  readonly route: Route;
  readonly fields: { readonly [field: string]: unknown };
  readonly values: readonly string[];
  readonly named: { readonly [argument: string]: unknown };
}

async function run(terminal: Terminal, options: RouteOptions, asked: Run): Promise<void> {
  const { preset, route, fields, named } = asked;
  const isReading = route.method === "GET";
  const isWindowed = route.query?.some(({ name }) => name === "since") === true;
  const window = isWindowed ? toWindow(fields, terminal.clock, preset.window) : {};
  if (route.method === "PATCH" && Object.keys(fields).length === 0)
    throw new CommandError("usage", "Say what is to change.");
  await withInstallation(terminal, options, async (installation) => {
    const { api } = installation;
    if (preset.isOfServer === true && installation.origin === null) throw refuseLocal(preset);
    if (preset.asks !== undefined && options.yes !== true)
      await confirmCall(terminal, installation, fill(preset.asks, named));
    const isReport = isReading && ["Statistics", "Reports", "Limits"].includes(route.tag);
    const unsettled = isReport ? await settleUsage(installation) : [];
    if (preset.show !== undefined && options.json !== true) {
      for (const notice of unsettled) terminal.writeMessage(`${notice}\n`);
      await preset.show(terminal, installation);
      return;
    }
    const params = await findParams(installation, asked);
    const { data: body, headers } = await api.ask(preset.route, {
      params,
      query: isReading ? { ...fields, ...window } : {},
      ...(!isReading && route.body !== undefined && { body: fields }),
    });
    for (const notice of [...unsettled, ...toNotices(headers)]) terminal.writeMessage(`${notice}\n`);
    const { secret, done } = preset;
    if (secret !== undefined) {
      const { field, what, takeBack } = secret;
      const id = String(body["id"]);
      await showSecret(terminal, options, {
        view: { ...body, id },
        secret: String(body[field]),
        what,
        takeBack: takeBack === null ? null : () => api.ask(takeBack, { params: { id } }),
      });
    } else if (done !== undefined) {
      writeDone(terminal, options, { view: body, sentence: fill(done, { ...body, ...named }) });
    } else if (options.json === true) writeJson(terminal, body);
    else write(terminal, preset, { body, window });
  });
}

function refuseLocal({ usage }: RouteCommand): CommandError {
  return new CommandError(
    "usage",
    `lockport ${usage.replace(/ [<[].*/, "")} asks a server, as the owner of LOCKPORT_API_KEY: name it with --url or LOCKPORT_URL.`,
  );
}

async function confirmCall(terminal: Terminal, { origin }: Installation, facts: string): Promise<void> {
  const told = origin === null ? facts : `On ${origin}: ${facts}`;
  await confirm(terminal, { facts: told, question: `${told} Go on?`, otherwise: "Nothing was changed" });
}

/** What stands in the path, by the arguments in their order. */
async function findParams(installation: Installation, { preset, route, values }: Run) {
  const names = [...route.path.matchAll(/:(\w+)/g)].map(([, name = ""]) => name);
  const { find = async (_: Installation, name: string) => name } = preset;
  const found = await Promise.all(names.map((_, index) => find(installation, values[index] ?? "")));
  return Object.fromEntries(names.map((name, index) => [name, found[index] ?? ""]));
}

function fill(sentence: string, fields: { readonly [name: string]: unknown }): string {
  return sentence.replaceAll(/\{(\w+)\}/g, (_, name: string) => toCell(fields[name]));
}

interface Shown {
  readonly body: Json;
  readonly window: { readonly since?: string | undefined; readonly until?: string | undefined };
}

function write(terminal: Terminal, { table }: RouteCommand, { body, window }: Shown): void {
  if (table === undefined) {
    writeAnswer(terminal, body);
    return;
  }
  const rows = writeRows(terminal, body, table);
  const { offset, total } = body;
  if (typeof total === "number" && typeof offset === "number" && offset + rows.length < total)
    terminal.writeMessage(
      `${rows.length} of ${total}: --offset ${offset + rows.length} shows the next, --limit says how many.\n`,
    );
  if (window.since !== undefined || window.until !== undefined) {
    if (rows.length === 0) terminal.writeMessage("Nothing in this window.\n");
    const [since, until] = [window.since ?? "the beginning", window.until ?? "now"];
    terminal.writeMessage(`${toPrintable(toMoment(since))} to ${toPrintable(toMoment(until))}, UTC\n`);
  }
}

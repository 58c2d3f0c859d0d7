import { isJsonObject } from "#kernel/json.ts";
import type { Command } from "commander";
import { toPrintable } from "#kernel/printable.ts";
import type { QueryParams } from "#kernel/route-request.ts";
import { addExamples, toPath } from "#cli/screen/help.ts";
import { toWindow, type DefaultWindow, settleUsage, toNotices } from "#cli/input/report.ts";
import { confirm } from "#cli/input/input.ts";
import { addCommand, refuseLocal } from "#cli/input/options.ts";
import { type Client, type Installation, type Json } from "#cli/installation/client.ts";
import { findServerUrl, withInstallation, type InstallationOptions } from "#cli/installation/open.ts";
import { getPrincipal, listAll } from "#cli/installation/lists.ts";
import { checkTyped, CommandError } from "#cli/screen/failure.ts";
import { toMoment, writeDone, writeJson, showSecret } from "#cli/screen/output.ts";
import type { Terminal } from "#cli/screen/terminal.ts";
import type { Route } from "#http/door/route.ts";
import { findRows, writeAnswer, writeRows, type TableShape } from "./answer.ts";
import { addFlags, readFlags, toRouteFlags, toWords, type Flag } from "./flags.ts";
import { describeRemoval, type Removal, type Used } from "./removal.ts";

/** The typed line: fields of the request by flags, and arguments by their names. */
export interface Said {
  readonly fields: Json;
  readonly named: { readonly [argument: string]: string | undefined };
}

/** A command that is done, for what is to be said beside it. */
export interface Done extends Said {
  readonly terminal: Terminal;
  readonly installation: Installation;
  readonly options: InstallationOptions;
  readonly view: Json;
  readonly before: Json;
  /** The fields as they were typed. */
  readonly typed: Json;
}

interface ShownField {
  readonly field: string;
  readonly what: string | ((said: Said) => string);
  readonly takeBack: string | null | ((installation: Installation) => string);
}

/** A command that asks one route. What it does not say comes from the route's declaration. */
export interface RouteCommand {
  /** `METHOD /path`, as the table of routes has it. */
  readonly route: string;
  /** Words and arguments, such as `my keys create`; those of the path stand for `:id` in their order. */
  readonly usage: string;
  readonly about?: string;
  /** A shorter description for the program's help, where a line has room for two commands. */
  readonly short?: string;
  /** Heading of the program's help that it stands under; absent: by the route's part of the documentation. */
  readonly group?: string;
  readonly flags?: readonly Flag[];
  /** Fields that have a value where none is said. */
  readonly defaults?: Json;
  /** Fields that arguments say, or the command itself. */
  readonly toFields?: (named: Said["named"]) => Json;
  /** The domain's own rules: what they refuse is a wrong argument on every installation. */
  readonly check?: (said: Said) => unknown;
  /** The fields with what is read from files or asked for. */
  readonly prepare?: (terminal: Terminal, said: Said) => Promise<Json>;
  /** The window of a report that has no `--since`. */
  readonly window?: DefaultWindow;
  readonly table?: TableShape;
  /** All pages of the table's rows, and JSON of the rows alone, each with these fields where it has none. */
  readonly whole?: { readonly absent: Json };
  /** Asks and shows the answer in its own way, unless JSON is asked for. */
  readonly show?: (terminal: Terminal, installation: Installation) => Promise<void>;
  /** The sentence about what was done, with `{name}` for an argument or a field of the answer; absent: the answer is shown. */
  readonly done?: string | ((done: Done) => string);
  /** Says what else has to be known, unless JSON is asked for. */
  readonly after?: (done: Done) => Promise<void> | void;
  /** The field of a secret that is shown once, what it is, and the route that takes it back where it cannot be shown. */
  readonly secret?: ShownField;
  /** Asks in place of the route; `before` is what it finds. */
  readonly ask?: (installation: Installation, said: Said, before: Json) => Promise<Json>;
  /** Finds what is to be changed, as it is. */
  readonly before?: (installation: Installation, named: Said["named"]) => Promise<Json>;
  /** Finds what the path takes by what an argument is called. */
  readonly find?: (installation: Installation, name: string) => Promise<string>;
  /** Asks before, with these facts (`{name}` as in `done`). Every DELETE asks without it, with what the server says would go. */
  readonly asks?: string | ((installation: Installation, name: string) => Promise<Removal>);
  /** The filter of reports that finds what was used lately of what a DELETE removes, which its question tells, too. */
  readonly used?: Used["filter"];
  /** It is about a server, or its caller: a data folder has no answer. */
  readonly isOfServer?: true;
  readonly help?: string;
  readonly examples?: readonly string[];
}

interface RouteOptions extends InstallationOptions {
  readonly yes?: true;
}

/** The other word that people try for what takes something away. */
const OTHER_VERB: { readonly [verb: string]: string } = { remove: "delete", delete: "remove" };

/** True for what nothing brings back. */
function isAsking({ asks }: RouteCommand, { method }: Route): boolean {
  return asks !== undefined || method === "DELETE";
}

/** Makes the command beneath the groups that its words name. */
export function addRouteCommand(
  program: Command,
  preset: RouteCommand,
  { route, terminal }: { readonly route: Route; readonly terminal: Terminal },
): void {
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
  const isOfServer = preset.isOfServer === true;
  const command = addCommand(parent, [verb, ...args].join(" "), about, { isDefault, isOfServer });
  // `errors clients --json`: without it `errors` would take the options of the commands below it for its own.
  command.enablePositionalOptions();
  if (preset.short !== undefined) command.summary(preset.short);
  addFlags(command, flags);
  if (isAsking(preset, route)) {
    command.option("--yes", "do not ask");
    const other = OTHER_VERB[verb];
    if (other !== undefined) command.alias(other);
  }
  command.action(async (...given: readonly unknown[]) => {
    const options = command.opts<RouteOptions>();
    // Before a folder is looked for: the one that is missing here would have no answer either.
    if (isOfServer && findServerUrl(terminal, options) === null) throw refuseLocal(command);
    const values = args.map((_, index) => given[index]);
    const named = Object.fromEntries(
      command.registeredArguments.map((arg, index) => {
        const value = values[index];
        return [arg.name(), typeof value === "string" ? value : undefined];
      }),
    );
    const typed = readFlags(command, flags);
    if (route.method === "PATCH" && preset.toFields === undefined && Object.keys(typed).length === 0)
      throw new CommandError(
        "usage",
        `Say what to change: lockport ${words.join(" ")} --help lists what can be.`,
      );
    const fields = { ...preset.defaults, ...preset.toFields?.(named), ...typed };
    checkTyped(() => preset.check?.({ fields, named }));
    const prepared = (await preset.prepare?.(terminal, { fields, named })) ?? fields;
    const asked = { preset, route, fields: prepared, typed: fields, named };
    await run(terminal, options, asked);
  });
  if (preset.help !== undefined) command.addHelpText("after", `\n${preset.help}`);
  addExamples(command, preset.examples ?? [toExample(command, route, flags)]);
}

/** Parts that a group of commands is made of. */
export interface Made {
  /** The group's word. */
  readonly name: string;
  readonly routes: readonly Route[];
}

/** Adds those of these commands that begin with the group's word. Throws for one whose route is not declared. */
export function addPresets(
  program: Command,
  {
    name,
    routes,
    terminal,
    presets,
  }: Made & { readonly terminal: Terminal; readonly presets: readonly RouteCommand[] },
): void {
  for (const preset of presets) {
    if (preset.usage.split(" ")[0] !== name) continue;
    const route = routes.find(({ method, path }) => `${method} ${path}` === preset.route);
    if (route === undefined) throw new Error(`${preset.route} is no declared route`);
    addRouteCommand(program, preset, { route, terminal });
  }
}

const DEFAULT_VERBS: ReadonlySet<string> = new Set(["list", "show"]);

/** Heading of the program's help that it stands under. */
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
    const value = isJsonObject(example) ? example[field] : undefined;
    return isRequired === true && typeof value === "string" ? [text.split(" ")[0], value] : [];
  });
  return ["lockport", toPath(command), ...Object.values(params ?? {}), ...said].join(" ");
}

interface Run extends Said, Pick<Done, "typed"> {
  readonly preset: RouteCommand;
  readonly route: Route;
}

async function run(terminal: Terminal, options: RouteOptions, asked: Run): Promise<void> {
  const { preset, route, fields, named } = asked;
  const isReading = route.method === "GET";
  const isWindowed = route.query?.some(({ name }) => name === "since") === true;
  const window = isWindowed ? toWindow(fields, terminal.clock, preset.window) : {};
  await withInstallation(terminal, options, async (installation) => {
    const { api } = installation;
    if (options.yes !== true) await confirmCall(terminal, installation, asked);
    const isReport = isReading && ["Statistics", "Reports", "Limits"].includes(route.tag);
    const unsettled = isReport ? await settleUsage(installation) : [];
    if (preset.show !== undefined && options.json !== true) {
      for (const notice of unsettled) terminal.writeMessage(`${notice}\n`);
      await preset.show(terminal, installation);
      return;
    }
    const params = await findParams(installation, asked);
    const query = isReading ? { ...fields, ...window } : {};
    if (preset.whole !== undefined) {
      await writeWhole(terminal, options, { ...asked, api, query: toQuery(query) });
      return;
    }
    const asking = async () => {
      const body = !isReading && route.body !== undefined ? { body: fields } : {};
      const answer = await api.ask(preset.route, { params, query: toQuery(query), ...body });
      for (const notice of [...unsettled, ...toNotices(answer.headers)]) terminal.writeMessage(`${notice}\n`);
      return answer.data;
    };
    const before = (await preset.before?.(installation, named)) ?? {};
    const view = await (preset.ask === undefined ? asking() : preset.ask(installation, asked, before));
    const done = { terminal, installation, options, before, view, fields, named, typed: asked.typed };
    if (preset.secret !== undefined) await tellSecret(preset.secret, done);
    else if (typeof preset.done === "string") {
      writeDone(terminal, options, { view, sentence: fill(preset.done, { ...view, ...named }) });
    } else if (preset.done !== undefined) writeDone(terminal, options, { view, sentence: preset.done(done) });
    else if (options.json === true) writeJson(terminal, view);
    else write(terminal, preset, { body: view, window });
    if (options.json !== true) await preset.after?.(done);
  });
}

/** A number as text, a list as a list of texts. */
function toQuery(fields: Json): QueryParams {
  return Object.fromEntries(
    Object.entries(fields).map(([name, value]) => [
      name,
      value === undefined ? undefined : Array.isArray(value) ? value.map(toPlain) : toPlain(value),
    ]),
  );
}

function toPlain(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}

/**
 * Asks on a terminal before something is taken away, and tells what it is; elsewhere a `CommandError` tells it and asks for
 * `--yes`. With `--yes` nothing is looked up.
 */
async function confirmCall(terminal: Terminal, installation: Installation, asked: Run): Promise<void> {
  if (!isAsking(asked.preset, asked.route)) return;
  const { facts, question } = await describeCall(installation, asked);
  const told = installation.origin === null ? facts : `On ${installation.origin}: ${facts}`;
  await confirm(terminal, {
    facts: told,
    question: `${told} ${question}`,
    otherwise: "Nothing was changed",
  });
}

async function describeCall(installation: Installation, asked: Run): Promise<Removal> {
  const { preset, route, named } = asked;
  const { asks, used } = preset;
  const [name = ""] = Object.values(named);
  if (typeof asks === "function") return asks(installation, name);
  if (asks !== undefined) return { facts: fill(asks, named), question: "Go on?" };
  if (route.query?.some((each) => each.name === "dry_run") !== true)
    return { facts: `${toWords(route.summary)}: ${name}.`, question: "Go on?" };
  const params = await findParams(installation, asked);
  const use = used === undefined ? {} : { used: { filter: used, name } };
  return describeRemoval(installation, preset.route, { params, ...use });
}

/** Finds the parameters of the path, by the arguments in their order. */
async function findParams(installation: Installation, { preset, route, named }: Run) {
  const names = [...route.path.matchAll(/:(\w+)/g)].map(([, name = ""]) => name);
  const values = Object.values(named);
  const { find = async (_: Installation, name: string) => name } = preset;
  const found = await Promise.all(names.map((_, index) => find(installation, values[index] ?? "")));
  return Object.fromEntries(names.map((name, index) => [name, found[index] ?? ""]));
}

async function tellSecret(
  { field, what, takeBack }: ShownField,
  { terminal, installation, options, view, fields, named }: Done,
): Promise<void> {
  const id = String(view["id"]);
  const route = typeof takeBack === "function" ? takeBack(installation) : takeBack;
  await showSecret(terminal, options, {
    view: { ...view, id },
    secret: String(view[field]),
    what: typeof what === "string" ? fill(what, { ...fields, ...view, ...named }) : what({ fields, named }),
    takeBack: route === null ? null : () => installation.api.ask(route, { params: { id } }),
  });
}

function fill(sentence: string, fields: Json): string {
  return sentence.replaceAll(/\{(\w+)\}/g, (_, name: string) => {
    const value = fields[name];
    return value === undefined ? "" : toPlain(value);
  });
}

interface Whole extends Run {
  readonly api: Client;
  readonly query: QueryParams;
}

async function writeWhole(terminal: Terminal, options: RouteOptions, { preset, fields, api, query }: Whole) {
  const { table, whole, route } = preset;
  const [name = ""] = table?.rows ?? [];
  const rows = await listAll(name, async (page) => {
    const { data } = await api.ask(route, { query: { ...query, ...page } });
    return { rows: findRows(data, [name]), total: Number(data["total"]) };
  });
  const views = rows.map((row) => Object.assign({}, row, whole?.absent, row));
  if (views.length === 0 && typeof fields["principal"] === "string")
    // The interface has an empty list for an owner who does not exist; on a command line that is a typo.
    await getPrincipal(api, fields["principal"]);
  if (options.json === true) writeJson(terminal, views);
  else if (table !== undefined) writeRows(terminal, { [name]: views }, table);
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

import { type Command, Option, InvalidArgumentError } from "commander";
import { parseLimitDraft, parseLimitPatch } from "#limits/limit-draft.ts";
import { addCommand, choiceOption } from "#cli/input/options.ts";
import { addExamples } from "#cli/screen/help.ts";
import { type Installation, given, type Client } from "#cli/installation/client.ts";
import { listLimits, type LimitSubjectPair, requireNamed } from "#cli/installation/lists.ts";
import { withInstallation, type InstallationOptions } from "#cli/installation/open.ts";
import { settleUsage } from "#cli/input/report.ts";
import { addPresets, type Made, type RouteCommand } from "#cli/routes/route-command.ts";
import { writeFields, writeJson, writeList, writeDone, toMoment, toMeasured } from "#cli/screen/output.ts";
import type { Terminal } from "#cli/screen/terminal.ts";
import { addLimitCheckCommand } from "#cli/commands/ledger.ts";
import { LIMIT_MEASURES, LIMIT_WINDOWS, UNPRICED_RULES } from "#limits/limit.ts";
import { readNumber } from "#cli/input/input.ts";
import { checkTyped, CommandError } from "#cli/screen/failure.ts";
import { isTagPair } from "#stats/filter.ts";

export function addCommands(program: Command, terminal: Terminal, made: Made): void {
  const limit = program.command("limit").description("who may use how much, and until when");

  const list = addSubjectOptions(addCommand(limit, "list", "list limits, and what is left of each")).action(
    (options: SubjectOptions) =>
      withInstallation(terminal, options, async (installation) => {
        const [of] = Object.entries(toSubject(options));
        const { rows, notices } = await readLimits(installation, of);
        if (options.json === true) writeJson(terminal, rows);
        else writeLimits(terminal, rows);
        for (const notice of notices) terminal.writeMessage(`${notice}\n`);
      }),
  );
  addExamples(list, ["lockport limit list", "lockport limit list --principal ada --json"]);

  const show = addCommand(limit, "show <name>", "show one limit, and who has used the most of it").action(
    (name: string, options: InstallationOptions) =>
      withInstallation(terminal, options, async (installation) => {
        const { rows, notices } = await readLimits(installation);
        const { top, ...view } = requireLimit(rows, name);
        writeFields(terminal, options, top === undefined || options.json !== true ? view : { ...view, top });
        if (top !== undefined && options.json !== true) writeUses(terminal, view, top);
        for (const notice of notices) terminal.writeMessage(`${notice}\n`);
      }),
  );
  addExamples(show, ["lockport limit show everyone"]);

  addLimitSetCommand(limit, terminal);

  addPresets(program, { ...made, terminal, presets: CHANGING });
  addLimitCheckCommand(limit, terminal);
}

export const findLimitId = async ({ api }: Installation, name: string) =>
  requireLimit(await listLimits(api), name).id;

const CHANGING: readonly RouteCommand[] = [
  {
    route: "PATCH /admin/v1/limits/:id",
    usage: "limit rename <name> <new-name>",
    about: "give it another name",
    flags: [],
    toFields: (named) => ({ name: named["new-name"] }),
    check: ({ fields }) => {
      const name = String(fields["name"]);
      parseLimitDraft({ name, subject: {}, measure: "concurrent", amount: 1 });
    },
    find: findLimitId,
    done: ({ named }) => `renamed ${named["name"]} to ${named["new-name"]}`,
    examples: ["lockport limit rename everyone daily"],
  },
  {
    route: "DELETE /admin/v1/limits/:id",
    usage: "limit remove <name>",
    about: "remove a limit; what was used stays recorded",
    find: findLimitId,
    done: "removed limit {name}",
    examples: ["lockport limit remove everyone", "lockport limit remove everyone --yes"],
  },
];

/** Beside a server, usage that it answered a moment ago is waited for. */
async function readLimits(installation: Installation, of?: LimitSubjectPair) {
  const notices = await settleUsage(installation);
  return { rows: await listLimits(installation.api, { of }), notices };
}

export function requireLimit(limits: readonly LimitView[], name: string): LimitView {
  const named = limits.map((limit) => ({ name: limit.name, also: toOtherNames(limit), limit }));
  return requireNamed(named, name, "No limit has this name: lockport limit list has all.").limit;
}

/** Its id, whom it is for, and the words of its name: `ada` for `ada: month`. */
function toOtherNames({ id, name, subject }: LimitView): readonly string[] {
  return [id, ...Object.values(subject), ...name.split(/[\s:,]+/)];
}

/** Those of a caller do not tell what was refused. */
type ShownLimit = Omit<LimitView, "refused" | "last_refused_at">;

export function writeLimits(terminal: Terminal, limits: readonly ShownLimit[]): void {
  const views = limits.map((limit) => ({
    name: limit.name,
    used: `${toMeasured(limit.measure, limit.used)}${isShort(limit) ? "*" : ""}`,
    left: toMeasured(limit.measure, limit.left),
    starts_anew: describeEnd(limit),
    limit: limit.sentence.replace(/\.$/, ""),
  }));
  const columns = ["name", "used", "left", "starts_anew", "limit"] as const;
  writeList(terminal, {}, { views, columns, figures: ["used", "left"], spare: ["starts_anew"] });
  if (limits.some(isShort))
    terminal.writeMessage("* and requests without a price or without their usage, whose cost is unknown\n");
}

/** True when more was used than is counted. */
function isShort(counted: Pick<LimitView, "unpriced_requests" | "unknown_requests">): boolean {
  return counted.unpriced_requests + counted.unknown_requests > 0;
}

type Uses = NonNullable<LimitView["top"]>;

function writeUses(terminal: Terminal, { measure }: Pick<LimitView, "measure">, top: Uses): void {
  const views = top.map((use) => ({
    most_used_by: use.principal ?? use.key ?? use.tag ?? "",
    used: `${toMeasured(measure, use.used)}${isShort(use) ? "*" : ""}`,
    left: toMeasured(measure, use.left),
  }));
  if (views.length === 0) return;
  terminal.writeData("\n");
  writeList(terminal, {}, { views, columns: ["most_used_by", "used", "left"], figures: ["used", "left"] });
}

interface SetOptions extends SubjectOptions {
  readonly amount?: number;
  readonly per?: string;
  readonly measure?: string;
  readonly model?: string;
  readonly each?: string;
  readonly fixed?: true;
  readonly unpriced?: string;
  readonly unknown?: number;
  readonly anyUnknown?: true;
  readonly warn?: true;
  readonly refuse?: true;
  readonly enable?: true;
  readonly disable?: true;
}

/** `limit set`: makes a limit, or changes the one of that name. */
export function addLimitSetCommand(limit: Command, terminal: Terminal): void {
  const set = addSubjectOptions(
    addCommand(limit, "set <name>", "make a limit, or change the one of this name")
      .option("--amount <number>", "how much may be used", readNumber)
      .addOption(
        choiceOption("--per <window>", "day, week and month begin in UTC; minute, hour slide", LIMIT_WINDOWS),
      )
      .addOption(choiceOption("--measure <measure>", "what is counted (default: cost)", LIMIT_MEASURES)),
  )
    .option("--model <alias>", "requests to this model alone")
    .option("--each <each>", "for each by itself: principal, key or tag:team")
    .option("--fixed", "of tags, fixed ones alone count, which no caller can change")
    .addOption(new Option("--warn", "let requests pass, with a header that says so").conflicts("refuse"))
    .addOption(new Option("--refuse", "refuse requests again, which is the default"))
    .addOption(choiceOption("--unpriced <rule>", "what has no price, under a limit of cost", UNPRICED_RULES))
    .addOption(
      new Option("--unknown <count>", "refuse once so many requests ended without usage")
        .argParser(readNumber)
        .conflicts("anyUnknown"),
    )
    .addOption(new Option("--any-unknown", "let any number of them pass, which is the default"))
    .addOption(new Option("--disable", "let everything pass until --enable").conflicts("enable"))
    .addOption(new Option("--enable", "hold it again"))
    .action(async (name: string, options: SetOptions) => {
      checkScope(name, options);
      await withInstallation(terminal, options, async ({ api }) => {
        const before = (await listLimits(api)).find((each) => each.name === name);
        if (before === undefined) {
          const view = await api.call("POST /admin/v1/limits", { body: toDraft(name, options) });
          writeDone(terminal, options, { view, sentence: `made limit ${name}: ${view.sentence}` });
          return;
        }
        const view = await change(api, before, options);
        writeDone(terminal, options, { view, sentence: `limit ${name}: ${describeChange(before, view)}` });
      });
    });
  set.addHelpText(
    "after",
    `
Without --principal, --key, --relay-token and --tag it holds for everybody. It applies from the next request on, and counts
what its window already holds. Amount, window, action, --unpriced, --unknown and --enable can be changed; what a limit
counts, and of whom, is what it is. Beside a budget, --unknown bounds requests whose caller leaves before their usage is
told: what those used is in no sum.`,
  );
  addExamples(set, [
    "lockport limit set everyone --amount 20 --per day --each principal --unknown 50",
    "lockport limit set search --amount 500 --per month --tag team:search --fixed",
    "lockport limit set laptop --amount 60 --measure requests --per minute --key 019cdd2a-7c00-7000-8000-000000000004",
    "lockport limit set gpt --amount 2 --measure concurrent --model gpt-5",
    "lockport limit set search-warning --amount 400 --per month --tag team:search --warn",
  ]);
}

/** Refuses, before an installation is opened, what is wrong on every one. */
function checkScope(name: string, options: SetOptions): void {
  const { each, fixed, model } = options;
  const subject = { ...toSubject(options), model };
  checkTyped(() => parseLimitDraft({ name, subject, each, fixed, measure: "concurrent", amount: 1 }));
}

/** Throws a `CommandError` for what a new limit lacks. */
function toDraft(name: string, options: SetOptions) {
  const { amount, each, fixed, model, measure = "cost" } = options;
  const lacking = [
    ...(amount === undefined ? ["--amount"] : []),
    ...(options.per === undefined && measure !== "concurrent" ? [`--per ${LIMIT_WINDOWS.join("|")}`] : []),
  ];
  if (amount === undefined || lacking.length > 0) {
    throw new CommandError(
      "usage",
      `There is no limit ${name} yet, and making it takes ${lacking.join(" and ")}.`,
    );
  }
  const subject = given({ ...toSubject(options), model });
  const draft = { ...given({ each, fixed, ...toSettings(options) }), name, subject, measure, amount };
  checkTyped(() => parseLimitDraft(draft));
  return draft;
}

function toSettings(options: SetOptions) {
  const { per, unpriced, unknown, anyUnknown, warn, refuse, enable, disable } = options;
  return {
    window: per,
    action: warn === true ? "warn" : refuse === true ? "refuse" : undefined,
    unpriced,
    unknown: anyUnknown === true ? null : unknown,
    enabled: enable === true ? true : disable === true ? false : undefined,
  };
}

async function change(api: Client, before: LimitView, options: SetOptions): Promise<LimitView> {
  refuseOther(before, options);
  const patch = given({ amount: options.amount, ...toSettings(options) });
  checkTyped(() => parseLimitPatch(before, patch));
  const values: { readonly [field: string]: unknown } = before;
  const isSame = Object.entries(patch).every(([field, value]) => (values[field] ?? null) === value);
  if (isSame) return before;
  return await api.call("PATCH /admin/v1/limits/:id", { params: { id: before.id }, body: patch });
}

/** Throws a `CommandError` where another limit was meant: nothing turns this one into it. */
function refuseOther(before: LimitView, options: SetOptions): void {
  const wanted = Object.entries(given({ ...toSubject(options), model: options.model }));
  const subject: { readonly [field: string]: unknown } = before.subject;
  const each = options.each?.trim().toLowerCase();
  const differs =
    (options.measure !== undefined && options.measure !== before.measure) ||
    (each !== undefined && each !== before.each) ||
    (options.fixed === true && before.fixed !== true) ||
    wanted.some(([field, value]) => subject[field] !== value);
  if (!differs) return;
  throw new CommandError(
    "failure",
    `The limit ${before.name} counts something else, which stays. ${before.sentence} Give the new one another name, or remove this one first: lockport limit remove NAME.`,
  );
}

const FIELDS = ["amount", "window", "action", "unpriced", "unknown", "enabled"] as const;

function describeChange(before: LimitView, after: LimitView): string {
  const show = (view: LimitView, field: (typeof FIELDS)[number]) =>
    field === "amount" ? toMeasured(view.measure, view.amount) : String(view[field] ?? "any");
  const changes = FIELDS.filter((field) => before[field] !== after[field]).map(
    (field) => `${field} ${show(before, field)} -> ${show(after, field)}`,
  );
  return changes.length === 0 ? `is so already. ${after.sentence}` : changes.join(", ");
}

/** Subject of a limit, one of these at most; none is everybody. */
export interface SubjectOptions extends InstallationOptions {
  readonly principal?: string;
  readonly key?: string;
  readonly relayToken?: string;
  readonly tag?: string;
}

const NAMES = ["principal", "key", "relayToken", "tag"];

export function addSubjectOptions(command: Command): Command {
  const options = [
    new Option("--principal <name>", "one principal's requests"),
    new Option("--key <id>", "made with this API key"),
    new Option("--relay-token <id>", "made with this relay token"),
    new Option("--tag <key:value>", "that carry this tag").argParser(readTag),
  ];
  for (const option of options)
    command.addOption(option.conflicts(NAMES.filter((name) => name !== option.attributeName())));
  return command;
}

export function toSubject({ principal, key, relayToken, tag }: SubjectOptions) {
  return given({ principal, key, relay_token: relayToken, tag });
}

function readTag(text: string): string {
  const tag = text.trim().toLowerCase();
  if (isTagPair(tag)) return tag;
  throw new InvalidArgumentError("It must be key:value, such as team:search.");
}

export type LimitView = Awaited<ReturnType<typeof listLimits>>[number];

/** When a calendar window ends, which is midnight in UTC; a word for the others. */
function describeEnd({ window, resets_at: resetsAt }: Pick<LimitView, "window" | "resets_at">) {
  if (resetsAt !== null) return toMoment(resetsAt).slice(0, "2026-01-31".length);
  if (window === undefined) return "-";
  return window === "total" ? "never" : "slides";
}

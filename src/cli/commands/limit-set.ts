import { Option, type Command } from "commander";
import { parseLimitDraft, parseLimitPatch } from "#limits/limit-draft.ts";
import { LIMIT_MEASURES, LIMIT_WINDOWS, UNPRICED_RULES } from "#limits/limit.ts";
import { choiceOption } from "#cli/input/choice.ts";
import { readNumber } from "#cli/input/input.ts";
import { addCommand } from "#cli/input/options.ts";
import { addExamples } from "#cli/help/examples.ts";
import { given, type Client } from "#cli/installation/client.ts";
import { listLimits } from "#cli/installation/lists.ts";
import { withInstallation } from "#cli/installation/open.ts";
import { checkTyped, CommandError } from "#cli/screen/failure.ts";
import { writeDone } from "#cli/screen/output.ts";
import type { Terminal } from "#cli/screen/terminal.ts";
import { addSubjectOptions, toSubject, type SubjectOptions } from "./limit-subject.ts";
import { describeLimit, toFigure, type LimitView } from "./limit-words.ts";

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
          writeDone(terminal, options, { view, sentence: `made limit ${name}: ${describeLimit(view)}` });
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

/** What is wrong on every installation is told before one is opened. */
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
    `The limit ${before.name} is ${describeLimit(before)}: what it counts and of whom stays. Give the new one another name, or remove this one first: lockport limit remove NAME.`,
  );
}

const FIELDS = ["amount", "window", "action", "unpriced", "unknown", "enabled"] as const;

function describeChange(before: LimitView, after: LimitView): string {
  const show = (view: LimitView, field: (typeof FIELDS)[number]) =>
    field === "amount" ? toFigure(view.measure, view.amount) : String(view[field] ?? "any");
  const changes = FIELDS.filter((field) => before[field] !== after[field]).map(
    (field) => `${field} ${show(before, field)} -> ${show(after, field)}`,
  );
  return changes.length === 0 ? `is ${describeLimit(after)} already` : changes.join(", ");
}

import type { Command } from "commander";
import { parseLimitDraft } from "#limits/limit-draft.ts";
import { addCommand } from "#cli/input/options.ts";
import { addExamples } from "#cli/help/examples.ts";
import type { Installation } from "#cli/installation/client.ts";
import { listLimits, type LimitSubjectPair } from "#cli/installation/lists.ts";
import { requireNamed } from "#cli/installation/named.ts";
import { withInstallation, type InstallationOptions } from "#cli/installation/open.ts";
import { settleUsage } from "#cli/installation/report.ts";
import { addPresets, type Made, type RouteCommand } from "#cli/routes/route-command.ts";
import { writeFields, writeJson, writeList } from "#cli/screen/output.ts";
import type { Terminal } from "#cli/screen/terminal.ts";
import { addLimitCheckCommand } from "#cli/commands/limit-check.ts";
import { addLimitSetCommand } from "#cli/commands/limit-set.ts";
import { addSubjectOptions, toSubject, type SubjectOptions } from "#cli/commands/limit-subject.ts";
import {
  describeAction,
  describeAmount,
  describeEnd,
  describeSubject,
  toFigure,
  type LimitView,
} from "#cli/commands/limit-words.ts";

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
    for: describeSubject(limit),
    limit: describeAmount(limit),
    used: `${toFigure(limit.measure, limit.used)}${isShort(limit) ? "*" : ""}`,
    left: toFigure(limit.measure, limit.left),
    starts_anew: describeEnd(limit),
    action: describeAction(limit),
  }));
  const columns = ["name", "for", "limit", "used", "left", "starts_anew", "action"] as const;
  writeList(terminal, {}, { views, columns, figures: ["used", "left"], spare: ["starts_anew"] });
  if (limits.some(isShort))
    terminal.writeMessage("* and requests without a price or without their usage, whose cost is unknown\n");
}

/** Whether more was used than is counted. */
function isShort(counted: Pick<LimitView, "unpriced_requests" | "unknown_requests">): boolean {
  return counted.unpriced_requests + counted.unknown_requests > 0;
}

type Uses = NonNullable<LimitView["top"]>;

function writeUses(terminal: Terminal, { measure }: Pick<LimitView, "measure">, top: Uses): void {
  const views = top.map((use) => ({
    most_used_by: use.principal ?? use.key ?? use.tag ?? "",
    used: `${toFigure(measure, use.used)}${isShort(use) ? "*" : ""}`,
    left: toFigure(measure, use.left),
  }));
  if (views.length === 0) return;
  terminal.writeData("\n");
  writeList(terminal, {}, { views, columns: ["most_used_by", "used", "left"], figures: ["used", "left"] });
}

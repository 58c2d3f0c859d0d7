import { type Command, InvalidArgumentError, Option } from "commander";
import { basename } from "node:path";
import { BILL_BODY_BYTES_MAX, BILL_FORMATS, type ColumnMap, MAPPED_FIELDS } from "#bills/bill.ts";
import { collectPairs, readTextInput } from "#cli/input/input.ts";
import { addCommand, choiceOption } from "#cli/input/options.ts";
import { INSTANT_FORMS, readInstant, readReport, RELAY_SENTINEL, toWindow } from "#cli/input/report.ts";
import { given } from "#cli/installation/client.ts";
import { withInstallation, type InstallationOptions } from "#cli/installation/open.ts";
import { CommandError, DifferencesFound, suggest } from "#cli/screen/failure.ts";
import { addExamples } from "#cli/screen/help.ts";
import { toAmount, toCell, toCount, toPrintableLines, writeJson, writeTable } from "#cli/screen/output.ts";
import { withProgress } from "#cli/screen/progress.ts";
import type { Terminal } from "#cli/screen/terminal.ts";
import type { AnswerOf } from "#http/client.ts";
import { toCounted } from "#kernel/text.ts";
import { toReconciliationCsv } from "#views/bills.ts";

type Reconciliation = AnswerOf<"POST /admin/v1/reconcile">;
type Line = Reconciliation["lines"][number];

interface ReconcileOptions extends InstallationOptions {
  readonly provider?: string;
  readonly format?: string;
  readonly map?: ColumnMap;
  readonly since?: string;
  readonly until?: string;
  readonly csv?: true;
  readonly all?: true;
}

export function addCommands(program: Command, terminal: Terminal): void {
  const command = addCommand(
    program,
    "reconcile <file...>",
    "hold a provider's bill against what was recorded",
  )
    .option("--provider <name>", `usage of this provider alone; the relay's is ${RELAY_SENTINEL}`)
    .addOption(choiceOption("--format <format>", "absent: recognised by columns", BILL_FORMATS))
    .option("--map <field=column,...>", "the columns of any other CSV; repeatable", collectColumns)
    .option("--since <instant>", `${INSTANT_FORMS}: the first day`, readInstant)
    .option("--until <instant>", "the same: the day behind the last", readInstant)
    .option("--all", "show lines that agree, too")
    .addOption(new Option("--csv", "print CSV: every line").conflicts("json"))
    .action(async (paths: readonly string[], options: ReconcileOptions) => {
      const { provider, format, map } = options;
      const window = toWindow(options, terminal.clock);
      const files = await readFiles(terminal, paths);
      const body = given({ files, provider, format, map, ...window });
      await withInstallation(terminal, options, async (installation) => {
        const { body: found, notices } = await withProgress(terminal, "comparing", () =>
          readReport(installation, () =>
            installation.api.callWithHeaders("POST /admin/v1/reconcile", { body }),
          ),
        );
        for (const notice of notices) terminal.writeMessage(`${notice}\n`);
        if (options.json === true) writeJson(terminal, found);
        else if (options.csv === true) terminal.writeData(toPrintableCsv(found));
        else writeComparison(terminal, found, options.all === true);
        if (!found.agrees) throw new DifferencesFound();
      });
    });
  command.addHelpText(
    "after",
    `
FILE is an export of OpenAI (usage, costs), Anthropic (usage, costs), OpenRouter
(activity) or Azure (cost details), JSON or CSV; several are compared together.
Any other CSV is read by --map, whose fields are:
  ${MAPPED_FIELDS.slice(0, 4).join(", ")},
  ${MAPPED_FIELDS.slice(4).join(", ")}
input_tokens is the whole input; with cached_input_tokens it is the rest of it.
Compared by UTC day, upstream model and tier, as far as the files tell these
apart. Without --provider it is the usage of the providers whose base URL is the
vendor's; for Anthropic also the relay's. Within is 1 % or five requests. Ends
with 0 when every line is equal or within, else with 1. No file is stored.`,
  );
  addExamples(command, [
    "lockport reconcile usage.json costs.json",
    "lockport reconcile activity.csv --since last-month --until this-month",
    "lockport reconcile invoice.csv --map date=Day,model=Deployment,requests=Calls,cost=Amount --provider azure",
    "lockport reconcile costs.csv --json | jq '.lines[] | select(.kind == \"bill_more\")'",
  ]);
}

/** `date=Day,model=Deployment`: a column whose name has a comma has a flag of its own, in which it is the last. */
function collectColumns(text: string, before: ColumnMap = {}): ColumnMap {
  const parts = text.split(/,(?=[a-z_]+=)/);
  const pairs = parts.reduce<{ [field: string]: string }>((all, part) => collectPairs(part, all), {});
  const known: readonly string[] = MAPPED_FIELDS;
  const unknown = Object.keys(pairs).find((field) => !known.includes(field));
  if (unknown === undefined) return { ...before, ...pairs };
  throw new InvalidArgumentError(`${unknown} is no field: ${known.join(", ")}.${suggest(unknown, known)}`);
}

async function readFiles(terminal: Terminal, paths: readonly string[]) {
  const files: { readonly name: string; readonly text: string }[] = [];
  let sizeBytes = 0;
  for (const path of paths) {
    const text = await readTextInput(terminal, path, BILL_BODY_BYTES_MAX);
    sizeBytes += Buffer.byteLength(text);
    if (sizeBytes > BILL_BODY_BYTES_MAX)
      throw new CommandError(
        "failure",
        `The files have more than ${BILL_BODY_BYTES_MAX} bytes together: give those of fewer days.`,
      );
    files.push({ name: path === "-" ? "stdin" : basename(path), text });
  }
  return files;
}

/** The line ends of RFC 4180 stay; what a screen would act on does not. */
function toPrintableCsv({ lines }: Reconciliation): string {
  return toReconciliationCsv(lines).split("\r\n").map(toPrintableLines).join("\r\n");
}

const AGREEING: ReadonlySet<Line["kind"]> = new Set(["equal", "within"]);
const WORDS: { readonly [kind in Line["kind"]]: string } = {
  equal: "equal",
  within: "within",
  lockport_more: "lockport more",
  bill_more: "bill more",
  only_here: "only here",
  only_there: "only there",
};

function writeComparison(
  terminal: Terminal,
  { lines, counts, total, since, until }: Reconciliation,
  isWhole: boolean,
): void {
  const shown = isWhole ? lines : lines.filter(({ kind }) => !AGREEING.has(kind));
  const isTold = (field: "model" | "tier") => shown.some((line) => line[field] !== null);
  const hasRequests = shown.some(({ there }) => there !== null && there.requests !== null);
  const columns = COLUMNS.filter(
    ({ heading, of }) => (of === undefined || isTold(of)) && (hasRequests || !heading.includes("REQUESTS")),
  );
  if (shown.length > 0)
    writeTable(terminal, {
      heading: columns.map(({ heading }) => heading),
      rows: shown.map((line) => columns.map(({ toText }) => toText(line))),
      right: new Set(columns.flatMap(({ isFigure }, index) => (isFigure === true ? [index] : []))),
      spare: columns.flatMap(({ isSpare }, index) => (isSpare === true ? [index] : [])),
    });
  const kinds = Object.entries(counts).filter(([, count]) => count > 0);
  const told = kinds.map(([kind, count]) => `${count} ${WORDS[toKind(kind)]}`).join(", ");
  terminal.writeMessage(
    `${toCounted(lines.length, "line")} from ${since} to ${until}: ${told || "nothing"}\n`,
  );
  if (total.there !== null)
    terminal.writeMessage(`cost: ${toAmount(total.here)} here, ${toAmount(total.there)} there\n`);
}

function toKind(word: string): Line["kind"] {
  const kinds: readonly Line["kind"][] = ["equal", "within", "lockport_more", "bill_more", "only_here"];
  return kinds.find((kind) => kind === word) ?? "only_there";
}

interface Column {
  readonly heading: string;
  readonly toText: (line: Line) => string;
  /** Left out where no line has it. */
  readonly of?: "model" | "tier";
  readonly isFigure?: true;
  readonly isSpare?: true;
}

const COLUMNS: readonly Column[] = [
  { heading: "DAY", toText: ({ day }) => day },
  { heading: "MODEL", of: "model", toText: ({ model }) => toCell(model) },
  { heading: "TIER", of: "tier", isSpare: true, toText: ({ tier }) => toCell(tier) },
  { heading: "LINE", toText: ({ kind }) => WORDS[kind] },
  {
    heading: "REQUESTS HERE",
    isFigure: true,
    isSpare: true,
    toText: ({ here }) => toCount(here?.requests),
  },
  {
    heading: "REQUESTS THERE",
    isFigure: true,
    isSpare: true,
    toText: ({ there }) => toCount(there?.requests ?? undefined),
  },
  { heading: "COST HERE", isFigure: true, toText: ({ here }) => (here === null ? "-" : toAmount(here.cost)) },
  {
    heading: "COST THERE",
    isFigure: true,
    toText: ({ there }) => (there === null || there.cost === null ? "-" : toAmount(there.cost)),
  },
  {
    heading: "LIKELY REASON",
    isSpare: true,
    toText: ({ reasons }) => toCell(reasons.map(({ text }) => text).join(" ")),
  },
];

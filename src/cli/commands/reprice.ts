import { isJsonObject } from "#kernel/json.ts";
import { readTextInput } from "#cli/input/input.ts";
import { toWindow } from "#cli/input/report.ts";
import { type Installation, type Json } from "#cli/installation/client.ts";
import { CommandError } from "#cli/screen/failure.ts";
import type { Terminal } from "#cli/screen/terminal.ts";
import type { Said } from "#cli/routes/route-command.ts";
import { sleep } from "#kernel/timer.ts";

/** Between two looks at one that is under way. */
const LOOK_INTERVAL_MS = 250;
const UNDER_WAY: ReadonlySet<unknown> = new Set(["running", "reverting"]);

/** Prices that are not in a file: those that were in force. */
const HISTORY = "history";

/** The request with its prices, which stand in a file unless they are those of the history, and its moments as instants. */
export async function readRepricing(terminal: Terminal, { fields }: Said): Promise<Json> {
  const { prices: path, ...rest } = fields;
  if (path === HISTORY) return { ...rest, ...toWindow(rest, terminal.clock), prices: HISTORY };
  const text = await readTextInput(terminal, String(path));
  let prices: unknown;
  try {
    prices = JSON.parse(text);
  } catch {
    throw new CommandError(
      "usage",
      `${String(path)} is no JSON: {"model": {"pricing": {"input_tokens": 1.25}}}.`,
    );
  }
  return { ...rest, ...toWindow(rest, terminal.clock), prices };
}

/** Waits until one that was planned, applied or taken back rests, and returns it. */
export async function followRepricing({ api }: Installation, id: string): Promise<Json> {
  for (;;) {
    const { data } = await api.ask("GET /admin/v1/repricing/:id", { params: { id } });
    const isRested = data["total"] !== null && !UNDER_WAY.has(data["state"]);
    if (isRested || data["state"] === "failed") return data;
    await sleep(LOOK_INTERVAL_MS);
  }
}

export async function changeRepricing(
  installation: Installation,
  id: string,
  verb: "apply" | "revert",
): Promise<Json> {
  await installation.api.ask(`POST /admin/v1/repricing/:id/${verb}`, { params: { id }, body: {} });
  return followRepricing(installation, id);
}

/** Tells as `tellState` what a command has asked for, and ends with `failure` where that failed. */
export function tellChange(terminal: Terminal, view: Json): void {
  tellState(terminal, view);
  if (typeof view["failure"] === "string") throw new CommandError("failure", view["failure"]);
}

export function tellRepricing(terminal: Terminal, view: Json): void {
  tellState(terminal, view);
  if (typeof view["failure"] === "string") terminal.writeMessage(`${view["failure"]}\n`);
}

/** What became of it, and what can be done with it now. */
function tellState(terminal: Terminal, view: Json): void {
  const { id, state, total, rows_from: rowsFrom, rows_gone: rowsGone, beyond_plan: beyond } = view;
  if (isJsonObject(total) && total["requests"] === 0) terminal.writeMessage("No request would change.\n");
  if (typeof rowsFrom === "string")
    terminal.writeMessage(`Rows of requests before ${rowsFrom} were removed: those keep their prices.\n`);
  if (isJsonObject(beyond))
    terminal.writeMessage(
      `Recorded after the plan and not in its figures: ${String(beyond["requests"])} requests, ${String(beyond["difference"])} in cost.\n`,
    );
  if (typeof rowsGone === "number")
    terminal.writeMessage(
      `${rowsGone} requests keep the cost that they were given: their rows were removed meanwhile.\n`,
    );
  if (state === "planned")
    terminal.writeMessage(`planned, nothing is changed: lockport reprice apply ${String(id)}\n`);
  else if (state === "applied")
    terminal.writeMessage(`applied; lockport reprice revert ${String(id)} takes it back\n`);
  else if (state === "failed" && isJsonObject(total)) {
    const back = view["changed_at"] === null ? "" : `, or: lockport reprice revert ${String(id)}`;
    terminal.writeMessage(`failed: lockport reprice apply ${String(id)}${back}\n`);
  } else terminal.writeMessage(`${String(state)}\n`);
}

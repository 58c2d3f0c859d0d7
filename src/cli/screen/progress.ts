import type { Watch } from "#boot/operate/backup.ts";
import type { Terminal } from "./terminal.ts";
import { CommandError } from "./failure.ts";

/** Shown from here on: what is done sooner needs no word. */
const SHOW_AFTER_MS = 300;
/** Delay where nothing can be taken back. */
const SAY_AFTER_MS = 3_000;
const REDRAW_SECONDS_MS = 1000;
const REDRAW_SHARE_MS = 100;
/** ECMA-48: to the first column, and erase the line. */
const CLEAR_LINE = "\r\u001b[K";

/**
 * Says on a terminal what is being waited for, and for how long; the line is gone when `work` is done. Where there is no
 * terminal it is said once, of work that takes long.
 */
export async function withProgress<Result>(
  terminal: Terminal,
  sentence: string,
  work: () => Promise<Result>,
): Promise<Result> {
  if (!terminal.screens.messages) {
    const late = setTimeout(() => terminal.writeMessage(`${sentence} …\n`), SAY_AFTER_MS);
    return await work().finally(() => clearTimeout(late));
  }
  const startedMs = performance.now();
  const line = createLine(terminal);
  const draw = () => {
    const seconds = Math.floor((performance.now() - startedMs) / 1000);
    line.draw(`${sentence} …${seconds > 0 ? ` ${seconds} s` : ""}`);
  };
  const first = setTimeout(draw, SHOW_AFTER_MS);
  const redraw = setInterval(draw, REDRAW_SECONDS_MS);
  try {
    return await work();
  } finally {
    clearTimeout(first);
    clearInterval(redraw);
    line.clear();
  }
}

/** Shows on a terminal which step a long piece of work is at, and how far; the line is gone afterwards. */
export async function withSteps<Result>(
  terminal: Terminal,
  work: (step: Watch["step"]) => Promise<Result>,
): Promise<Result> {
  const startedMs = performance.now();
  const line = createLine(terminal);
  let drawnMs = 0;
  let drawnSentence = "";
  try {
    return await work((sentence, share) => {
      const nowMs = performance.now();
      // Work of unknown length is shown before it begins: a database that checks itself lets nothing be written.
      const isEarly = share !== null && nowMs - startedMs < SHOW_AFTER_MS;
      if (!terminal.screens.messages || isEarly) return;
      if (sentence === drawnSentence && nowMs - drawnMs < REDRAW_SHARE_MS) return;
      [drawnMs, drawnSentence] = [nowMs, sentence];
      line.draw(`${sentence} …${share === null ? "" : ` ${Math.floor(share * 100)} %`}`);
    });
  } finally {
    line.clear();
  }
}

/** A line that is written over, and gone when it is cleared. */
function createLine(terminal: Terminal) {
  let isShown = false;
  return {
    draw(text: string) {
      isShown = true;
      terminal.writeMessage(`${CLEAR_LINE}${text}`);
    },
    clear() {
      if (isShown) terminal.writeMessage(CLEAR_LINE);
    },
  };
}

/**
 * Work that Ctrl-C and SIGTERM abort by its signal, so that it can take away what is half done; a `CommandError` says so
 * then. Its steps are shown on a terminal.
 */
export async function withTransfer<Result>(
  terminal: Terminal,
  work: (watch: Watch) => Promise<Result>,
): Promise<Result> {
  const signal = terminal.watchEnd();
  try {
    return await withSteps(terminal, (step) => work({ signal, step }));
  } catch (cause) {
    // A command that knows better says it: such as what a lost output has become.
    if (signal.aborted && !(cause instanceof CommandError))
      throw new CommandError("failure", "It was interrupted, and nothing half done is left on this machine.");
    throw cause;
  }
}

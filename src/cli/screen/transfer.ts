import type { Watch } from "#boot/operate/backup/backup.ts";
import { CommandError } from "./failure.ts";
import { withSteps } from "./progress.ts";
import type { Terminal } from "./terminal.ts";

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

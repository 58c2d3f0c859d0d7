import { relaunch } from "#boot/relaunch.ts";

const args = process.argv.slice(2);
// Whatever this program makes on disk is its owner's alone. (Windows has no such mode.)
process.umask(0o077);
// Before anything else is loaded: the process is replaced by one that nothing of the environment weakens and, for a server,
// that may have more than 256 upstream requests.
await relaunch(args);
const { createProcessTerminal } = await import("#cli/screen/terminal.ts");
const { EXIT } = await import("#cli/screen/failure.ts");
const terminal = createProcessTerminal();
const isServer = args[0] === "serve";
const code = isServer && args.length === 1 ? await serveAlone() : await runCommand();
const isWhole = await terminal.end();
// A server has done its work also when its output was lost.
const isDone = isWhole || isServer || code !== EXIT.ok;
process.exit(isDone ? code : EXIT.failure);

async function runCommand(): Promise<number> {
  const { runCli } = await import("#cli/program.ts");
  return runCli(args, terminal);
}

/** Without the parser of command lines, which would stay in memory: 2.4 MB. */
async function serveAlone(): Promise<number> {
  const { runServer } = await import("#cli/commands/server.ts");
  try {
    await runServer(terminal, {});
    return EXIT.ok;
  } catch (failure) {
    const { reportFailure } = await import("#cli/program.ts");
    return reportFailure(failure, terminal, true);
  }
}

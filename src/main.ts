import { relaunch } from "#boot/relaunch.ts";

const args = process.argv.slice(2);
// Whatever this program makes on disk is its owner's alone. (Windows has no such mode.)
process.umask(0o077);
// Before anything else is loaded: the process is replaced by one that nothing of the environment weakens and, for a server,
// that may have more than 256 upstream requests.
await relaunch(args);
const { runCli } = await import("#cli/program.ts");
const { createProcessTerminal } = await import("#cli/screen/terminal.ts");
const { EXIT } = await import("#cli/screen/failure.ts");
const terminal = createProcessTerminal();
const code = await runCli(args, terminal);
const isWhole = await terminal.end();
// A server has done its work also when its output was lost.
const isDone = isWhole || args[0] === "serve" || code !== EXIT.ok;
process.exit(isDone ? code : EXIT.failure);

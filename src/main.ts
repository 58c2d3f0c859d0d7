import { relaunchWithoutRequestCap } from "#boot/relaunch.ts";

const args = process.argv.slice(2);
// Whatever this program makes on disk is its owner's alone. (Windows has no such mode.)
process.umask(0o077);
// Before anything else is loaded: the server's process is replaced by one that may have more than 256 upstream requests.
if (args[0] === "serve") await relaunchWithoutRequestCap(args);
const { runCli } = await import("#cli/program.ts");
const { createProcessTerminal, endStdout } = await import("#cli/terminal.ts");
const code = await runCli(args, createProcessTerminal());
await endStdout();
process.exit(code);

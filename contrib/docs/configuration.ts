/** Writes docs/configuration.md from the settings of the server: `npm run docs`. */
import { join } from "node:path";
import { FOREIGN_NAMES } from "../../src/boot/settings/config.ts";
import { SETTINGS } from "../../src/boot/settings/settings.ts";
import { SERVER_SETTINGS } from "../../src/cli/installation/open.ts";

/** From the root of the repository. */
export const CONFIGURATION_PAGE = "docs/configuration.md";

const INTRODUCTION = `# Configuration

Every setting is an environment variable. They are read once, at start: a malformed one, and a \`PROXY_*\` that is not in this table, is an error that names it. An empty variable counts as unset; ${FOREIGN_NAMES.map((name) => `\`${name}\``).join(", ")}, which other programs use, are ignored with a warning. Durations are written \`90s\`, \`15m\`, \`12h\` or \`7d\`.

This page is made from \`src/boot/settings/settings.ts\` by \`npm run docs\`.
`;

export function toConfigurationPage(): string {
  const rows = Object.values(SETTINGS).map(({ name, fallback, unit, sentence }) => [
    `\`${name}\``,
    fallback === null ? "unset" : `\`${fallback}\``,
    unit,
    sentence,
  ]);
  const ofCommands = Object.values(SERVER_SETTINGS).map(({ name, unit, sentence }) => [
    `\`${name}\``,
    "unset",
    unit,
    sentence,
  ]);
  return `${INTRODUCTION}\n${toTable(rows)}\n${COMMAND_LINE}\n${toTable(ofCommands)}`;
}

const COMMAND_LINE = `## The command line

Commands work on the data folder of this machine, or on a server elsewhere, which these name. A server does not read them.
`;

function toTable(rows: readonly (readonly string[])[]): string {
  const table = [["Variable", "Default", "Value", "Meaning"], ["---", "---", "---", "---"], ...rows];
  return table.map((cells) => `| ${cells.join(" | ")} |\n`).join("");
}

if (import.meta.main)
  await Bun.write(join(import.meta.dir, "../..", CONFIGURATION_PAGE), toConfigurationPage());

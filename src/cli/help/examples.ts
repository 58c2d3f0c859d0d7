import type { Command } from "commander";
import { toPath } from "./command-tree.ts";

/** Lines that can be typed as they stand, shown at the end of the command's help. */
export function addExamples(command: Command, lines: readonly string[]): Command {
  return command.addHelpText("after", `\nExamples:\n${lines.map((line) => `  ${line}\n`).join("")}`);
}

/** What a group of commands is mostly used for, by its path. */
const EXAMPLES: { readonly [path: string]: readonly string[] } = {
  admin: ["lockport admin bootstrap", "lockport admin login-link"],
  "admin password": ["lockport admin password show", "lockport admin password rotate"],
  service: ["lockport service print | sudo tee /etc/systemd/system/lockport.service"],
  provider: [
    "lockport provider add openai --base-url https://api.openai.com/v1",
    "lockport provider discover openai --bind",
  ],
  model: [
    "lockport model add fast --provider openai --upstream-name gpt-5-mini",
    "lockport model alias default fast",
  ],
  pricing: ["lockport pricing missing", "lockport pricing load prices.json"],
  import: ["lockport import litellm-config config.yaml --dry-run"],
  principal: ["lockport principal create ada", "lockport principal list"],
  key: ["lockport key create --principal ada --label laptop", "lockport key list --principal ada"],
  "relay-token": ["lockport relay-token create --principal ada --label editor"],
  my: ["lockport my usage show --since this-month", "lockport my keys create --label laptop"],
  "my keys": ["lockport my keys", "lockport my keys create --label laptop"],
  "my relay-tokens": ["lockport my relay-tokens", "lockport my relay-tokens create --label editor"],
  "my usage": ["lockport my usage", "lockport my usage breakdown --by tag:app"],
  "my sessions": ["lockport my sessions", "lockport my sessions revoke-others"],
  limit: ["lockport limit set everyone --amount 20 --per day --each principal", "lockport limit list"],
  secrets: ["lockport secrets rotate"],
  ledger: ["lockport ledger check"],
  notice: ["lockport notice test", "lockport notice test --url https://models.example.org"],
  requests: ["lockport requests tail -f --outcome failed"],
};

/** Gives the help of each group beneath this command its examples. */
export function addGroupExamples(parent: Command): void {
  for (const group of parent.commands) {
    const examples = EXAMPLES[toPath(group)];
    if (examples !== undefined) addExamples(group, examples);
    addGroupExamples(group);
  }
}

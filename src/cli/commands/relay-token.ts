import type { Command } from "commander";
import { requireLabel } from "#identity/keys.ts";
import { addCommand } from "#cli/input/options.ts";
import { addExamples } from "#cli/help/examples.ts";
import { withInstallation, type InstallationOptions } from "#cli/installation/open.ts";
import { checkTyped } from "#cli/screen/failure.ts";
import { writeDone, writeList } from "#cli/screen/output.ts";
import { showSecret } from "./secret.ts";
import type { Terminal } from "#cli/screen/terminal.ts";
import { readText } from "#cli/installation/wire.ts";

interface PrincipalOptions extends InstallationOptions {
  readonly principal?: string;
}

interface CreateOptions extends PrincipalOptions {
  readonly label?: string;
}

export function addRelayTokenCommands(program: Command, terminal: Terminal): void {
  const token = program.command("relay-token").description("tokens of the messages relay");

  const list = addCommand(token, "list", "list relay tokens")
    .option("--principal <name>", "only this principal's")
    .action((options: PrincipalOptions) =>
      withInstallation(terminal, options, async (installation) =>
        writeList(terminal, options, {
          views: await installation.listRelayTokens({ principal: options.principal }),
          columns: ["id", "principal", "token_suffix", "label", "created_at", "last_used_at"],
        }),
      ),
    );
  addExamples(list, ["lockport relay-token list", "lockport relay-token list --principal ada --json"]);

  const create = addCommand(
    token,
    "create",
    "make a relay token and print it, once; with --url it is always your own",
  )
    .option("--principal <name>", "whose token it is (needed without --url, refused with it)")
    .option("--label <text>", "what it is for")
    .action((options: CreateOptions) => {
      const { principal, label } = options;
      checkTyped(() => requireLabel(label ?? ""));
      return withInstallation(terminal, options, async (installation) => {
        const view = await installation.createRelayToken({ principal, label });
        const what = principal === undefined ? "relay token" : `relay token of ${principal}`;
        const takeBack = () => installation.takeBackRelayToken(readText(view, "id"));
        await showSecret(terminal, options, { view, field: "token", what, takeBack });
      });
    });
  addExamples(create, [
    "lockport relay-token create --principal ada --label editor",
    "lockport relay-token create --url https://models.example.org",
  ]);

  const remove = addCommand(token, "delete <id>", "delete a relay token; it stops working at once").action(
    (id: string, options: InstallationOptions) =>
      withInstallation(terminal, options, async (installation) =>
        writeDone(terminal, options, {
          view: await installation.deleteRelayToken(id),
          sentence: `deleted ${id}`,
        }),
      ),
  );
  addExamples(remove, ["lockport relay-token delete 019cdd2a-7c00-7000-8000-000000000005"]);
}

import type { Command } from "commander";
import { requireLabel } from "#identity/owned-secret.ts";
import { addCommand } from "#cli/input/options.ts";
import { addExamples } from "#cli/help/examples.ts";
import { withInstallation, type InstallationOptions } from "#cli/installation/open.ts";
import { checkTyped } from "#cli/screen/failure.ts";
import { writeDone, writeList } from "#cli/screen/output.ts";
import { showSecret } from "./secret.ts";
import type { Terminal } from "#cli/screen/terminal.ts";
import { ask, given, toPathPart } from "#cli/installation/client.ts";
import { listKeys } from "#cli/installation/lists.ts";

interface ListOptions extends InstallationOptions {
  readonly principal?: string;
}

interface CreateOptions extends InstallationOptions {
  readonly principal: string;
  readonly label?: string;
}

export function addKeyCommands(program: Command, terminal: Terminal): void {
  const key = program.command("key").description("API keys");

  const list = addCommand(key, "list", "list keys")
    .option("--principal <name>", "only this principal's")
    .action((options: ListOptions) =>
      withInstallation(terminal, options, async ({ api }) =>
        writeList(terminal, options, {
          views: await listKeys(api, { principal: options.principal }),
          columns: ["id", "principal", "key_suffix", "label", "created_at", "last_used_at"],
        }),
      ),
    );
  addExamples(list, ["lockport key list", "lockport key list --principal ada --json"]);

  const create = addCommand(key, "create", "make a key and print it, once")
    .requiredOption("--principal <name>", "whose key it is")
    .option("--label <text>", "what it is for")
    .action((options: CreateOptions) => {
      const { principal, label } = options;
      checkTyped(() => requireLabel(label ?? ""));
      return withInstallation(terminal, options, async ({ api }) => {
        const { keys } = api.admin.v1;
        const view = await ask(keys.post(given({ principal, label })));
        const takeBack = () => ask(keys({ id: toPathPart(view.id) }).delete());
        await showSecret(terminal, options, {
          view,
          secret: view.key,
          what: `key of ${principal}`,
          takeBack,
        });
      });
    });
  addExamples(create, [
    "lockport key create --principal ada --label laptop",
    "KEY=$(lockport key create --principal nightly-build)",
  ]);

  const remove = addCommand(key, "delete <id>", "delete a key; it stops working at once").action(
    (id: string, options: InstallationOptions) =>
      withInstallation(terminal, options, async ({ api }) => {
        const view = await ask(api.admin.v1.keys({ id: toPathPart(id) }).delete());
        writeDone(terminal, options, { view, sentence: `deleted ${id}` });
      }),
  );
  addExamples(remove, ["lockport key delete 019cdd2a-7c00-7000-8000-000000000004"]);
}

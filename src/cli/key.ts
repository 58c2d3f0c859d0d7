import type { Command } from "commander";
import type { CreatedKey } from "#identity/keys.ts";
import { formatInstant } from "#kernel/clock.ts";
import { addLocalCommand, listAll, withLocal, writeJson, writeList, type LocalOptions } from "./command.ts";
import type { Terminal } from "./terminal.ts";

interface ListOptions extends LocalOptions {
  readonly principal?: string;
}

interface CreateOptions extends LocalOptions {
  readonly principal: string;
  readonly label?: string;
}

export function addKeyCommands(program: Command, terminal: Terminal): void {
  const key = program.command("key").description("API keys");

  addLocalCommand(key, "list", "list keys")
    .option("--principal <name>", "only this principal's")
    .action((options: ListOptions) =>
      withLocal(terminal, options, async ({ keys, principals }) => {
        const filter =
          options.principal === undefined
            ? {}
            : { principalId: (await principals.getByName(options.principal)).id };
        const views = (await listAll((page) => keys.list(filter, page))).map((row) => ({
          id: row.id,
          key_suffix: row.suffix,
          label: row.label,
          principal: row.principalName,
          created_at: formatInstant(row.createdAtUs),
        }));
        writeList(terminal, options, {
          views,
          columns: ["id", "principal", "key_suffix", "label", "created_at"],
        });
      }),
    );

  addLocalCommand(key, "create", "make a key and print it, once")
    .requiredOption("--principal <name>", "whose key it is")
    .option("--label <text>", "what it is for")
    .action((options: CreateOptions) =>
      withLocal(terminal, options, async ({ keys, principals }) => {
        const owner = await principals.getByName(options.principal);
        writeCreatedKey(terminal, options, {
          created: await keys.create({ principalId: owner.id, label: options.label }, null),
          principalName: owner.name,
        });
      }),
    );

  addLocalCommand(key, "delete <id>", "delete a key; it stops working at once").action(
    (id: string, options: LocalOptions) =>
      withLocal(terminal, options, async ({ keys }) => {
        await keys.delete({ id }, null);
        if (options.json === true) writeJson(terminal, { deleted: id });
        else terminal.writeMessage(`deleted ${id}\n`);
      }),
  );
}

/** The one time that a key is shown: alone on stdout, so that `KEY=$(lockport key create …)` works. */
export function writeCreatedKey(
  terminal: Terminal,
  options: LocalOptions,
  shown: { readonly created: CreatedKey; readonly principalName: string },
): void {
  const { key, plaintext } = shown.created;
  if (options.json === true) {
    writeJson(terminal, {
      id: key.id,
      key: plaintext,
      key_suffix: key.suffix,
      label: key.label,
      principal: shown.principalName,
      created_at: formatInstant(key.createdAtUs),
    });
    return;
  }
  terminal.writeMessage(`This key of ${shown.principalName} is shown once and cannot be read again:\n`);
  terminal.writeData(`${plaintext}\n`);
}

import type { Command } from "commander";
import { addCommand } from "#cli/input/options.ts";
import { addExamples } from "#cli/help/examples.ts";
import { withInstallation, type InstallationOptions } from "#cli/installation/open.ts";
import {
  addTermChangeOptions,
  addTermOptions,
  toGraceSeconds,
  toTermChangeFields,
  toTermFields,
  type TermChangeOptions,
  type TermOptions,
} from "#cli/input/term-options.ts";
import { writeDone } from "#cli/screen/output.ts";
import { listSecrets, showSecret } from "#cli/routes/secret.ts";
import type { Terminal } from "#cli/screen/terminal.ts";
import { given } from "#cli/installation/client.ts";
import { listKeys } from "#cli/installation/lists.ts";
import { addRemoveCommand, confirmRemoval, type RemoveOptions } from "./removal.ts";
import { describeKey } from "./removal-facts.ts";

interface ListOptions extends InstallationOptions {
  readonly principal?: string;
}

interface CreateOptions extends InstallationOptions, TermOptions {
  readonly principal: string;
}

interface RotateOptions extends InstallationOptions {
  readonly grace?: number;
}

export function addCommands(program: Command, terminal: Terminal): void {
  const key = program.command("key").description("API keys");

  const list = addCommand(key, "list", "list keys")
    .option("--principal <name>", "only this principal's")
    .action((options: ListOptions) =>
      withInstallation(terminal, options, async ({ api }) =>
        listSecrets(terminal, options, {
          views: await listKeys(api, { principal: options.principal }),
          suffix: "key_suffix",
        }),
      ),
    );
  addExamples(list, ["lockport key list", "lockport key list --principal ada --json"]);

  const create = addTermOptions(
    addCommand(key, "create", "make a key and print it, once")
      .requiredOption("--principal <name>", "whose key it is")
      .option("--label <text>", "what it is for"),
    { hasModels: true },
  ).action((options: CreateOptions) => {
    const { principal } = options;
    const terms = toTermFields(options);
    return withInstallation(terminal, options, async ({ api }) => {
      const view = await api.call("POST /admin/v1/keys", { body: given({ principal, ...terms }) });
      const takeBack = () => api.call("DELETE /admin/v1/keys/:id", { params: { id: view.id } });
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
    "lockport key create --principal ada --expires 30d --models gpt,mini",
    "lockport key create --principal ada --label wiki --tag app:wiki --tag team:search",
    "KEY=$(lockport key create --principal nightly-build)",
  ]);

  const set = addTermChangeOptions(
    addCommand(key, "set <id>", "change a key; it holds from the very next request"),
    { hasModels: true },
  ).action((id: string, options: TermChangeOptions & InstallationOptions) => {
    const changes = toTermChangeFields(options);
    return withInstallation(terminal, options, async ({ api }) => {
      const view = await api.call("PATCH /admin/v1/keys/:id", { params: { id }, body: given(changes) });
      writeDone(terminal, options, { view, sentence: `changed key ${id}` });
    });
  });
  addExamples(set, [
    "lockport key set 019cdd2a-7c00-7000-8000-000000000004 --expires 2027-01-31T00:00:00Z --models gpt",
    "lockport key set 019cdd2a-7c00-7000-8000-000000000004 --pause",
    "lockport key set 019cdd2a-7c00-7000-8000-000000000004 --tag app:wiki",
  ]);

  const rotate = addCommand(key, "rotate <id>", "give a key another secret and print it, once")
    .option(
      "--grace <time>",
      "how long the old one works: 15m, 12h, at most 7d; default: not at all",
      toGraceSeconds,
    )
    .action((id: string, options: RotateOptions) =>
      withInstallation(terminal, options, async ({ api }) => {
        const body = given({ grace_seconds: options.grace });
        const view = await api.call("POST /admin/v1/keys/:id/rotate", { params: { id }, body });
        const what = `key of ${view.principal}`;
        await showSecret(terminal, options, { view, secret: view.key, what, takeBack: null });
      }),
    );
  addExamples(rotate, ["lockport key rotate 019cdd2a-7c00-7000-8000-000000000004 --grace 12h"]);

  const remove = addRemoveCommand(key, "delete <id>", "delete a key; it stops working at once").action(
    (id: string, options: RemoveOptions) =>
      withInstallation(terminal, options, async (installation) => {
        await confirmRemoval(terminal, options, installation, () => describeKey(installation, id));
        const view = await installation.api.call("DELETE /admin/v1/keys/:id", { params: { id } });
        writeDone(terminal, options, { view, sentence: `deleted key ${id}` });
      }),
  );
  addExamples(remove, [
    "lockport key delete 019cdd2a-7c00-7000-8000-000000000004",
    "lockport key delete 019cdd2a-7c00-7000-8000-000000000004 --yes",
  ]);
}

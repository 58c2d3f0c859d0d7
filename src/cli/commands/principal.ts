import type { Command } from "commander";
import { PRINCIPAL_KINDS, ROLES } from "#identity/principal.ts";
import { parsePrincipalDraft } from "#identity/principals.ts";
import { toCounted } from "#kernel/text.ts";
import { choiceOption } from "#cli/input/choice.ts";
import { addCommand } from "#cli/input/options.ts";
import { addExamples } from "#cli/help/examples.ts";
import { withInstallation, type InstallationOptions } from "#cli/installation/open.ts";
import { checkTyped } from "#cli/screen/failure.ts";
import { writeDone, writeList } from "#cli/screen/output.ts";
import type { Terminal } from "#cli/screen/terminal.ts";
import { ask, toPathPart } from "#cli/installation/client.ts";
import { getPrincipal, listPrincipals } from "#cli/installation/lists.ts";

interface CreateOptions extends InstallationOptions {
  readonly kind: string;
  readonly role: string;
}

export function addPrincipalCommands(program: Command, terminal: Terminal): void {
  const principal = program.command("principal").description("who may call");

  const list = addCommand(principal, "list", "list principals").action((options: InstallationOptions) =>
    withInstallation(terminal, options, async ({ api }) => {
      // The interface leaves `enabled` out where it is true.
      const views = (await listPrincipals(api)).map((each) =>
        Object.assign({}, each, { enabled: each.enabled !== false }),
      );
      writeList(terminal, options, {
        views,
        columns: ["name", "kind", "role", "enabled", "created_at", "id"],
      });
    }),
  );
  addExamples(list, ["lockport principal list", "lockport principal list --json | jq -r '.[].name'"]);

  const create = addCommand(principal, "create <name>", "make a principal")
    .addOption(choiceOption("--kind <kind>", "a person or a program", PRINCIPAL_KINDS).default("user"))
    .addOption(choiceOption("--role <role>", "an admin may change everything", ROLES).default("member"))
    .action((name: string, options: CreateOptions) => {
      const draft = { name, kind: options.kind, role: options.role };
      checkTyped(() => parsePrincipalDraft(draft));
      return withInstallation(terminal, options, async ({ api }) => {
        const view = await ask(api.admin.v1.principals.post(draft));
        const sentence = `made ${view.role} ${view.name}`;
        writeDone(terminal, options, { view, sentence });
      });
    });
  addExamples(create, [
    "lockport principal create ada",
    "lockport principal create nightly-build --kind service",
    "lockport principal create grace --role admin",
  ]);

  const revoke = addCommand(
    principal,
    "revoke-sessions <name>",
    "end every browser session of a principal; its keys stay",
  ).action((name: string, options: InstallationOptions) =>
    withInstallation(terminal, options, async ({ api }) => {
      const id = toPathPart((await getPrincipal(api, name)).id);
      const view = await ask(api.admin.v1.principals({ id })["revoke-sessions"].post({}));
      const sentence = `ended ${toCounted(view.revoked, "session")} of ${name}`;
      writeDone(terminal, options, { view, sentence });
    }),
  );
  addExamples(revoke, ["lockport principal revoke-sessions ada"]);
}

import type { Command } from "commander";
import { PRINCIPAL_KINDS, ROLES } from "#identity/principal.ts";
import { parsePrincipalDraft } from "#identity/principals.ts";
import { toCounted } from "#kernel/text.ts";
import { choiceOption } from "#cli/input/choice.ts";
import { addCommand } from "#cli/input/options.ts";
import {
  addTagChangeOptions,
  addTagOption,
  toTagChange,
  toTagField,
  type TagChangeOptions,
  type TagOptions,
} from "#cli/input/tag-options.ts";
import { addExamples } from "#cli/help/examples.ts";
import { withInstallation, type InstallationOptions } from "#cli/installation/open.ts";
import { checkTyped, CommandError } from "#cli/screen/failure.ts";
import { writeDone, writeList } from "#cli/screen/output.ts";
import type { Terminal } from "#cli/screen/terminal.ts";
import { given, type Client } from "#cli/installation/client.ts";
import { getPrincipal, listPrincipals } from "#cli/installation/lists.ts";
import { addRemoveCommand, confirmRemoval, type RemoveOptions } from "./removal.ts";
import { describePrincipal } from "./removal-facts.ts";

interface CreateOptions extends InstallationOptions, TagOptions {
  readonly kind: string;
  readonly role: string;
}

interface SetOptions extends InstallationOptions, TagChangeOptions {
  readonly role?: string;
}

export function addCommands(program: Command, terminal: Terminal): void {
  const principal = program.command("principal").description("who may call");

  const list = addCommand(principal, "list", "list principals").action((options: InstallationOptions) =>
    withInstallation(terminal, options, async ({ api }) => {
      // The interface leaves `enabled` out where it is true.
      const views = (await listPrincipals(api)).map((each) =>
        Object.assign({}, each, { enabled: each.enabled !== false }),
      );
      writeList(terminal, options, {
        views,
        columns: [
          ...(["name", "kind", "role", "enabled", "created_at", "id"] as const),
          ...(views.some(({ tags }) => tags !== undefined) ? (["tags"] as const) : []),
        ],
        spare: ["id", "created_at"],
      });
    }),
  );
  addExamples(list, ["lockport principal list", "lockport principal list --json | jq -r '.[].name'"]);

  const create = addTagOption(
    addCommand(principal, "create <name>", "make a principal")
      .addOption(choiceOption("--kind <kind>", "a person or a program", PRINCIPAL_KINDS).default("user"))
      .addOption(choiceOption("--role <role>", "an admin may change everything", ROLES).default("member")),
  ).action((name: string, options: CreateOptions) => {
    const draft = { name, kind: options.kind, role: options.role, ...given({ tags: toTagField(options) }) };
    checkTyped(() => parsePrincipalDraft(draft));
    return withInstallation(terminal, options, async ({ api }) => {
      const view = await api.call("POST /admin/v1/principals", { body: draft });
      const sentence = `made ${view.role} ${view.name}`;
      writeDone(terminal, options, { view, sentence });
    });
  });
  addExamples(create, [
    "lockport principal create ada",
    "lockport principal create nightly-build --kind service",
    "lockport principal create grace --role admin",
    "lockport principal create linus --tag team:search",
  ]);

  const set = addTagChangeOptions(
    addCommand(principal, "set <name>", "change a principal's role or fixed tags").addOption(
      choiceOption("--role <role>", "an admin may change everything", ROLES),
    ),
  ).action((name: string, options: SetOptions) => {
    const changes = given({ role: options.role, tags: toTagChange(options) });
    if (Object.keys(changes).length === 0)
      throw new CommandError("usage", "Say what to change: --role, --tag or --clear-tags.");
    return withInstallation(terminal, options, async ({ api }) => {
      const view = await api.call("PATCH /admin/v1/principals/:id", {
        params: { id: await findId(api, name) },
        body: changes,
      });
      const facts = [
        ...(changes.role === undefined ? [] : [`is ${toRole(view.role)} now`]),
        ...(changes.tags === undefined ? [] : [describeTags(view.tags)]),
      ];
      writeDone(terminal, options, { view, sentence: `${name} ${facts.join(" and ")}` });
    });
  });
  addExamples(set, [
    "lockport principal set grace --role admin",
    "lockport principal set grace --role member",
    "lockport principal set ada --tag team:search --tag cost-center:42",
  ]);

  for (const enabled of [true, false]) {
    const verb = enabled ? "enable" : "disable";
    const effect = enabled
      ? "let a principal in again, with its keys and relay tokens"
      : "refuse a principal, its keys and relay tokens until it is enabled";
    const command = addCommand(principal, `${verb} <name>`, effect).action(
      (name: string, options: InstallationOptions) =>
        withInstallation(terminal, options, async ({ api }) => {
          const view = await api.call("PATCH /admin/v1/principals/:id", {
            params: { id: await findId(api, name) },
            body: { enabled },
          });
          writeDone(terminal, options, { view, sentence: `${verb}d ${name}` });
        }),
    );
    addExamples(command, [`lockport principal ${verb} ada`]);
  }

  const remove = addRemoveCommand(
    principal,
    "delete <name>",
    "delete a principal with its keys, relay tokens and sessions; its usage stays",
  ).action((name: string, options: RemoveOptions) =>
    withInstallation(terminal, options, async (installation) => {
      await confirmRemoval(terminal, options, installation, () => describePrincipal(installation, name));
      const { api } = installation;
      const view = await api.call("DELETE /admin/v1/principals/:id", {
        params: { id: await findId(api, name) },
      });
      writeDone(terminal, options, { view, sentence: `deleted ${name}` });
    }),
  );
  addExamples(remove, ["lockport principal delete ada", "lockport principal delete ada --yes"]);

  const revoke = addRemoveCommand(
    principal,
    "revoke-sessions <name>",
    "end every browser session of a principal; its keys stay",
  ).action((name: string, options: RemoveOptions) =>
    withInstallation(terminal, options, async (installation) => {
      const { api } = installation;
      const id = await findId(api, name);
      await confirmRemoval(terminal, options, installation, async () => ({
        facts: `Every browser that is signed in as ${name} will have to sign in again; its keys stay.`,
        question: "End its sessions?",
      }));
      const view = await api.call("POST /admin/v1/principals/:id/revoke-sessions", {
        params: { id },
        body: {},
      });
      const sentence = `ended ${toCounted(view.revoked, "session")} of ${name}`;
      writeDone(terminal, options, { view, sentence });
    }),
  );
  addExamples(revoke, [
    "lockport principal revoke-sessions ada",
    "lockport principal revoke-sessions ada --yes",
  ]);
}

/** Throws a `CommandError` when no principal has the name. */
async function findId(api: Client, name: string): Promise<string> {
  return (await getPrincipal(api, name)).id;
}

function describeTags(tags: readonly string[] | undefined): string {
  return tags === undefined ? "has no fixed tags" : `has the fixed tags ${tags.join(", ")}`;
}

function toRole(role: string): string {
  return role === "admin" ? "an admin" : `a ${role}`;
}

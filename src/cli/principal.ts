import type { Command } from "commander";
import { formatInstant } from "#kernel/clock.ts";
import type { Principal } from "#identity/principal.ts";
import { addLocalCommand, listAll, withLocal, writeJson, writeList, type LocalOptions } from "./command.ts";
import type { Terminal } from "./terminal.ts";

interface CreateOptions extends LocalOptions {
  readonly kind?: string;
  readonly role?: string;
}

export function addPrincipalCommands(program: Command, terminal: Terminal): void {
  const principal = program.command("principal").description("who may call");

  addLocalCommand(principal, "list", "list principals").action((options: LocalOptions) =>
    withLocal(terminal, options, async ({ principals }) => {
      const views = (await listAll((page) => principals.list(page))).map(toPrincipalView);
      writeList(terminal, options, {
        views,
        columns: ["name", "kind", "role", "enabled", "created_at", "id"],
      });
    }),
  );

  addLocalCommand(principal, "create <name>", "make a principal")
    .option("--kind <kind>", "user or service (default: user)")
    .option("--role <role>", "member or admin (default: member)")
    .action((name: string, options: CreateOptions) =>
      withLocal(terminal, options, async ({ principals }) => {
        const created = await principals.create({ name, kind: options.kind, role: options.role }, null);
        if (options.json === true) writeJson(terminal, toPrincipalView(created));
        else terminal.writeMessage(`made ${created.role} ${created.name}\n`);
      }),
    );

  addLocalCommand(
    principal,
    "revoke-sessions <name>",
    "end every browser session of a principal; its keys stay",
  ).action((name: string, options: LocalOptions) =>
    withLocal(terminal, options, async ({ principals }) => {
      const revoked = await principals.revokeSessions((await principals.getByName(name)).id, null);
      if (options.json === true) writeJson(terminal, { revoked });
      else terminal.writeMessage(`ended ${revoked} ${revoked === 1 ? "session" : "sessions"} of ${name}\n`);
    }),
  );
}

function toPrincipalView(principal: Principal) {
  return {
    id: principal.id,
    name: principal.name,
    kind: principal.kind,
    role: principal.role,
    enabled: principal.enabled,
    created_at: formatInstant(principal.createdAtUs),
  };
}

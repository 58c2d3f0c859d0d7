import type { Command } from "commander";
import type { LocalServices } from "#boot/local.ts";
import { ADMIN_PRINCIPAL_NAME, type Principal } from "#identity/principal.ts";
import { ProxyError } from "#kernel/errors.ts";
import { addLocalCommand, withLocal, writeJson, type LocalOptions } from "./command.ts";
import { writeCreatedKey } from "./key.ts";
import type { Terminal } from "./terminal.ts";

const FIRST_KEY_LABEL = "first admin key";

interface BootstrapOptions extends LocalOptions {
  readonly name: string;
  readonly ifMissing?: true;
}

export function addAdminCommands(program: Command, terminal: Terminal): void {
  const admin = program.command("admin").description("the first admin");

  addLocalCommand(admin, "bootstrap", "make an admin and its first API key, and print the key, once")
    .option("--name <name>", "the admin's name", ADMIN_PRINCIPAL_NAME)
    .option("--if-missing", "do nothing, and succeed, when this admin has a key already")
    .action((options: BootstrapOptions) =>
      withLocal(terminal, options, async (local) => {
        const principal = await ensureAdminNamed(local, options.name);
        const { total } = await local.keys.list({ principalId: principal.id }, { limit: 1, offset: 0 });
        if (total === 0) {
          const created = await local.keys.create(
            { principalId: principal.id, label: FIRST_KEY_LABEL },
            null,
          );
          writeCreatedKey(terminal, options, { created, principalName: principal.name });
        } else if (options.ifMissing === true) {
          terminal.writeMessage(`${principal.name} has a key already: nothing to do\n`);
          if (options.json === true) writeJson(terminal, null);
        } else {
          throw new ProxyError(
            "principal_exists",
            `${principal.name} has a key already. For another one: lockport key create --principal ${principal.name}`,
          );
        }
      }),
    );
}

async function ensureAdminNamed({ identity, principals }: LocalServices, name: string): Promise<Principal> {
  const found = await identity.findPrincipalByName(name);
  if (found === null) return principals.create({ name, kind: "user", role: "admin" }, null);
  if (found.role === "admin" && found.enabled) return found;
  throw new ProxyError(
    "principal_exists",
    `${name} exists and is not an enabled admin: choose another --name.`,
  );
}

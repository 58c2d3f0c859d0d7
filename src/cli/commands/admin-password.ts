import type { Command } from "commander";
import { configWith, isOnFiles, type Config } from "#boot/settings/config.ts";
import { requireInstallation } from "#boot/folder/data-dir.ts";
import { findAdminPassword, requirePasswordFile, rotateAdminPassword } from "#boot/secrets/admin-password.ts";
import { createSystemIds } from "#kernel/ids.ts";
import { ADMIN_PRINCIPAL_NAME } from "#identity/principal.ts";
import { addExamples } from "#cli/help/examples.ts";
import { addLocalCommand } from "#cli/input/options.ts";
import { withLocal, type LocalOptions } from "#cli/installation/open.ts";
import { CommandError } from "#cli/screen/failure.ts";
import { formatCommand } from "#cli/help/follow-up.ts";
import { writeDone, writeJson } from "#cli/screen/output.ts";
import type { Terminal } from "#cli/screen/terminal.ts";

interface ShowOptions extends LocalOptions {
  readonly yes?: true;
}

interface RotateOptions extends LocalOptions {
  readonly keepSessions?: true;
}

export function addAdminPasswordCommands(admin: Command, terminal: Terminal): void {
  const password = admin.command("password").description("the password of admin");

  const show = addLocalCommand(password, "show", "print the password on a terminal")
    .option("--yes", "print it also into a pipe or a file, or as JSON")
    .action(async (options: ShowOptions) => {
      const config = configWith(terminal.env, { PROXY_DATA_DIR: options.dataDir });
      const { text, path } = await readPassword(config, options);
      if (options.yes !== true && (!terminal.screens.data || options.json === true)) {
        throw new CommandError(
          "usage",
          "stdout is not a terminal, or was asked for JSON: add --yes to print the password there.",
        );
      }
      if (options.json === true) writeJson(terminal, { password: text, file: path });
      else terminal.writeData(`${text}\n`);
    });
  addExamples(show, ["lockport admin password show", "lockport admin password show --yes | pbcopy"]);

  const rotate = addLocalCommand(
    password,
    "rotate",
    "make a new password; it holds at once, and browsers of admin are signed out",
  )
    .option("--keep-sessions", "sign out only browsers that gave the former password")
    .action((options: RotateOptions) =>
      withLocal(terminal, options, async (local, config) => {
        const { principals } = await local.forWriting();
        const path = requirePasswordFile(config);
        const keeps = options.keepSessions === true;
        const owner = keeps ? null : await principals.findByName(ADMIN_PRINCIPAL_NAME);
        // Before the password: a running server ends its sessions as they are used, and they could not be counted any more.
        const revoked = owner === null ? 0 : await principals.revokeSessions(owner.id, null);
        rotateAdminPassword(config, createSystemIds());
        const ended = keeps
          ? "sessions of the former password end with it"
          : `${revoked} ${revoked === 1 ? "session was" : "sessions were"} ended`;
        writeDone(terminal, options, {
          view: { file: path, revoked },
          sentence: `The new password is in ${path}. A running server takes it at once; ${ended}.`,
        });
      }),
    );
  addExamples(rotate, ["lockport admin password rotate", "lockport admin password rotate --keep-sessions"]);
}

async function readPassword(
  config: Config,
  options: LocalOptions,
): Promise<{ readonly text: string; readonly path: string | null }> {
  if (!config.adminPasswordEnabled) {
    throw new CommandError("failure", "Sign-in by password is off (PROXY_ADMIN_PASSWORD_DISABLED).");
  }
  if (config.adminPassword !== null || !isOnFiles(config)) {
    throw new CommandError(
      "failure",
      "The password comes from PROXY_ADMIN_PASSWORD: look it up where that is set.",
    );
  }
  await requireInstallation(config);
  const found = findAdminPassword(config);
  if (found !== null) return found;
  throw new CommandError(
    "failure",
    `There is no password yet: the first start of the server makes one, and so does ${formatCommand(["admin", "password", "rotate"], options)}`,
  );
}

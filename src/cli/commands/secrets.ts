import type { Command } from "commander";
import { createSystem } from "#boot/process/system.ts";
import { configWith } from "#boot/settings/config.ts";
import { confirm } from "#cli/input/input.ts";
import { addExamples } from "#cli/help/examples.ts";
import { addLocalCommand } from "#cli/input/options.ts";
import type { LocalOptions } from "#cli/installation/open.ts";
import { writeDone } from "#cli/screen/output.ts";
import type { Terminal } from "#cli/screen/terminal.ts";
import { toCounted } from "#kernel/text.ts";

interface RotateOptions extends LocalOptions {
  readonly revokeKeys?: true;
  readonly yes?: true;
}

/** `lockport secrets rotate`: a new secret key, also beside a running server. */
export function addSecretsCommands(program: Command, terminal: Terminal): void {
  const secrets = program.command("secrets").description("the secret key of the installation");
  const rotate = addLocalCommand(
    secrets,
    "rotate",
    "make a new secret key; stored credentials are sealed anew, and browsers are signed out",
  )
    .option("--revoke-keys", "delete all API keys and relay tokens as well")
    .option("--yes", "do not ask before keys are deleted")
    .action(async (options: RotateOptions) => {
      const config = configWith(terminal.env, { PROXY_DATA_DIR: options.dataDir });
      const revokesKeys = options.revokeKeys === true;
      if (revokesKeys && options.yes !== true) {
        const facts =
          "--revoke-keys deletes every API key and relay token: callers are refused until they have new ones.";
        await confirm(terminal, {
          facts,
          question: `${facts} Delete them?`,
          otherwise: "Nothing was changed",
        });
      }
      const { rotateSecretKey } = await import("#boot/secrets/rotate-secret-key.ts");
      const rotated = await rotateSecretKey(config, createSystem(config), { revokesKeys });
      const { path, formerPath, credentials, sessions, revokedKeys } = rotated;
      writeDone(terminal, options, {
        view: {
          file: path,
          former_file: formerPath,
          credentials,
          sessions_ended: sessions,
          keys_revoked: revokedKeys,
        },
        sentence: [
          `The new secret key is in ${path}, and a running server takes it at once.`,
          `${toCounted(credentials, "credential")} sealed anew, ${toCounted(sessions, "session")} ended,`,
          revokesKeys ? `${toCounted(revokedKeys, "key")} deleted.` : "API keys and relay tokens stay valid.",
          `Backups from before need the former key, ${formerPath}: move it to where you keep it for them.`,
        ].join(" "),
      });
    });
  rotate.addHelpText(
    "after",
    "\nA secret key that others may have read opens copies of the database that they may have: change the credentials of the\nproviders there as well (lockport provider set NAME --api-key-file FILE).",
  );
  addExamples(rotate, ["lockport secrets rotate", "lockport secrets rotate --revoke-keys --yes"]);
}

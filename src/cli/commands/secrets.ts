import type { Command } from "commander";
import { createSystem } from "#boot/process/system.ts";
import { configWith, isOnFiles, type Config } from "#boot/settings/config.ts";
import { confirm } from "#cli/input/input.ts";
import { addExamples } from "#cli/screen/help.ts";
import { addLocalCommand } from "#cli/input/options.ts";
import type { LocalOptions } from "#cli/installation/open.ts";
import { writeDone } from "#cli/screen/output.ts";
import type { Terminal } from "#cli/screen/terminal.ts";
import { toCounted } from "#kernel/text.ts";

interface RotateOptions extends LocalOptions {
  readonly revokeKeys?: true;
  readonly yes?: true;
}

/** `lockport secrets rotate`: a new secret key, on SQLite also beside a running server. */
export function addCommands(program: Command, terminal: Terminal): void {
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
      if (!isOnFiles(config)) {
        await rotateShared(terminal, options, { config, revokesKeys });
        return;
      }
      const { rotateSecretKey } = await import("#boot/secrets/secret-key.ts");
      const rotated = await rotateSecretKey(config, createSystem(config), { revokesKeys });
      const { path, formerPath } = rotated;
      writeDone(terminal, options, {
        view: toView(rotated, { file: path, former_file: formerPath }),
        sentence: [
          `The new secret key is in ${path}, and a running server takes it at once.`,
          toSentence(rotated, revokesKeys),
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

interface Rotated {
  readonly credentials: number;
  readonly sessions: number;
  readonly revokedKeys: number;
}

async function rotateShared(
  terminal: Terminal,
  options: RotateOptions,
  { config, revokesKeys }: { readonly config: Config; readonly revokesKeys: boolean },
): Promise<void> {
  const { rotateSharedKey } = await import("#boot/secrets/secret-key.ts");
  const rotated = await rotateSharedKey(config, createSystem(config), { revokesKeys });
  const { path } = rotated;
  writeDone(terminal, options, {
    view: toView(rotated, { file: path, former_file: null }),
    sentence: [
      `The new secret key is in ${path}: set PROXY_SECRET_KEY to it on every replica, start them, and remove the file.`,
      toSentence(rotated, revokesKeys),
      "Dumps from before need the former key: keep it where you keep them.",
    ].join(" "),
  });
}

function toView(
  { credentials, sessions, revokedKeys }: Rotated,
  files: { readonly file: string; readonly former_file: string | null },
) {
  return { ...files, credentials, sessions_ended: sessions, keys_revoked: revokedKeys };
}

function toSentence({ credentials, sessions, revokedKeys }: Rotated, revokesKeys: boolean): string {
  const keys = revokesKeys
    ? `${toCounted(revokedKeys, "key")} deleted.`
    : "API keys and relay tokens stay valid.";
  return `${toCounted(credentials, "credential")} sealed anew, ${toCounted(sessions, "session")} ended, ${keys}`;
}

import type { Command } from "commander";
import { createSystem } from "#boot/process/system.ts";
import { addExamples } from "#cli/help/examples.ts";
import { addLocalCommand } from "#cli/input/options.ts";
import { configWith, requireOnFiles } from "#boot/settings/config.ts";
import type { LocalOptions } from "#cli/installation/open.ts";
import { CommandError } from "#cli/screen/failure.ts";
import { formatCommand } from "#cli/help/follow-up.ts";
import { writeDone } from "#cli/screen/output.ts";
import type { Terminal } from "#cli/screen/terminal.ts";
import { withTransfer } from "#cli/screen/progress.ts";

interface RestoreOptions extends LocalOptions {
  readonly force?: true;
  readonly allowUnverified?: true;
}

const STDIN = "-";

const KEY_SENTENCES = {
  backup: "The secret key is the backup's.",
  folder: "The secret key is the one that lay in the folder.",
  former: "The secret key is the one from before a rotation that lay in the folder.",
  environment: "The secret key is that of PROXY_SECRET_KEY, which the server needs as well.",
} as const;

const VERIFIED_SENTENCES = {
  backup:
    "Its MAC holds by the key in the backup itself, which shows that it is whole and not who made it: look whether keys and principals are what you expect.",
  folder: "Its MAC holds.",
  former:
    "Its MAC holds by a key from before a rotation: if others have seen that one, look whether keys and principals are what you expect.",
  environment: "Its MAC holds.",
} as const;
const UNVERIFIED = "Nothing shows who made it: look whether keys and principals are what you expect.";

/** `lockport restore FILE`: the installation of a backup, checked in full before anything is put in place. */
export function addCommands(program: Command, terminal: Terminal): void {
  const command = addLocalCommand(program, "restore", "put the installation of a backup into the data folder")
    .argument("<file>", "what lockport backup wrote; - is stdin")
    .option("--allow-unverified", "restore also what nothing shows to be this installation's backup")
    .option("--force", "put aside what the data folder holds")
    .action(async (file: string, options: RestoreOptions) => {
      if (file === STDIN && terminal.interactive) {
        throw new CommandError("usage", "A backup cannot be typed: name a file, or send one to stdin.");
      }
      const config = requireOnFiles(configWith(terminal.env, { PROXY_DATA_DIR: options.dataDir }), "restore");
      const { restoreBackup } = await import("#boot/operate/restore.ts");
      const source = file === STDIN ? Bun.stdin.stream() : file;
      const force = options.force === true;
      const allowUnverified = options.allowUnverified === true;
      const { manifest, secretKeyFrom, verifiedBy, asidePaths } = await withTransfer(terminal, (watch) =>
        restoreBackup({ source, force, allowUnverified, watch }, { config, system: createSystem(config) }),
      );
      writeDone(terminal, options, {
        view: {
          file,
          created_at: manifest.createdAt,
          data_dir: config.dataDir,
          secret_key_from: secretKeyFrom,
          verified_by: verifiedBy,
          aside: asidePaths,
        },
        sentence: [
          `Restored the installation as of ${manifest.createdAt} into ${config.dataDir}.`,
          KEY_SENTENCES[secretKeyFrom],
          verifiedBy === null ? UNVERIFIED : VERIFIED_SENTENCES[verifiedBy],
          ...(asidePaths.length === 0 ? [] : [`What was there is in ${asidePaths.join(" and ")}.`]),
          `Start the server: ${formatCommand(["serve"], options)}`,
        ].join(" "),
      });
    });
  command.addHelpText(
    "after",
    "\nThe server of that folder must be stopped. What was changed after the backup is as it was before: keys that were deleted\nsince work again. The password file is not in a backup: the next start makes one where there is none.",
  );
  addExamples(command, [
    "lockport restore /backups/lockport-2026-03-01.tar.zst --data-dir /srv/lockport",
    "lockport restore lockport.tar.zst --force",
    "age -d -i key.txt lockport.tar.zst.age | lockport restore -",
  ]);
}

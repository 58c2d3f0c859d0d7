import type { Made } from "#cli/routes/route-command.ts";
import type { Command } from "commander";
import { statSync } from "node:fs";
import { createSystem } from "#boot/process/system.ts";
import { addExamples } from "#cli/screen/help.ts";
import { formatCommand } from "#cli/screen/typed-command.ts";
import { addLocalCommand } from "#cli/input/options.ts";
import { configWith, requireOnFiles } from "#boot/settings/config.ts";
import type { LocalOptions } from "#cli/installation/open.ts";
import { CommandError } from "#cli/screen/failure.ts";
import { writeDone } from "#cli/screen/output.ts";
import { type Terminal, toSize } from "#cli/screen/terminal.ts";
import { withTransfer } from "#cli/screen/progress.ts";

interface BackupOptions extends LocalOptions {
  readonly withSecretKey?: true;
}

const STDOUT = "-";
const NO_MAC =
  "The secret key of this installation was not found, so that the backup carries no MAC: restore will ask for --allow-unverified.\n";

export function addCommands(program: Command, terminal: Terminal, { name }: Made): void {
  if (name === "backup") addBackupCommand(program, terminal);
  else addRestoreCommand(program, terminal);
}

/** `lockport backup FILE`: both databases and the open end of the journal in one file, also while the server runs. */
function addBackupCommand(program: Command, terminal: Terminal): void {
  const command = addLocalCommand(program, "backup", "copy the installation into one file, online")
    .argument("<file>", "where to; - is stdout")
    .option("--with-secret-key", "include the secret key: the file then gives access to all credentials")
    .action(async (file: string, options: BackupOptions) => {
      if (file === STDOUT) requirePipe(terminal, options);
      const config = configWith(terminal.env, { PROXY_DATA_DIR: options.dataDir });
      const deps = { config: requireOnFiles(config, "backup"), system: createSystem(config) };
      // Loaded here and not above: no other command has a need of it.
      const { backUpToFile, backUpToStream } = await import("#boot/operate/backup.ts");
      const withSecretKey = options.withSecretKey === true;
      const { manifest, hasMac } = await withTransfer(terminal, (watch) => {
        const request = { withSecretKey, watch };
        if (file !== STDOUT) return backUpToFile(file, request, deps);
        const write = (bytes: Uint8Array) => writeToPipe(terminal, bytes);
        return backUpToStream(write, request, deps);
      });
      const advice = withSecretKey
        ? "The secret key is in it: keep it where only you can read it."
        : "The secret key is not in it: keep secret.key (or PROXY_SECRET_KEY) elsewhere, it is needed to restore.";
      if (!hasMac) terminal.writeMessage(NO_MAC);
      if (file === STDOUT) {
        terminal.writeMessage(`${advice}\n`);
        return;
      }
      const sizeBytes = statSync(file).size;
      writeDone(terminal, options, {
        view: {
          file,
          size_bytes: sizeBytes,
          created_at: manifest.createdAt,
          has_secret_key: withSecretKey,
          has_mac: hasMac,
          catalog_schema: manifest.catalogSchema,
          usage_schema: manifest.usageSchema,
          parts: manifest.parts.map((part) => ({
            name: part.name,
            size_bytes: part.sizeBytes,
          })),
        },
        sentence: `Wrote ${file} (${toSize(sizeBytes)}), the installation as of ${manifest.createdAt}. ${advice}`,
      });
    });
  command.addHelpText(
    "after",
    "\nAn earlier backup of that name is replaced, unless it holds the secret key and the new one would not. Any other file is\nleft alone, and so is the data folder.",
  );
  addExamples(command, [
    "lockport backup /backups/lockport-$(date +%F).tar.zst",
    "lockport backup --with-secret-key - | age -p > lockport.tar.zst.age",
  ]);
}

function requirePipe(terminal: Terminal, options: BackupOptions): void {
  if (terminal.screens.data) {
    throw new CommandError(
      "usage",
      "A backup is no text for a screen: name a file, or send stdout to a pipe.",
    );
  }
  if (options.json === true) {
    throw new CommandError("usage", "With - stdout is the backup itself: leave --json out, or name a file.");
  }
}

async function writeToPipe(terminal: Terminal, bytes: Uint8Array): Promise<void> {
  try {
    await terminal.writeBytes(bytes);
  } catch {
    throw new CommandError(
      "failure",
      "The backup on stdout is incomplete: its reader has closed it, or could take no more.",
    );
  }
}

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
function addRestoreCommand(program: Command, terminal: Terminal): void {
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

import type { Command } from "commander";
import { statSync } from "node:fs";
import { createSystem } from "#boot/process/system.ts";
import { addExamples } from "#cli/help/examples.ts";
import { addLocalCommand } from "#cli/input/options.ts";
import { configWith, requireOnFiles } from "#boot/settings/config.ts";
import type { LocalOptions } from "#cli/installation/open.ts";
import { CommandError } from "#cli/screen/failure.ts";
import { toSize } from "#cli/screen/figures.ts";
import { writeDone } from "#cli/screen/output.ts";
import type { Terminal } from "#cli/screen/terminal.ts";
import { withTransfer } from "#cli/screen/progress.ts";

interface BackupOptions extends LocalOptions {
  readonly withSecretKey?: true;
}

const STDOUT = "-";
const NO_MAC =
  "The secret key of this installation was not found, so that the backup carries no MAC: restore will ask for --allow-unverified.\n";

/** `lockport backup FILE`: both databases and the open end of the journal in one file, also while the server runs. */
export function addCommands(program: Command, terminal: Terminal): void {
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

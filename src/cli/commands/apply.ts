import type { Command } from "commander";
import { dirname, resolve } from "node:path";
import { parseCatalog } from "#interchange/catalog-parse.ts";
import { toCounted } from "#kernel/text.ts";
import type { CatalogFile, FileProvider } from "#views/catalog-file.ts";
import type { PeopleFile } from "#views/people-file.ts";
import {
  applyCatalog,
  countChanges,
  refuseFile,
  writeChanges,
  writeEnd,
  writeNotes,
  type CatalogOutcome,
} from "./changes.ts";
import { findReferred, listSkipped, type Surroundings, withKeySecrets } from "./people-changes.ts";
import { confirm, findCaFile, readTextInput } from "#cli/input/input.ts";
import { addCommand } from "#cli/input/options.ts";
import { addExamples } from "#cli/screen/help.ts";
import { withInstallation, type InstallationOptions } from "#cli/installation/open.ts";
import { ChangesFound, CommandError } from "#cli/screen/failure.ts";
import { writeJson } from "#cli/screen/output.ts";
import type { Terminal } from "#cli/screen/terminal.ts";

interface ApplyOptions extends InstallationOptions {
  readonly dryRun?: true;
  readonly yes?: true;
  readonly prune?: true;
  readonly exitCode?: true;
}

export function addCommands(program: Command, terminal: Terminal): void {
  const command = addCommand(program, "apply <file>", "bring the installation to an exported file")
    .option("--dry-run", "show the difference, and change nothing")
    .option("--yes", "do not ask")
    .option("--prune", "remove what the file does not have")
    .option("--exit-code", "with --dry-run: end with 3 when there is something to change, with 0 when not")
    .action(async (path: string, options: ApplyOptions) => {
      if (options.exitCode === true && options.dryRun !== true)
        throw new CommandError("usage", "--exit-code goes with --dry-run.");
      const parsed = parseCatalog(await readTextInput(terminal, path));
      if (parsed.kind === "refused") throw refuseFile(path, parsed.problems);
      const { sent, sources } = await withSecrets(parsed.file, {
        env: terminal.env,
        folder: path === "-" ? "." : dirname(path),
      });
      const option = options.prune === true ? "prune" : null;
      await withInstallation(terminal, options, async ({ api }) => {
        const told = await applyCatalog(terminal, api, { file: sent, isDryRun: true, option });
        const notes = listNotes(told, parsed.file);
        if (options.json !== true) {
          writeChanges(terminal, told.changes, sources);
          writeNotes(terminal, notes);
        }
        const isDone = told.changes.length === 0 || options.dryRun === true;
        if (!isDone && options.yes !== true) {
          const counted = countChanges(told.changes);
          const facts = `${counted} to make.`;
          await confirm(terminal, {
            facts,
            question: `Make ${counted}?`,
            otherwise: "Nothing was changed",
          });
        }
        const outcome = isDone
          ? told
          : await applyCatalog(terminal, api, { file: sent, isDryRun: false, option });
        if (options.json === true) writeJson(terminal, { ...outcome, notes });
        else writeEnd(terminal, outcome);
        if (options.exitCode === true && told.changes.length > 0) throw new ChangesFound();
      });
    });
  command.addHelpText(
    "after",
    `
FILE is what lockport export writes (- reads it from stdin). The difference comes first: + is added,
~ changed, - removed. On a terminal you are asked then; elsewhere it takes --yes.
All of it is made or nothing. What the file does not have stays, unless --prune. A provider's stored API
key always stays. principals, keys and limits are left alone where the file has no such section; terms of a
key are set as by an admin, and a secret that the file has takes the place of another. --prune never removes
people of single sign-on, who applies the file, and the keys of both.`,
  );
  addExamples(command, [
    "lockport apply catalog.yaml --dry-run",
    "lockport apply catalog.yaml --dry-run --exit-code",
    "lockport apply catalog.yaml --yes --prune",
    "lockport apply catalog.yaml --url https://models.example.org",
  ]);
}

/** The file with the secrets that it refers to, where they are found. */
async function withSecrets(file: CatalogFile & PeopleFile, surroundings: Surroundings) {
  const keys = new Map<string, string>();
  const trustRoots = new Map<string, string>();
  const providers: { [name: string]: FileProvider } = {};
  for (const [name, provider] of Object.entries(file.providers ?? {})) {
    const { api_key_env: variable, api_key_file: keyPath, ca_pem_file: caPath } = provider;
    const key = await findReferred({ variable, path: keyPath }, surroundings);
    const ca = caPath === undefined ? null : await findCaFile(resolve(surroundings.folder, caPath));
    keys.set(name, variable ?? keyPath ?? "nowhere");
    trustRoots.set(name, caPath ?? "nowhere");
    providers[name] = {
      ...provider,
      ...(key !== null && { api_key: key }),
      ...(ca !== null && { ca_pem: ca }),
    };
  }
  const people = await withKeySecrets(file, surroundings);
  const sources = { keys, trustRoots, ...(file.keys !== undefined && { people: file.keys }) };
  return { sent: { ...file, ...(file.providers !== undefined && { providers }), ...people }, sources };
}

/** What stays, and what is missing afterwards. */
function listNotes(outcome: CatalogOutcome, file: CatalogFile & PeopleFile): readonly string[] {
  const { kept, missing } = outcome;
  const ofPeople = (["principals", "keys", "limits"] as const).flatMap((section) => {
    const count = kept[section] ?? 0;
    return count === 0 ? [] : [toCounted(count, section.slice(0, -1))];
  });
  const parts = [
    ...(kept.providers === 0 ? [] : [toCounted(kept.providers, "provider")]),
    ...(kept.models === 0 ? [] : [toCounted(kept.models, "model")]),
    ...(kept.prices === 0 ? [] : [`${toCounted(kept.prices, "price")} of feeds`]),
    ...(kept.prices_to_come === undefined
      ? []
      : [`${toCounted(kept.prices_to_come, "set")} of prices to come`]),
    ...ofPeople,
  ];
  return [
    ...listSkipped(outcome, file),
    ...missing.map(({ provider, secret }) => describeMissing(provider, secret, file.providers?.[provider])),
    ...(parts.length === 0
      ? []
      : [
          `The file does not have ${parts.join(" and ")} of this installation. They stay; --prune removes them.`,
        ]),
  ];
}

function describeMissing(name: string, secret: string, provider: FileProvider | undefined): string {
  const { api_key_env: variable, api_key_file: keyPath, ca_pem_file: caPath } = provider ?? {};
  if (secret === "ca_pem")
    return `${name} trusts the system's roots only: the file ${caPath} is not there. Apply the file again with it, or: lockport provider set ${name} --ca-file PATH`;
  const where =
    variable === undefined ? `the file ${keyPath} is not there` : `the variable ${variable} is not set`;
  return `${name} has no API key: ${where}. Apply the file again with it, or: lockport provider set ${name} --api-key-file -`;
}

import type { Command } from "commander";
import { dirname, resolve } from "node:path";
import type { Environment } from "#boot/settings/config.ts";
import { planApply } from "#interchange/apply-plan.ts";
import type { CatalogFile, Reference } from "#interchange/catalog-file.ts";
import { parseCatalog } from "#interchange/catalog-parse.ts";
import type { ProviderSecrets } from "#interchange/provider-plan.ts";
import { readCatalogState } from "./catalog-state.ts";
import {
  countChanges,
  makeChanges,
  refuseFile,
  toPlanView,
  toUnfinished,
  writeChanges,
  writeNotes,
} from "./changes.ts";
import { confirm } from "#cli/input/confirm.ts";
import { addCommand } from "#cli/input/options.ts";
import { addExamples } from "#cli/help/examples.ts";
import { withInstallation, type InstallationOptions } from "#cli/installation/open.ts";
import { findCaFile, findTextFile, readTextInput, SECRET_BYTES_MAX } from "#cli/input/input.ts";
import { writeJson } from "#cli/screen/output.ts";
import { withProgress } from "#cli/screen/progress.ts";
import type { Terminal } from "#cli/screen/terminal.ts";

interface ApplyOptions extends InstallationOptions {
  readonly dryRun?: true;
  readonly yes?: true;
  readonly prune?: true;
}

export function addApplyCommand(program: Command, terminal: Terminal): void {
  const command = addCommand(program, "apply <file>", "bring the catalog to an exported file")
    .option("--dry-run", "show the difference, and change nothing")
    .option("--yes", "do not ask")
    .option("--prune", "remove providers and models that the file does not have")
    .action(async (path: string, options: ApplyOptions) => {
      const parsed = parseCatalog(await readTextInput(terminal, path));
      if (parsed.kind === "refused") throw refuseFile(path, parsed.problems);
      const { file } = parsed;
      const secrets = await readSecrets(file, {
        env: terminal.env,
        folder: path === "-" ? "." : dirname(path),
      });
      const prune = options.prune === true;
      await withInstallation(terminal, options, async ({ api }) => {
        const makePlan = async () => planApply(file, await readCatalogState(api), { secrets, prune });
        const plan = await withProgress(terminal, "comparing", makePlan);
        const { changes, notes } = plan;
        const isDone = changes.length === 0 || options.dryRun === true;
        if (options.json !== true) {
          writeChanges(terminal, changes);
          writeNotes(terminal, notes);
        }
        if (!isDone) {
          const counted = countChanges(changes);
          if (options.yes !== true) {
            const facts = `${counted} to make.`;
            await confirm(terminal, {
              facts,
              question: `Make ${counted}?`,
              otherwise: "Nothing was changed",
            });
          }
          const end = terminal.watchEnd({ withOutput: false });
          await withProgress(terminal, "applying", async () => {
            await makeChanges(api, changes, { end });
            const made = changes.length;
            // A unit that was marked "no price" long ago shows only when its upstream name gets one.
            const rest = await makePlan().catch((cause: unknown) => {
              throw toUnfinished(cause, { made, count: made });
            });
            await makeChanges(api, rest.changes, { end, madeBefore: made });
          });
        }
        if (options.json === true) writeJson(terminal, toPlanView(plan, { applied: !isDone }));
        else terminal.writeMessage(`${toEnd(changes.length, countChanges(changes), isDone)}\n`);
      });
    });
  command.addHelpText(
    "after",
    `
FILE is what lockport export writes (- reads it from stdin). The difference comes first: + is added,
~ changed, - removed. On a terminal you are asked then; elsewhere it takes --yes.
What the file does not have stays, unless --prune. A stored API key always stays.`,
  );
  addExamples(command, [
    "lockport apply catalog.yaml --dry-run",
    "lockport apply catalog.yaml --yes --prune",
    "lockport apply catalog.yaml --url https://models.example.org",
  ]);
}

function toEnd(count: number, counted: string, isDone: boolean): string {
  if (count === 0) return "nothing to change";
  return isDone ? `${counted} to make; nothing was changed` : `made ${counted}`;
}

interface Surroundings {
  readonly env: Environment;
  /** Where the paths of the file begin. */
  readonly folder: string;
}

async function readSecrets(
  { providers }: CatalogFile,
  { env, folder }: Surroundings,
): Promise<ReadonlyMap<string, ProviderSecrets>> {
  const secrets = new Map<string, ProviderSecrets>();
  for (const [name, { apiKey, caPath }] of providers) {
    secrets.set(name, {
      apiKey: apiKey === null ? null : await followReference(apiKey, { env, folder }),
      caPem: caPath === null ? null : await findCaFile(resolve(folder, caPath)),
    });
  }
  return secrets;
}

async function followReference(reference: Reference, { env, folder }: Surroundings): Promise<string | null> {
  const text =
    reference.kind === "env"
      ? env[reference.name]
      : await findTextFile(resolve(folder, reference.path), SECRET_BYTES_MAX);
  const secret = text?.trim() ?? "";
  return secret === "" ? null : secret;
}

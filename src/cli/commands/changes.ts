import type { ModelDraft, ModelPatch } from "#catalog/model-draft.ts";
import type { ProviderDraft } from "#catalog/provider-draft.ts";
import type { Change, Note, Plan, Step } from "#interchange/plan.ts";
import type { Problem } from "#interchange/source.ts";
import { toCounted } from "#kernel/text.ts";
import { CommandError, toFailure } from "#cli/screen/failure.ts";
import { ask, given, toPathPart, type Client } from "#cli/installation/client.ts";
import { toPrintable } from "#cli/screen/printable.ts";
import { createStyle } from "#cli/screen/style.ts";
import { toTable } from "#cli/screen/table.ts";
import type { Terminal } from "#cli/screen/terminal.ts";

/** The difference as lines of +, ~ and -, on stdout. */
export function writeChanges(terminal: Terminal, changes: readonly Change[]): void {
  if (changes.length === 0) return;
  const style = createStyle(terminal.env, terminal.screens.data);
  const signs = { add: style.good("+"), change: style.warn("~"), remove: style.bad("-") };
  const rows = changes.map(({ action, subject, name, details }) => [
    signs[action],
    subject,
    toPrintable(name),
    toPrintable(details.join("; ")),
  ]);
  const [first = [], ...rest] = rows;
  terminal.writeData(toTable(first, rest));
}

/** What has to be known beside it, a line each on stderr. */
export function writeNotes(terminal: Terminal, notes: readonly Note[]): void {
  for (const { line, sentence } of notes)
    terminal.writeMessage(`${line === null ? "" : `line ${line}: `}${toPrintable(sentence)}\n`);
}

/** A plan as JSON tells it: without its steps, which hold providers' keys. */
export function toPlanView({ changes, notes }: Plan, { applied }: { readonly applied: boolean }) {
  return {
    changes: changes.map(({ action, subject, name, details }) => ({ action, subject, name, details })),
    notes,
    applied,
  };
}

export interface Making {
  /** Ends it after what is under way, which is not waited for. */
  readonly end?: AbortSignal;
  /** Changes of the same command that were made already. Default: 0. */
  readonly madeBefore?: number;
}

/**
 * Makes the changes one after the other; the first that fails ends it. Throws a `CommandError` that says how many were made:
 * none is taken back, and a second run of the same command goes on from there.
 */
export async function makeChanges(
  api: Client,
  changes: readonly Change[],
  { end, madeBefore = 0 }: Making = {},
): Promise<void> {
  const interrupted = Promise.withResolvers<never>();
  const interrupt = () =>
    interrupted.reject(new CommandError("failure", "it was interrupted, and may have been made or not."));
  // Nobody may be waiting at that moment.
  interrupted.promise.catch(() => undefined);
  end?.addEventListener("abort", interrupt, { once: true });
  const count = madeBefore + changes.length;
  try {
    for (const [index, { steps, subject, name }] of changes.entries()) {
      const progress = { made: madeBefore + index, count };
      // A signal is heard only when the event loop turns, which the database of this machine does not wait for.
      await turn();
      if (end?.aborted === true)
        throw toUnfinished(new CommandError("failure", "it was interrupted."), progress);
      try {
        for (const step of steps) await Promise.race([take(api, step), interrupted.promise]);
      } catch (cause) {
        throw toUnfinished(cause, { ...progress, at: `${subject} ${toPrintable(name)}: ` });
      }
    }
  } finally {
    end?.removeEventListener("abort", interrupt);
  }
}

export interface Progress {
  readonly made: number;
  readonly count: number;
  /** What was under way, with a colon after it. */
  readonly at?: string;
}

/** A failure half-way, with its exit code, how far it came and what to do. */
export function toUnfinished(cause: unknown, { made, count, at = "" }: Progress): CommandError {
  const { kind, sentence } = toFailure(cause);
  return new CommandError(
    kind,
    `${made} of ${count} changes were made; then ${at}${sentence} What was made stays; the same command goes on from there.`,
  );
}

function turn(): Promise<void> {
  return new Promise((resolve) => void setImmediate(resolve));
}

/** What is wrong with a file, told at once. */
export function refuseFile(path: string, problems: readonly Problem[]): CommandError {
  const lines = problems
    .slice(0, PROBLEMS_SHOWN_MAX)
    .map(({ line, sentence }) => `\n  line ${line}: ${toPrintable(sentence)}`);
  const rest = problems.length - lines.length;
  const more = rest > 0 ? `\n  and ${rest} more` : "";
  return new CommandError(
    "failure",
    `${path === "-" ? "stdin" : toPrintable(path)} cannot be used as it is; nothing was changed.${lines.join("")}${more}`,
  );
}

const PROBLEMS_SHOWN_MAX = 20;

export function countChanges(changes: readonly Change[]): string {
  return toCounted(changes.length, "change");
}

function take(api: Client, step: Step): Promise<unknown> {
  const { providers, models, pricing } = api.admin.v1;
  switch (step.kind) {
    case "create_provider":
      return ask(
        providers.post({
          ...toProviderBody(step.draft),
          name: step.draft.name,
          base_url: step.draft.baseUrl,
        }),
      );
    case "update_provider":
      return ask(
        providers({ name: toPathPart(step.name) }).patch({
          ...toProviderBody(step.patch),
          ...given({
            base_url: step.patch.baseUrl,
            enabled: step.patch.enabled,
            remove_credential: step.patch.removeCredential,
          }),
        }),
      );
    case "delete_provider":
      return ask(providers({ name: toPathPart(step.name) }).delete());
    case "create_model":
      return ask(models.post({ ...toModelBody(step.draft), ...given({ origin: step.draft.origin }) }));
    case "update_model":
      return ask(models({ alias: toPathPart(step.alias) }).patch(toModelBody(step.patch)));
    case "delete_model":
      return ask(models({ alias: toPathPart(step.alias) }).delete());
    default:
      return ask(pricing.post(given(step.feed)));
  }
}

function toProviderBody(settings: Omit<ProviderDraft, "name" | "baseUrl" | "wireFormat">) {
  return given({
    api_key: settings.apiKey,
    verify_tls: settings.verifyTls,
    ca_pem: settings.caPem,
    timeout_connect: settings.timeoutConnectSeconds,
    timeout_read: settings.timeoutReadSeconds,
    max_concurrency: settings.maxConcurrency,
    endpoints: settings.endpoints,
  });
}

function toModelBody(model: ModelDraft | ModelPatch) {
  return given({
    alias: model.alias,
    provider: model.provider,
    upstream_name: model.upstreamName,
    target: model.target,
    capabilities: model.capabilities,
    pricing: model.pricing,
    hidden: model.hidden,
  });
}

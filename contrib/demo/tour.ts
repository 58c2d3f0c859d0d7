/**
 * A look around: `npm run demo:tour` builds the page, fills a folder of its own with weeks of usage, starts a model server and
 * lockport on it, prints a link that signs in, then the notices of its webhook, and runs until Ctrl-C, at most a day.
 * `-- --port 4000`, `--days 60`, `--seed 1` and `--minutes 30` choose; `--keep DIR` fills that folder and leaves it there.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { writeBuiltPage } from "../build/cache.ts";
import { buildPage } from "../build/page.ts";
import { LIVE_MODELS, LIVE_PROVIDER, MODELS } from "./catalogue.ts";
import { fillDemo } from "./fill.ts";
import { runLockport, startLockport } from "./lockport-process.ts";
import { startModelServer } from "./model-server.ts";

const MINUTES_MAX = 24 * 60;
/** Aliases that answer: every other provider of the tour is made up. */
const LIVE_ALIASES = MODELS.flatMap((draft) => (draft.provider === LIVE_PROVIDER ? [draft.alias] : []));

try {
  await tour();
} catch (failure) {
  if (!(failure instanceof Error)) throw failure;
  process.stderr.write(`${failure.message}\n`);
  // The time that the tour may take is not waited for.
  process.exit(1);
}

async function tour(): Promise<void> {
  const { values } = parseArgs({
    options: {
      port: { type: "string", default: "0" },
      days: { type: "string", default: "60" },
      seed: { type: "string", default: "1" },
      minutes: { type: "string", default: String(MINUTES_MAX) },
      keep: { type: "string" },
    },
  });
  const minutes = Math.min(Number(values.minutes), MINUTES_MAX);
  if (!(minutes > 0)) throw new Error("--minutes is a number above 0.");
  const folder = mkdtempSync(join(tmpdir(), "lockport-tour-"));
  const dataDir = values.keep ?? join(folder, "data");

  const ended = untilSignalled(minutes * 60_000);
  const models = await startModelServer({
    port: 0,
    chatModels: LIVE_MODELS.chat,
    embeddingModels: LIVE_MODELS.embeddings,
  });
  const webhook = startWebhook();
  try {
    console.log("Building the page …");
    writeBuiltPage(await buildPage());
    console.log(`Filling ${dataDir} …`);
    const filled = await fillDemo(dataDir, {
      days: Number(values.days),
      seed: Number(values.seed),
      liveBaseUrl: models.baseUrl,
    });
    const server = startLockport({
      dataDir,
      port: values.port,
      settings: { PROXY_NOTICE_URL: webhook.url },
    });
    try {
      const url = await Promise.race([server.url, ended]);
      if (url !== null) {
        console.log(
          [
            `${filled.events} requests of ${values.days} days, and lockport on top of them:`,
            `  sign in     ${runLockport(dataDir, ["admin", "login-link"])}`,
            `              which works once, within ten minutes; later at ${url}`,
            `              with the password in ${filled.adminPasswordPath}`,
            `  API keys    of ada (admin) ${filled.adminKey}`,
            `              of linus       ${filled.memberKey}`,
            `  answering   ${LIVE_ALIASES.join(", ")}`,
            `Until Ctrl-C, or ${minutes} minutes.`,
          ].join("\n"),
        );
        webhook.show();
        await Promise.race([ended, server.exited]);
      }
    } finally {
      await server.stop();
    }
  } finally {
    await webhook.stop();
    await models.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Prints what a team would read in its chat, once `show` is called. */
function startWebhook(): { readonly url: string; show(): void; stop(): Promise<void> } {
  const shown = Promise.withResolvers<void>();
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    async fetch(request) {
      const { text }: { text: string } = JSON.parse(await request.text());
      await shown.promise;
      console.log(`Notice: ${text}`);
      return new Response();
    },
  });
  return { url: server.url.href, show: shown.resolve, stop: () => server.stop(true) };
}

/** Null when a signal came or the time is up. */
function untilSignalled(limitMs: number): Promise<null> {
  return new Promise((resolve) => {
    const timer = setTimeout(end, limitMs);
    function end(): void {
      clearTimeout(timer);
      resolve(null);
    }
    process.once("SIGINT", end).once("SIGTERM", end).once("SIGHUP", end);
  });
}

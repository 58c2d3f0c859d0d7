import { configWith } from "#boot/settings/config.ts";
import { toReachable } from "#boot/settings/listen-address.ts";
import type { RunningServer } from "#boot/server.ts";
import type { Environment } from "#boot/settings/environment.ts";
import { LOGIN_LINK_TTL_SECONDS } from "#identity/login-links.ts";
import { ADMIN_PRINCIPAL_NAME } from "#identity/principal.ts";
import { type Principals } from "#identity/principals.ts";
import { withinLimit } from "#kernel/timer.ts";
import { formatCommand } from "#cli/screen/typed-command.ts";
import type { Terminal } from "#cli/screen/terminal.ts";
import type { Catalog } from "#catalog/catalog.ts";
import type { OwnedSecrets } from "#identity/keys.ts";
import { PAGE_LIMIT_MAX } from "#kernel/page.ts";

export interface ServeOptions {
  readonly host?: string;
  readonly port?: string;
  readonly dataDir?: string;
  readonly open?: true;
  readonly json?: true;
}

/** Serves until the server is stopped. Throws a `SetupError` when it cannot start. */
export async function runServer(terminal: Terminal, options: ServeOptions): Promise<void> {
  const config = configWith(terminal.env, {
    PROXY_HOST: options.host,
    PROXY_PORT: options.port,
    PROXY_DATA_DIR: options.dataDir,
  });
  // Loaded here and not above: a local command has no need of the server.
  const { serve } = await import("#boot/serve.ts");
  await serve(config, (server) => greet(terminal, options, server));
}

/** Says where the server is. A link that signs in is written to a screen only: anything else may be a log. */
async function greet(terminal: Terminal, options: ServeOptions, server: RunningServer): Promise<void> {
  const { adminPasswordPath, app, isFirstStart } = server.services;
  if (options.json === true) {
    // Loaded here and not above: with tables and colors, which a server has no need of.
    const { writeJsonLine } = await import("#cli/screen/output.ts");
    writeJsonLine(terminal, { url: server.url, admin_password_file: adminPasswordPath });
  } else {
    const next = await findNextStep(app);
    const lines = [
      `Lockport listens on ${server.url}`,
      ...(adminPasswordPath === null ? [] : [`Admin password: in the file ${adminPasswordPath}`]),
      ...(isFirstStart && terminal.screens.data
        ? [`Sign in, once, within ${LOGIN_LINK_TTL_SECONDS / 60} minutes: ${await makeLink(server)}`]
        : []),
      ...(next === null ? [] : [`Next: ${formatCommand(next.words, options)}   (${next.purpose})`]),
    ];
    terminal.writeData(`${lines.join("\n")}\n`);
  }
  if (options.open === true && !(await openBrowser(await makeLink(server), terminal.env))) {
    terminal.writeMessage(
      `No browser could be opened. Open ${toReachable(server.url)}/ yourself; ${formatCommand(["admin", "login-link"], options)} signs you in.\n`,
    );
  }
}

async function makeLink({ services, url }: RunningServer): Promise<string> {
  const { config, principals } = services.app;
  // Loaded here and not above: the command behind it opens a data folder.
  const { makeLoginLink } = await import("#cli/commands/admin.ts");
  const admin = (await principals.findByName(ADMIN_PRINCIPAL_NAME)) ?? (await principals.ensureAdmin());
  const link = await makeLoginLink(services.loginLinks, admin, config.publicUrl ?? toReachable(url));
  return link.url;
}

/** Programs that open an address in the user's browser, by platform. */
const OPENERS: { readonly [platform: string]: readonly string[] } = {
  darwin: ["open"],
  win32: ["rundll32", "url.dll,FileProtocolHandler"],
};
const OPENER_DEFAULT = ["xdg-open"];
/** An opener hands the address over and ends; one that runs longer has become the browser. */
const HANDED_OVER_MS = 3_000;

/**
 * Asks the desktop to open an address. False when there is none, or nothing on it that could. The browser that it may start
 * outlives this server and gets none of its settings: passwords and secret keys are among them.
 */
async function openBrowser(url: string, environment: Environment): Promise<boolean> {
  const opener = OPENERS[process.platform] ?? OPENER_DEFAULT;
  try {
    const child = Bun.spawn({
      cmd: [...opener, url],
      env: Object.fromEntries(Object.entries(environment).filter(([name]) => !isSetting(name))),
      // A session of its own: Ctrl-C at the server does not close the browser.
      detached: true,
      stdio: ["ignore", "ignore", "ignore"],
    });
    child.unref();
    return (await withinLimit(child.exited, HANDED_OVER_MS, () => 0)) === 0;
  } catch {
    return false;
  }
}

/** Windows does not tell the case of a name apart. */
function isSetting(name: string): boolean {
  return name.toUpperCase().startsWith("PROXY_");
}

interface NextStep {
  /** Words to type, without the program's name. */
  readonly words: readonly string[];
  /** Its effect, in the third person. */
  readonly purpose: string;
}

/** The first thing that an installation still lacks on the way to its first request; null when it lacks none. */
async function findNextStep(lacking: {
  readonly catalog: Pick<Catalog, "snapshot">;
  readonly keys: Pick<OwnedSecrets, "list">;
  readonly principals: Pick<Principals, "list">;
}): Promise<NextStep | null> {
  if (!(await hasAdminKey(lacking))) {
    return { words: ["admin", "bootstrap"], purpose: "prints a first admin API key" };
  }
  const { providers, models } = await lacking.catalog.snapshot();
  const [provider] = providers;
  if (provider === undefined) {
    return { words: ["provider", "add", "--help"], purpose: "shows how to add a provider" };
  }
  if (models.length > 0) return null;
  return { words: ["provider", "discover", provider.name], purpose: "lists its models; --bind binds them" };
}

async function hasAdminKey({
  keys,
  principals,
}: Pick<Parameters<typeof findNextStep>[0], "keys" | "principals">): Promise<boolean> {
  for (let offset = 0; ; offset += PAGE_LIMIT_MAX) {
    const { rows } = await principals.list({ limit: PAGE_LIMIT_MAX, offset });
    for (const { id, role, enabled } of rows) {
      if (role !== "admin" || !enabled) continue;
      const { total } = await keys.list({ principalId: id }, { limit: 1, offset: 0 });
      if (total > 0) return true;
    }
    if (rows.length < PAGE_LIMIT_MAX) return false;
  }
}

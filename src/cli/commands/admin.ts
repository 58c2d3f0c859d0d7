import type { Command } from "commander";
import type { LocalServices } from "#boot/local.ts";
import { ADMIN_PRINCIPAL_NAME, type Principal } from "#identity/principal.ts";
import { parsePrincipalDraft, type PrincipalDraft } from "#identity/principals.ts";
import { ProxyError } from "#kernel/errors.ts";
import { toOwnedKeyView } from "#views/identity.ts";
import { addExamples } from "#cli/screen/help.ts";
import { formatCommand } from "#cli/screen/typed-command.ts";
import { addLocalCommand, formerOption, readOrigin } from "#cli/input/options.ts";
import { LOCAL_ACTOR } from "#cli/installation/client.ts";
import {
  withNewLocal,
  type LocalOptions,
  withLocal,
  findOrigin,
  findServingOrigin,
  createLocalInstallation,
} from "#cli/installation/open.ts";
import { checkTyped, CommandError } from "#cli/screen/failure.ts";
import { writeJson, writeDone, showSecret } from "#cli/screen/output.ts";
import type { Terminal } from "#cli/screen/terminal.ts";
import { configWith, isOnFiles, type Config } from "#boot/settings/config.ts";
import { requireInstallation } from "#boot/folder/data-dir.ts";
import { findAdminPassword, requirePasswordFile, rotateAdminPassword } from "#boot/secrets/admin-password.ts";
import { createSystemIds } from "#kernel/ids.ts";
import { LOGIN_LINK_TTL_SECONDS, type LoginLinks } from "#identity/login-links.ts";
import { formatInstant } from "#kernel/clock.ts";
import { getPrincipal } from "#cli/installation/lists.ts";

const FIRST_KEY_LABEL = "first admin key";

interface BootstrapOptions extends LocalOptions {
  readonly principal: string;
  readonly ifMissing?: true;
}

export function addCommands(program: Command, terminal: Terminal): void {
  const admin = program.command("admin").description("first admin key, password, login link");

  const bootstrap = addLocalCommand(
    admin,
    "bootstrap",
    "make an admin and its first API key, and print the key, once",
  )
    .option("--principal <name>", "the admin's name", ADMIN_PRINCIPAL_NAME)
    .addOption(formerOption("--name <name>", "principal"))
    .option("--if-missing", "do nothing, and succeed, when this admin has a key already")
    .action((options: BootstrapOptions) => {
      const draft = toAdmin(options.principal);
      checkTyped(() => parsePrincipalDraft(draft));
      return withNewLocal(terminal, options, async (installation) => {
        const found = await findAdmin(installation, draft.name);
        if (found === null || !(await hasKey(installation, found))) {
          // Only now: beside a server of an older version nothing can be written, but nothing has to be.
          const local = await installation.forWriting();
          const principal = found ?? (await makeAdmin(local, draft));
          const { secret, plaintext } = await local.keys.create(
            { principalId: principal.id, label: FIRST_KEY_LABEL },
            LOCAL_ACTOR,
          );
          const view = { ...toOwnedKeyView(secret, principal.name, null), key: plaintext };
          const takeBack = () => local.keys.delete({ id: secret.id }, LOCAL_ACTOR);
          const what = `key of ${principal.name}`;
          await showSecret(terminal, options, { view, secret: plaintext, what, takeBack });
        } else if (options.ifMissing === true) {
          terminal.writeMessage(`${found.name} has a key already: nothing to do\n`);
          if (options.json === true) writeJson(terminal, null);
        } else {
          throw new ProxyError(
            "principal_exists",
            `${found.name} has a key already. For another one: ${formatCommand(["key", "create", "--principal", found.name], options)}`,
          );
        }
      });
    });
  addExamples(bootstrap, [
    "export LOCKPORT_API_KEY=$(lockport admin bootstrap)",
    "lockport admin bootstrap --principal ada --if-missing",
  ]);

  addAdminPasswordCommands(admin, terminal);
  addLoginLinkCommand(admin, terminal);
}

function toAdmin(name: string): PrincipalDraft {
  return { name, kind: "user", role: "admin" };
}

/** Or the admin whom another process, such as the first start of a server, has made meanwhile. */
async function makeAdmin(local: LocalServices, draft: PrincipalDraft): Promise<Principal> {
  try {
    return await local.principals.create(draft, LOCAL_ACTOR);
  } catch (cause) {
    const isTaken = cause instanceof ProxyError && cause.code === "principal_exists";
    const other = isTaken ? await findAdmin(local, draft.name) : null;
    if (other === null) throw cause;
    return other;
  }
}

/** Null when no principal has the name. Throws a `ProxyError` when its principal is not an enabled admin. */
async function findAdmin({ identity }: LocalServices, name: string): Promise<Principal | null> {
  const found = await identity.findPrincipalByName(name);
  if (found === null || (found.role === "admin" && found.enabled)) return found;
  throw new ProxyError(
    "principal_exists",
    `${name} exists and is not an enabled admin: choose another --principal.`,
  );
}

async function hasKey({ keys }: LocalServices, { id }: Principal): Promise<boolean> {
  const { total } = await keys.list({ principalId: id }, { limit: 1, offset: 0 });
  return total > 0;
}

interface ShowOptions extends LocalOptions {
  readonly yes?: true;
}

interface RotateOptions extends LocalOptions {
  readonly keepSessions?: true;
}

function addAdminPasswordCommands(admin: Command, terminal: Terminal): void {
  const password = admin.command("password").description("the password of admin");

  const show = addLocalCommand(password, "show", "print the password on a terminal")
    .option("--yes", "print it also into a pipe or a file, or as JSON")
    .action(async (options: ShowOptions) => {
      const config = configWith(terminal.env, { PROXY_DATA_DIR: options.dataDir });
      const { text, path } = await readPassword(config, options);
      if (options.yes !== true && (!terminal.screens.data || options.json === true)) {
        throw new CommandError(
          "usage",
          "stdout is not a terminal, or was asked for JSON: add --yes to print the password there.",
        );
      }
      if (options.json === true) writeJson(terminal, { password: text, file: path });
      else terminal.writeData(`${text}\n`);
    });
  addExamples(show, ["lockport admin password show", "lockport admin password show --yes | pbcopy"]);

  const rotate = addLocalCommand(
    password,
    "rotate",
    "make a new password; it holds at once, and browsers of admin are signed out",
  )
    .option("--keep-sessions", "sign out only browsers that gave the former password")
    .action((options: RotateOptions) =>
      withLocal(terminal, options, async (local, config) => {
        const { principals } = await local.forWriting();
        const path = requirePasswordFile(config);
        const keeps = options.keepSessions === true;
        const owner = keeps ? null : await principals.findByName(ADMIN_PRINCIPAL_NAME);
        // Before the password: a running server ends its sessions as they are used, and they could not be counted any more.
        const revoked = owner === null ? 0 : await principals.revokeSessions(owner.id, null);
        rotateAdminPassword(config, createSystemIds());
        const ended = keeps
          ? "sessions of the former password end with it"
          : `${revoked} ${revoked === 1 ? "session was" : "sessions were"} ended`;
        writeDone(terminal, options, {
          view: { file: path, revoked },
          sentence: `The new password is in ${path}. A running server takes it at once; ${ended}.`,
        });
      }),
    );
  addExamples(rotate, ["lockport admin password rotate", "lockport admin password rotate --keep-sessions"]);
}

async function readPassword(
  config: Config,
  options: LocalOptions,
): Promise<{ readonly text: string; readonly path: string | null }> {
  if (!config.adminPasswordEnabled) {
    throw new CommandError("failure", "Sign-in by password is off (PROXY_ADMIN_PASSWORD_DISABLED).");
  }
  if (config.adminPassword !== null || !isOnFiles(config)) {
    throw new CommandError(
      "failure",
      "The password comes from PROXY_ADMIN_PASSWORD: look it up where that is set.",
    );
  }
  await requireInstallation(config);
  const found = findAdminPassword(config);
  if (found !== null) return found;
  throw new CommandError(
    "failure",
    `There is no password yet: the first start of the server makes one, and so does ${formatCommand(["admin", "password", "rotate"], options)}`,
  );
}

interface LoginLinkOptions extends LocalOptions {
  readonly principal: string;
  readonly server?: string;
}

export const LOGIN_LINK_MINUTES = LOGIN_LINK_TTL_SECONDS / 60;

export function addLoginLinkCommand(admin: Command, terminal: Terminal): void {
  const command = addLocalCommand(
    admin,
    "login-link",
    `print a link that signs a browser in, once, within ${LOGIN_LINK_MINUTES} minutes`,
  )
    .option("--principal <name>", "whom it signs in", ADMIN_PRINCIPAL_NAME)
    .addOption(formerOption("--name <name>", "principal"))
    .option("--server <origin>", "address of the server in the link (before PROXY_PUBLIC_URL)", (text) =>
      readOrigin(text, "--server"),
    )
    .action((options: LoginLinkOptions) =>
      withLocal(terminal, options, async (local, config) => {
        const known = options.server ?? config.publicUrl ?? findServingOrigin(config);
        const origin = known ?? findOrigin(config);
        if (origin === null) {
          throw new CommandError(
            "usage",
            "No server is known to run from this folder, and PROXY_PORT is 0: say where it is with --server ORIGIN.",
          );
        }
        const { principal: name } = options;
        // Refused here with the nearest name; `admin` is made at the server's first start, which may be still to come.
        if (name !== ADMIN_PRINCIPAL_NAME)
          await getPrincipal(createLocalInstallation(local, terminal.clock).api, name);
        const services = await local.forWriting();
        const principal = await findPrincipal(services, name);
        const { url, expiresAt } = await makeLoginLink(services.loginLinks, principal, origin);
        if (options.json === true) {
          writeJson(terminal, { url, principal: principal.name, expires_at: expiresAt });
          return;
        }
        terminal.writeMessage(
          `This link signs in as ${principal.name}, once, within ${LOGIN_LINK_MINUTES} minutes:\n`,
        );
        terminal.writeData(`${url}\n`);
        if (known === null) {
          terminal.writeMessage(
            `No server is known to run from ${config.dataDir}: the link is for one at the address of the settings.\n`,
          );
        }
      }),
    );
  addExamples(command, [
    "lockport admin login-link",
    "lockport admin login-link --principal ada --server https://models.example.org",
  ]);
}

/** The token stands in the fragment, which a browser sends to no server and no log. */
export async function makeLoginLink(
  loginLinks: LoginLinks,
  principal: Principal,
  origin: string,
): Promise<{ readonly url: string; readonly expiresAt: string }> {
  const { token, expiresAtUs } = await loginLinks.create(principal);
  return { url: `${origin}/#login=${token}`, expiresAt: formatInstant(expiresAtUs) };
}

async function findPrincipal({ principals }: LocalServices, name: string): Promise<Principal> {
  const principal =
    name === ADMIN_PRINCIPAL_NAME ? await principals.ensureAdmin() : await principals.getByName(name);
  if (principal.enabled) return principal;
  throw new ProxyError("principal_not_found", `${name} is disabled and cannot sign in: enable it first.`, {
    param: "name",
  });
}

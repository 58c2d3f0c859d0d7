import type { Command } from "commander";
import { LOGIN_LINK_TTL_SECONDS, type LoginLinks } from "#identity/login-links.ts";
import { ADMIN_PRINCIPAL_NAME, type Principal } from "#identity/principal.ts";
import { formatInstant } from "#kernel/clock.ts";
import { ProxyError } from "#kernel/errors.ts";
import type { LocalServices } from "#boot/local.ts";
import { addExamples } from "#cli/help/examples.ts";
import { addLocalCommand, formerOption, readOrigin } from "#cli/input/options.ts";
import { withLocal, type LocalOptions, findOrigin, findServingOrigin } from "#cli/installation/open.ts";
import { createLocalInstallation } from "#cli/installation/installation-local.ts";
import { getPrincipal } from "#cli/installation/lists.ts";
import { CommandError } from "#cli/screen/failure.ts";
import { writeJson } from "#cli/screen/output.ts";
import type { Terminal } from "#cli/screen/terminal.ts";

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

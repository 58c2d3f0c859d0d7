import type { Command } from "commander";
import { toOwnedRelayTokenView } from "#views/identity.ts";
import { addCommand } from "#cli/input/options.ts";
import { addExamples } from "#cli/help/examples.ts";
import { withInstallation, type InstallationOptions } from "#cli/installation/open.ts";
import { CommandError } from "#cli/screen/failure.ts";
import {
  addTermChangeOptions,
  addTermOptions,
  toTermChangeFields,
  toTermFields,
  type TermChangeOptions,
  type TermOptions,
} from "#cli/input/term-options.ts";
import { writeDone } from "#cli/screen/output.ts";
import { listSecrets, showSecret } from "#cli/routes/secret.ts";
import type { Terminal } from "#cli/screen/terminal.ts";
import { given, LOCAL_ACTOR, type Installation } from "#cli/installation/client.ts";
import { getPrincipal, listRelayTokens } from "#cli/installation/lists.ts";
import { addRemoveCommand, confirmRemoval, type RemoveOptions } from "./removal.ts";
import { describeRelayToken } from "./removal-facts.ts";

interface PrincipalOptions extends InstallationOptions {
  readonly principal?: string;
}

interface CreateOptions extends PrincipalOptions, TermOptions {}

export function addCommands(program: Command, terminal: Terminal): void {
  const token = program.command("relay-token").description("tokens of the messages relay");

  const list = addCommand(token, "list", "list relay tokens")
    .option("--principal <name>", "only this principal's")
    .action((options: PrincipalOptions) =>
      withInstallation(terminal, options, async ({ api }) =>
        listSecrets(terminal, options, {
          views: await listRelayTokens(api, { principal: options.principal }),
          suffix: "token_suffix",
        }),
      ),
    );
  addExamples(list, ["lockport relay-token list", "lockport relay-token list --principal ada --json"]);

  const create = addTermOptions(
    addCommand(token, "create", "make a relay token and print it, once; with --url it is always your own")
      .option("--principal <name>", "whose token it is (needed without --url, refused with it)")
      .option("--label <text>", "what it is for"),
    { hasModels: false },
  ).action((options: CreateOptions) => {
    const { principal } = options;
    const terms = toTermFields(options);
    return withInstallation(terminal, options, async (installation) => {
      const { view, takeBack } = await createRelayToken(installation, { principal, ...terms });
      const what = principal === undefined ? "relay token" : `relay token of ${principal}`;
      await showSecret(terminal, options, { view, secret: view.token, what, takeBack });
    });
  });
  addExamples(create, [
    "lockport relay-token create --principal ada --label editor",
    "lockport relay-token create --url https://models.example.org",
  ]);

  const set = addTermChangeOptions(
    addCommand(token, "set <id>", "change a relay token; it holds from the very next request"),
    { hasModels: false },
  ).action((id: string, options: TermChangeOptions & InstallationOptions) => {
    const changes = toTermChangeFields(options);
    return withInstallation(terminal, options, async ({ api }) => {
      const view = await api.call("PATCH /admin/v1/relay-tokens/:id", {
        params: { id },
        body: given(changes),
      });
      writeDone(terminal, options, { view, sentence: `changed relay token ${id}` });
    });
  });
  addExamples(set, ["lockport relay-token set 019cdd2a-7c00-7000-8000-000000000005 --expires 30d"]);

  const remove = addRemoveCommand(
    token,
    "delete <id>",
    "delete a relay token; it stops working at once",
  ).action((id: string, options: RemoveOptions) =>
    withInstallation(terminal, options, async (installation) => {
      await confirmRemoval(terminal, options, installation, () => describeRelayToken(installation, id));
      const view = await installation.api.call("DELETE /admin/v1/relay-tokens/:id", { params: { id } });
      writeDone(terminal, options, { view, sentence: `deleted relay token ${id}` });
    }),
  );
  addExamples(remove, [
    "lockport relay-token delete 019cdd2a-7c00-7000-8000-000000000005",
    "lockport relay-token delete 019cdd2a-7c00-7000-8000-000000000005 --yes",
  ]);
}

interface RelayTokenRequest {
  readonly principal: string | undefined;
  readonly label: string | undefined;
  readonly expires_at: string | undefined;
  readonly tags: readonly string[] | undefined;
}

/** No route makes a relay token for another principal than its caller: on this machine the service does, for the one named. */
async function createRelayToken({ api, local }: Installation, { principal, ...terms }: RelayTokenRequest) {
  if (local !== null) {
    if (principal === undefined) {
      throw new CommandError("usage", "Say whose relay token it is: --principal NAME.");
    }
    const owner = await getPrincipal(api, principal);
    const { relayTokens } = await local.forWriting();
    const { label, expires_at: expiresAt, tags } = terms;
    const { secret, plaintext } = await relayTokens.create(
      { principalId: owner.id, label, expiresAt, tags, setter: "admin" },
      LOCAL_ACTOR,
    );
    return {
      view: { ...toOwnedRelayTokenView(secret, owner.name, null), token: plaintext },
      takeBack: () => relayTokens.delete({ id: secret.id }, LOCAL_ACTOR),
    };
  }
  if (principal !== undefined) {
    throw new CommandError(
      "usage",
      "Over --url a relay token is always that of LOCKPORT_API_KEY's owner: leave --principal out, or run this where the server runs.",
    );
  }
  const view = await api.call("POST /my/relay-tokens", { body: given(terms) });
  // The owner of the API key need not be an admin.
  return { view, takeBack: () => api.call("DELETE /my/relay-tokens/:id", { params: { id: view.id } }) };
}

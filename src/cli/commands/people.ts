import { InvalidArgumentError, type Command } from "commander";
import { parseFixedTags, KEY_SCOPES, parseTerms } from "#identity/secret.ts";
import { PRINCIPAL_KINDS, ROLES } from "#identity/principal.ts";
import { parsePrincipalDraft } from "#identity/principals.ts";
import { ROTATION_GRACE_SECONDS_MAX, requireLabel } from "#identity/keys.ts";
import { createSystemClock, formatInstant } from "#kernel/clock.ts";
import { toCounted } from "#kernel/text.ts";
import { toOwnedRelayTokenView } from "#views/identity.ts";
import { LOCAL_ACTOR, type Installation, type Json } from "#cli/installation/client.ts";
import { getPrincipal } from "#cli/installation/lists.ts";
import { toText, type Flag } from "#cli/routes/flags.ts";
import { addPresets, type Made, type RouteCommand, type Said } from "#cli/routes/route-command.ts";
import { CommandError } from "#cli/screen/failure.ts";
import type { Terminal } from "#cli/screen/terminal.ts";

/** `principal`, `key` and `relay-token`: who may call, and with what. */
export function addCommands(program: Command, terminal: Terminal, made: Made): void {
  program.command(made.name).description(GROUPS[made.name] ?? "");
  addPresets(program, { ...made, terminal, presets: [...PRINCIPALS, ...KEYS, ...RELAY_TOKENS] });
}

const GROUPS: { readonly [name: string]: string } = {
  principal: "who may call",
  key: "API keys",
  "relay-token": "tokens of the messages relay",
};

const TAG: Flag = {
  flags: "--tag <name:value>",
  text: "on all of its usage, such as team:search; callers cannot change it; repeatable",
  field: "tags",
  isList: true,
};
/** A list replaces the one before. */
const TAG_CHANGES: readonly Flag[] = [
  TAG,
  {
    flags: "--clear-tags",
    text: "take its fixed tags away",
    field: "tags",
    value: null,
    conflicts: ["tag"],
  },
];

const LABEL: Flag = { flags: "--label <text>", text: "what it is for", field: "label" };
const EXPIRES: Flag = {
  flags: "--expires <when>",
  text: "when it ends: a UTC date-time, or from now: 12h, 30d",
  field: "expires_at",
  parse: toExpiry,
};
const MODELS: Flag = {
  flags: "--models <aliases>",
  text: "the only models that it may use, such as gpt,mini",
  field: "models",
  parse: (text) => text.split(",").map((alias) => alias.trim()),
};
const SCOPE: Flag = {
  flags: "--scope <scope>",
  text: "inference: models and own use only; full: all its owner may",
  field: "scope",
  choices: KEY_SCOPES,
};

/** Keys are held to models and have a scope, relay tokens have neither. */
function toChangeFlags({ hasModels }: { readonly hasModels: boolean }): readonly Flag[] {
  const allModels = { flags: "--all-models", text: "let it use every model", field: "models", value: null };
  return [
    LABEL,
    EXPIRES,
    ...(hasModels ? [MODELS, SCOPE] : []),
    { flags: "--never-expires", text: "take its expiry away", field: "expires_at", value: null },
    ...(hasModels ? [allModels] : []),
    ...TAG_CHANGES,
    { flags: "--pause", text: "refuse it until it is resumed", field: "enabled", value: false },
    { flags: "--resume", text: "end a pause", field: "enabled", value: true },
  ];
}

function checkTerms({ fields }: Said): void {
  requireLabel(toText(fields["label"]) ?? "");
  parseTerms(
    { expiresAt: fields["expires_at"] ?? undefined, models: fields["models"] ?? undefined },
    createSystemClock().nowUs(),
  );
  parseFixedTags(fields["tags"] ?? null);
}

const SECONDS_PER: { readonly [unit: string]: number } = { s: 1, m: 60, h: 3600, d: 86_400 };
const DURATION = /^(?<count>[1-9][0-9]{0,5})(?<unit>[smhd])$/;

function toSeconds(text: string): number | null {
  const { count, unit } = DURATION.exec(text.trim())?.groups ?? {};
  const each = SECONDS_PER[unit ?? ""];
  return each === undefined ? null : Number(count) * each;
}

/** A duration counts from now; anything else is a date-time, which is judged with the other fields. */
function toExpiry(text: string): string {
  const seconds = toSeconds(text);
  return seconds === null ? text.trim() : formatInstant(createSystemClock().nowUs() + seconds * 1_000_000);
}

/** Parses how long the secret before a rotation works. */
function toGraceSeconds(text: string): number {
  const seconds = toSeconds(text);
  if (seconds === null || seconds > ROTATION_GRACE_SECONDS_MAX)
    throw new InvalidArgumentError("It must be a time of at most seven days, such as 15m, 12h or 7d.");
  return seconds;
}

const OWNER: Flag = { flags: "--principal <name>", text: "only this principal's", field: "principal" };

function toList(
  rows: string,
  suffix: string,
  isScoped = false,
): Pick<RouteCommand, "flags" | "table" | "whole"> {
  return {
    flags: [OWNER],
    // A pause is told, and so is its absence.
    whole: { absent: { enabled: true } },
    table: {
      rows: [rows],
      columns: [
        "id",
        "principal",
        suffix,
        "label",
        "created_at",
        "last_used_at",
        "expires_at",
        "enabled",
        ...(isScoped ? ["scope?"] : []),
        "tags?",
      ],
      spare: ["created at", "enabled", "expires at", suffix.replace("_", " "), "last used at"],
    },
  };
}

const findPrincipal = async ({ api }: Installation, name: string) => (await getPrincipal(api, name)).id;

const ROLE: Flag = {
  flags: "--role <role>",
  text: "an admin may change everything",
  field: "role",
  choices: ROLES,
};

const PRINCIPALS: readonly RouteCommand[] = [
  {
    route: "GET /admin/v1/principals",
    usage: "principal list",
    about: "list principals",
    flags: [],
    whole: { absent: { enabled: true } },
    table: {
      rows: ["principals"],
      columns: ["name", "kind", "role", "enabled", "created_at", "id", "tags?"],
      spare: ["id", "created at"],
    },
    examples: ["lockport principal list", "lockport principal list --json | jq -r '.[].name'"],
  },
  {
    route: "POST /admin/v1/principals",
    usage: "principal create <name>",
    about: "make a principal",
    flags: [
      {
        flags: "--kind <kind>",
        text: "a person or a program",
        field: "kind",
        choices: PRINCIPAL_KINDS,
        standard: "user",
      },
      { ...ROLE, standard: "member" },
      TAG,
    ],
    toFields: ({ name }) => ({ name }),
    check: ({ fields }) => [
      parseFixedTags(fields["tags"] ?? null),
      parsePrincipalDraft({
        name: toText(fields["name"]) ?? "",
        kind: toText(fields["kind"]),
        role: toText(fields["role"]),
      }),
    ],
    done: "made {role} {name}",
    examples: [
      "lockport principal create ada",
      "lockport principal create nightly-build --kind service",
      "lockport principal create grace --role admin",
      "lockport principal create linus --tag team:search",
    ],
  },
  {
    route: "PATCH /admin/v1/principals/:id",
    usage: "principal set <name>",
    about: "change a principal's role or fixed tags",
    flags: [ROLE, ...TAG_CHANGES],
    check: ({ fields }) => parseFixedTags(fields["tags"] ?? null),
    find: findPrincipal,
    done: ({ named, fields, view }) =>
      `${named["name"]} ${[
        ...("role" in fields
          ? [`is ${view["role"] === "admin" ? "an" : "a"} ${String(view["role"])} now`]
          : []),
        ...("tags" in fields ? [describeTags(view)] : []),
      ].join(" and ")}`,
    examples: [
      "lockport principal set grace --role admin",
      "lockport principal set grace --role member",
      "lockport principal set ada --tag team:search --tag cost-center:42",
    ],
  },
  ...[true, false].map((enabled): RouteCommand => {
    const verb = enabled ? "enable" : "disable";
    return {
      route: "PATCH /admin/v1/principals/:id",
      usage: `principal ${verb} <name>`,
      about: enabled
        ? "let a principal in again, with its keys and relay tokens"
        : "refuse a principal, its keys and relay tokens until it is enabled",
      flags: [],
      toFields: () => ({ enabled }),
      find: findPrincipal,
      done: `${verb}d {name}`,
      examples: [`lockport principal ${verb} ada`],
    };
  }),
  {
    route: "DELETE /admin/v1/principals/:id",
    usage: "principal delete <name>",
    about: "delete a principal with its keys, relay tokens and sessions; its usage stays",
    used: "principal",
    find: findPrincipal,
    done: "deleted {name}",
    examples: ["lockport principal delete ada", "lockport principal delete ada --yes"],
  },
  {
    route: "POST /admin/v1/principals/:id/revoke-sessions",
    usage: "principal revoke-sessions <name>",
    about: "end every browser session of a principal; its keys stay",
    asks: async (installation, name) => {
      await findPrincipal(installation, name);
      return {
        facts: `Every browser that is signed in as ${name} will have to sign in again; its keys stay.`,
        question: "End its sessions?",
      };
    },
    find: findPrincipal,
    done: ({ view, named }) => `ended ${toCounted(Number(view["revoked"]), "session")} of ${named["name"]}`,
    examples: ["lockport principal revoke-sessions ada", "lockport principal revoke-sessions ada --yes"],
  },
];

function describeTags({ tags }: Json): string {
  return Array.isArray(tags) ? `has the fixed tags ${tags.join(", ")}` : "has no fixed tags";
}

const KEY_ID = "019cdd2a-7c00-7000-8000-000000000004";

const KEYS: readonly RouteCommand[] = [
  {
    route: "GET /admin/v1/keys",
    usage: "key list",
    about: "list keys",
    ...toList("keys", "key_suffix", true),
    examples: ["lockport key list", "lockport key list --principal ada --json"],
  },
  {
    route: "POST /admin/v1/keys",
    usage: "key create",
    about: "make a key and print it, once",
    flags: [
      { flags: "--principal <name>", text: "whose key it is", field: "principal", isRequired: true },
      LABEL,
      EXPIRES,
      MODELS,
      SCOPE,
      TAG,
    ],
    check: checkTerms,
    secret: { field: "key", what: "key of {principal}", takeBack: "DELETE /admin/v1/keys/:id" },
    examples: [
      "lockport key create --principal ada --label laptop",
      "lockport key create --principal ada --expires 30d --models gpt,mini",
      "lockport key create --principal ada --scope inference",
      "lockport key create --principal ada --label wiki --tag app:wiki --tag team:search",
      "KEY=$(lockport key create --principal nightly-build)",
    ],
  },
  {
    route: "PATCH /admin/v1/keys/:id",
    usage: "key set <id>",
    about: "change a key; it holds from the very next request",
    flags: toChangeFlags({ hasModels: true }),
    check: checkTerms,
    done: "changed key {id}",
    examples: [
      `lockport key set ${KEY_ID} --expires 2027-01-31T00:00:00Z --models gpt`,
      `lockport key set ${KEY_ID} --pause`,
      `lockport key set ${KEY_ID} --tag app:wiki`,
    ],
  },
  {
    route: "POST /admin/v1/keys/:id/rotate",
    usage: "key rotate <id>",
    about: "give a key another secret and print it, once",
    flags: [
      {
        flags: "--grace <time>",
        text: "how long the old one works: 15m, 12h, at most 7d; default: not at all",
        field: "grace_seconds",
        parse: toGraceSeconds,
      },
    ],
    secret: { field: "key", what: "key of {principal}", takeBack: null },
    examples: [`lockport key rotate ${KEY_ID} --grace 12h`],
  },
  {
    route: "DELETE /admin/v1/keys/:id",
    usage: "key delete <id>",
    about: "delete a key; it stops working at once",
    used: "key",
    done: "deleted key {id}",
    examples: [`lockport key delete ${KEY_ID}`, `lockport key delete ${KEY_ID} --yes`],
  },
];

const TOKEN_ID = "019cdd2a-7c00-7000-8000-000000000005";

const RELAY_TOKENS: readonly RouteCommand[] = [
  {
    route: "GET /admin/v1/relay-tokens",
    usage: "relay-token list",
    about: "list relay tokens",
    ...toList("relay_tokens", "token_suffix"),
    examples: ["lockport relay-token list", "lockport relay-token list --principal ada --json"],
  },
  {
    route: "POST /my/relay-tokens",
    usage: "relay-token create",
    about: "make a relay token and print it, once; with --url it is always your own",
    flags: [
      {
        flags: "--principal <name>",
        text: "whose token it is (needed without --url, refused with it)",
        field: "principal",
      },
      LABEL,
      EXPIRES,
      TAG,
    ],
    check: checkTerms,
    ask: createRelayToken,
    secret: {
      field: "token",
      what: ({ fields }) =>
        typeof fields["principal"] === "string" ? `relay token of ${fields["principal"]}` : "relay token",
      // The owner of the API key need not be an admin.
      takeBack: ({ local }) => `DELETE ${local === null ? "/my" : "/admin/v1"}/relay-tokens/:id`,
    },
    examples: [
      "lockport relay-token create --principal ada --label editor",
      "lockport relay-token create --url https://models.example.org",
    ],
  },
  {
    route: "PATCH /admin/v1/relay-tokens/:id",
    usage: "relay-token set <id>",
    about: "change a relay token; it holds from the very next request",
    flags: toChangeFlags({ hasModels: false }),
    check: checkTerms,
    done: "changed relay token {id}",
    examples: [`lockport relay-token set ${TOKEN_ID} --expires 30d`],
  },
  {
    route: "DELETE /admin/v1/relay-tokens/:id",
    usage: "relay-token delete <id>",
    about: "delete a relay token; it stops working at once",
    done: "deleted relay token {id}",
    examples: [`lockport relay-token delete ${TOKEN_ID}`, `lockport relay-token delete ${TOKEN_ID} --yes`],
  },
];

/** No route makes a relay token for another principal than its caller: on this machine the service does, for the one named. */
async function createRelayToken({ api, local }: Installation, { fields }: Said): Promise<Json> {
  const { principal, label, expires_at: expiresAt, tags } = fields;
  if (local === null) {
    if (principal === undefined) return (await api.ask("POST /my/relay-tokens", { body: fields })).data;
    throw new CommandError(
      "usage",
      "Over --url a relay token is always that of LOCKPORT_API_KEY's owner: leave --principal out, or run this where the server runs.",
    );
  }
  if (typeof principal !== "string")
    throw new CommandError("usage", "Say whose relay token it is: --principal NAME.");
  const owner = await getPrincipal(api, principal);
  const { relayTokens } = await local.forWriting();
  const { secret, plaintext } = await relayTokens.create(
    { principalId: owner.id, label: toText(label), expiresAt, tags, setter: "admin" },
    LOCAL_ACTOR,
  );
  return { ...toOwnedRelayTokenView(secret, owner.name, null), token: plaintext };
}

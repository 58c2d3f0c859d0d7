import type { Command } from "commander";
import { readInstant } from "#cli/input/report.ts";
import { toPath } from "#cli/screen/help.ts";
import { addRouteCommand, toGroup, type RouteCommand } from "#cli/routes/route-command.ts";
import type { Terminal } from "#cli/screen/terminal.ts";
import type { Route } from "#http/door/route.ts";
import {
  changeRepricing,
  followRepricing,
  readRepricing,
  tellChange,
  tellRepricing,
} from "#cli/commands/reprice.ts";
import { findLimitId, writeLimits } from "#cli/commands/limit.ts";

const WINDOW = { days: 30 } as const;
const LAST_30_DAYS = "Without --since it is the last 30 days, or those before --until.";

const GROUP_COLUMNS = ["requests", "failed", "cancelled", "units", "cost"];

const BREAKDOWN = {
  rows: ["rows"],
  columns: [
    "value",
    "label?",
    ...GROUP_COLUMNS,
    "duration_ms.p95 as p95",
    "time_to_first_byte_ms.p95 as first byte",
    "last_ok_at as last ok",
    "cache.read_share? as cache reads",
    "cache.write_cost? as cache writes",
    "cache.saving? as cache saved",
  ],
  spare: ["last ok", "first byte", "label", "cancelled", "cached", "p95", "output", "input", "failed"],
  total: "total",
};

const SERIES = {
  rows: ["groups", "series"],
  columns: ["start?", "value?", ...GROUP_COLUMNS],
  spare: ["cancelled", "cached", "output", "input"],
};

const COST_CHANGE = {
  rows: ["models"],
  columns: [
    "model",
    "before.cost as before",
    "now.cost as now",
    "difference",
    "terms.volume as volume",
    "terms.models as models",
    "terms.tokens as tokens",
    "terms.cache as cache",
    "terms.unpriced as unpriced",
    "terms.price as price",
    "terms.unexplained as unexplained",
  ],
  spare: ["before", "now"],
  others: "other_models",
  total: "total",
};
const COST_CHANGE_HELP =
  "Without --since it is the last 7 days against the 7 before. The terms of a row add up to its difference: how many requests, of which models, how much each used, how much of it caches gave, what had a price, and the price.";

const CHANGES = {
  rows: ["changes"],
  columns: [
    "model",
    "unit",
    "tier?",
    "requests",
    "quantity",
    "cost_before as before",
    "cost_after as after",
    "unpriced_before",
    "unpriced_after",
  ],
  spare: ["quantity", "unpriced before", "unpriced after"],
  total: "total",
};

/** Commands that are made of a route alone, with what its declaration does not say of them. */
const COMMANDS: readonly RouteCommand[] = [
  {
    route: "GET /admin/v1/events",
    usage: "audit",
    short: "what changed",
    group: "Operation",
    table: {
      rows: ["events"],
      columns: [
        "ts as time",
        "actor",
        "action",
        "target_ref as target",
        "change.label? as name",
        "change.sentence? as change",
      ],
      spare: ["target", "name"],
    },
    examples: [
      "lockport audit",
      "lockport audit --limit 500 --json | jq '.events[] | select(.actor == \"ada\")'",
      "lockport audit --json | jq '.events[] | select(.change.fields[]?.field | startswith(\"pricing\"))'",
    ],
  },
  {
    route: "GET /admin/v1/settings",
    usage: "settings",
    short: "what runs",
    about: "what runs on a server: versions, sizes, retention, who is signed in",
    isOfServer: true,
    examples: ["lockport settings --url https://models.example.org"],
  },
  {
    route: "GET /admin/v1/refusals",
    usage: "refusals",
    short: "what was refused",
    about: "requests that were refused, newest first, with the code of each",
    table: {
      rows: ["refusals"],
      columns: ["at as time", "code", "principal", "key_suffix as key", "model", "endpoint", "client", "id"],
      spare: ["id", "client", "endpoint", "key"],
    },
    help: "A refused request left no row in the log. The newest 1000 are kept, also from before a restart.",
    examples: ["lockport refusals", "lockport refusals --code limit_exceeded --since 1h"],
  },
  {
    route: "GET /stats/errors",
    usage: "errors",
    short: "by cause",
    about: "how requests failed, by kind, status, provider, model and caller",
    defaults: { outcome: ["failed"] },
    window: WINDOW,
    table: {
      rows: ["breakdown"],
      columns: [
        "last_seen",
        "outcome",
        "error_kind as kind",
        "status_code as status",
        "requests",
        "provider",
        "model",
        "avg_duration_ms as average",
        "endpoint",
        "client",
        "tags",
      ],
      spare: ["tags", "client", "endpoint", "average", "provider"],
    },
    help: `${LAST_30_DAYS} Without --outcome it is every request that did not end ok.`,
    examples: ["lockport errors", "lockport errors --since 1h --provider openai"],
  },
  {
    route: "GET /stats/errors/clients",
    usage: "errors clients",
    about: "versions of clients that fail more often than before, and since when",
    window: WINDOW,
    table: {
      rows: ["clients"],
      columns: [
        "name as client",
        "version",
        "since",
        "now.share as failed",
        "now.requests as requests",
        "before.share as before",
        "before.requests as requests before",
        "before.of as of",
        "elsewhere.share as other clients",
      ],
      spare: ["requests before", "of"],
    },
    help: LAST_30_DAYS,
    examples: ["lockport errors clients", "lockport errors clients --client Continue --since 90d"],
  },
  {
    route: "GET /stats/errors/retries",
    usage: "errors retries",
    about: "attempts by one key right after failures, without a pause",
    window: WINDOW,
    table: {
      rows: ["storms"],
      columns: [
        "first_at as first",
        "last_at as last",
        "attempts",
        "failed",
        "principal",
        "key_label as key",
        "model",
        "client",
        "input_tokens as input",
        "cost",
      ],
      spare: ["input", "client", "last"],
    },
    help: LAST_30_DAYS,
    examples: ["lockport errors retries", "lockport errors retries --since 1h --model gpt-5"],
  },
  {
    route: "GET /stats/breakdown",
    usage: "breakdown",
    short: "by any dimension",
    about: "usage by any one dimension: cost, failures and how long it took",
    window: WINDOW,
    table: BREAKDOWN,
    help: LAST_30_DAYS,
    examples: [
      "lockport breakdown --by tag:team",
      "lockport breakdown --by model --sort requests --since 7d",
      "lockport breakdown --by key --cache",
    ],
  },
  {
    route: "GET /stats/cost-change",
    usage: "why",
    short: "it costs more",
    about: "why usage costs more or less than before",
    table: COST_CHANGE,
    help: COST_CHANGE_HELP,
    examples: [
      "lockport why",
      "lockport why --since 2026-03-01 --until 2026-04-01 --before-since 2026-02-01 --before-until 2026-03-01",
      "lockport why --tag team:search --since 30d",
    ],
  },
  {
    route: "GET /stats/statement",
    usage: "statement",
    short: "of a month",
    about: "the account of a month by person, key and tag, with a hash over it",
    table: {
      rows: ["rows"],
      columns: [
        "by",
        "value",
        "label?",
        "requests",
        "unpriced_requests as unpriced",
        "unmetered_requests as unknown",
        "cost",
      ],
      spare: ["label"],
      total: "total",
    },
    help: "Two people whose --json has the same hash have the same month. A request with several tags is in a row of each.",
    examples: [
      "lockport statement --month 2026-03",
      "lockport statement --month 2026-03 --json | jq -r .hash",
    ],
  },
  {
    route: "GET /stats/series",
    usage: "series",
    short: "over time",
    about: "usage over time, or of groups",
    window: WINDOW,
    table: SERIES,
    help: `${LAST_30_DAYS} With --group-by a row is the sum of a group; --json has its course.`,
    examples: ["lockport series --bucket week", "lockport series --group-by tag:app --since this-month"],
  },
  {
    route: "GET /admin/v1/pricing/list",
    usage: "pricing list-prices",
    about: "show public list prices, of the day that it says",
    table: { rows: ["entries"], columns: ["model", "unit", "price_per_million"] },
  },
  {
    route: "GET /admin/v1/pricing/history",
    usage: "pricing history",
    about: "show prices as they held, those that began last first",
    table: {
      rows: ["changes"],
      columns: ["from", "until", "model", "unit", "when", "price", "source", "version"],
      spare: ["version", "source", "when"],
    },
    help: "Prices in force, whatever brought them about; without an until they hold. They are per million.",
    examples: ["lockport pricing history", "lockport pricing history --model gpt-5 --limit 20"],
  },
  {
    route: "GET /admin/v1/pricing/schedule",
    usage: "pricing schedule",
    about: "show prices to come, the next first",
    table: {
      rows: ["schedule"],
      columns: ["id", "effective_from", "model", "pricing", "price_variants", "version", "left_out"],
      spare: ["version", "price variants", "left_out"],
    },
    help: "Each takes force by itself at its moment. Prices are per million.",
    examples: ["lockport pricing schedule", "lockport pricing schedule --model gpt-5 --json"],
  },
  {
    route: "DELETE /admin/v1/pricing/schedule/:id",
    usage: "pricing unschedule <id>",
    about: "take prices to come back; those that hold stay",
    done: "took prices to come {id} back",
    examples: ["lockport pricing unschedule 7", "lockport pricing unschedule 7 --yes"],
  },
  {
    route: "POST /admin/v1/pricing/preview",
    usage: "pricing preview",
    table: {
      rows: ["names"],
      columns: [
        "name",
        "kind",
        "requests",
        "cost",
        "cost_before as at today's",
        "cost_after as at the new",
        "unpriced_after",
      ],
      spare: ["unpriced after", "kind"],
    },
    help: "What the last 30 days cost as recorded, at the prices of now and at the new ones. --pricing is the complete set.",
    examples: ["lockport pricing preview --model gpt-5 --pricing input_tokens=1 --pricing output_tokens=8"],
  },
  {
    route: "POST /admin/v1/repricing",
    usage: "reprice plan",
    about: "plan what other prices would change of requests that are recorded",
    short: "what other prices would change",
    isOfServer: true,
    flags: [
      {
        flags: "--prices <file>",
        text: "JSON: {model: {pricing, price_variants?}}; - is the standard input; history: the prices that were in force",
        field: "prices",
        isRequired: true,
      },
      {
        flags: "--since <when>",
        text: "from then on, such as 2026-03-01 or 30d",
        field: "since",
        parse: readInstant,
      },
      { flags: "--until <when>", text: "until then, exclusive", field: "until", parse: readInstant },
      {
        flags: "--filter <name=value>",
        text: "a filter of /stats",
        field: "filters",
        pairs: { keys: ["principal", "key", "provider", "client", "tag", "outcome", "tier"] },
      },
      {
        flags: "--unpriced-only",
        text: "only requests with a unit that has no price",
        field: "unpriced_only",
        value: true,
      },
      { flags: "--apply", text: "apply it as soon as it is planned", field: "dry_run", value: false },
    ],
    defaults: { dry_run: true },
    prepare: readRepricing,
    ask: async (installation, { fields }) => {
      const { data } = await installation.api.ask("POST /admin/v1/repricing", { body: fields });
      return followRepricing(installation, String(data["id"]));
    },
    table: CHANGES,
    after: ({ terminal, view }) => tellChange(terminal, view),
    help: "Nothing changes before it is applied. Prices are complete sets: a unit that is left out has none.",
    examples: [
      "lockport reprice plan --prices prices.json --since 2026-03-01",
      "lockport reprice plan --prices prices.json --since 30d --unpriced-only --apply",
      "lockport reprice plan --prices history --since 2026-03-01",
    ],
  },
  {
    route: "GET /admin/v1/repricing",
    usage: "reprice list",
    isOfServer: true,
    table: {
      rows: ["repricings"],
      columns: [
        "id",
        "state",
        "created_at",
        "models",
        "total.requests as requests",
        "total.difference as difference",
      ],
      spare: ["models", "created at"],
    },
  },
  {
    route: "GET /admin/v1/repricing/:id",
    usage: "reprice show <id>",
    isOfServer: true,
    table: CHANGES,
    after: ({ terminal, view }) => tellRepricing(terminal, view),
  },
  {
    route: "POST /admin/v1/repricing/:id/apply",
    usage: "reprice apply <id>",
    isOfServer: true,
    ask: (installation, { named }) => changeRepricing(installation, named["id"] ?? "", "apply"),
    table: CHANGES,
    after: ({ terminal, view }) => tellChange(terminal, view),
  },
  {
    route: "POST /admin/v1/repricing/:id/revert",
    usage: "reprice revert <id>",
    isOfServer: true,
    ask: (installation, { named }) => changeRepricing(installation, named["id"] ?? "", "revert"),
    table: CHANGES,
    after: ({ terminal, view }) => tellChange(terminal, view),
  },
  {
    route: "GET /admin/v1/limits/:id/usage",
    usage: "limit usage <name>",
    find: findLimitId,
    table: {
      rows: ["usage"],
      columns: ["principal?", "key?", "tag?", "used", "left", "unpriced_requests as unpriced"],
      spare: ["unpriced"],
    },
    examples: ["lockport limit usage everyone"],
  },
  {
    route: "GET /my/keys",
    usage: "my keys list",
    table: {
      rows: ["keys"],
      columns: [
        "id",
        "key_suffix",
        "label",
        "created_at",
        "last_used_at",
        "expires_at",
        "enabled?",
        "models?",
        "tags?",
      ],
      spare: ["tags", "models", "created at", "enabled", "expires at", "key suffix", "last used at"],
    },
  },
  {
    route: "POST /my/keys",
    usage: "my keys create",
    secret: { field: "key", what: "key", takeBack: "DELETE /my/keys/:id" },
  },
  { route: "PATCH /my/keys/:id", usage: "my keys set <id>", done: "changed key {id}" },
  {
    route: "POST /my/keys/:id/rotate",
    usage: "my keys rotate <id>",
    secret: { field: "key", what: "key", takeBack: null },
  },
  {
    route: "DELETE /my/keys/:id",
    usage: "my keys delete <id>",
    done: "deleted key {id}",
  },
  {
    route: "GET /my/relay-tokens",
    usage: "my relay-tokens list",
    table: {
      rows: ["relay_tokens"],
      columns: [
        "id",
        "token_suffix",
        "label",
        "created_at",
        "last_used_at",
        "expires_at?",
        "enabled?",
        "tags?",
      ],
      spare: ["tags", "created at", "enabled", "expires at", "token suffix", "last used at"],
    },
  },
  {
    route: "POST /my/relay-tokens",
    usage: "my relay-tokens create",
    secret: { field: "token", what: "relay token", takeBack: "DELETE /my/relay-tokens/:id" },
  },
  {
    route: "PATCH /my/relay-tokens/:id",
    usage: "my relay-tokens set <id>",
    done: "changed relay token {id}",
  },
  {
    route: "DELETE /my/relay-tokens/:id",
    usage: "my relay-tokens delete <id>",
    done: "deleted relay token {id}",
  },
  {
    route: "GET /my/limits",
    usage: "my limits",
    show: async (terminal, { api }) => writeLimits(terminal, (await api.call("GET /my/limits")).limits),
  },
  {
    route: "GET /my/usage",
    usage: "my usage show",
    window: WINDOW,
    table: {
      rows: ["usage"],
      columns: ["model", "endpoint", "requests", "cancelled", "units", "cost"],
      spare: ["cancelled", "cached", "endpoint"],
    },
    help: LAST_30_DAYS,
    examples: ["lockport my usage show --since this-month"],
  },
  {
    route: "GET /my/usage/breakdown",
    usage: "my usage breakdown",
    window: WINDOW,
    table: BREAKDOWN,
    help: LAST_30_DAYS,
    examples: ["lockport my usage breakdown --by tag:app"],
  },
  {
    route: "GET /my/usage/series",
    usage: "my usage series",
    window: WINDOW,
    table: SERIES,
    help: `${LAST_30_DAYS} With --group-by a row is the sum of a group; --json has its course.`,
    examples: ["lockport my usage series --bucket week"],
  },
  {
    route: "GET /my/usage/cost-change",
    usage: "my usage why",
    table: COST_CHANGE,
    help: COST_CHANGE_HELP,
    examples: ["lockport my usage why --since 30d"],
  },
  {
    route: "GET /my/requests/:id",
    usage: "my request <id>",
    help: "The id stands in the header x-proxy-request-id of every answer. A refused request is told with why.",
    examples: ["lockport my request 019cdd2a-7c00-7000-8000-000000000008"],
  },
  {
    route: "GET /my/sessions",
    usage: "my sessions list",
    table: { rows: ["sessions"], columns: ["last_seen_at", "expires_at", "current"] },
  },
  {
    route: "POST /my/sessions/revoke-others",
    usage: "my sessions revoke-others",
    about: "sign every browser of one's own out",
    asks: "Every browser that is signed in as the owner of LOCKPORT_API_KEY will have to sign in again; keys stay.",
    done: "ended {revoked} sessions",
  },
];

/** Commands that are made by hand, and the routes that they ask. */
export const HAND_MADE: { readonly [words: string]: readonly string[] } = {
  "provider add": ["POST /admin/v1/providers"],
  "provider list": ["GET /admin/v1/providers"],
  "provider set": ["PATCH /admin/v1/providers/:name"],
  "provider remove": ["DELETE /admin/v1/providers/:name"],
  "provider test": ["POST /admin/v1/providers/:name/test"],
  "provider restore-credential": ["POST /admin/v1/providers/:name/restore-credential"],
  "provider discover": ["GET /admin/v1/providers/:name/discover"],
  "model add": ["POST /admin/v1/models"],
  "model list": ["GET /admin/v1/models"],
  "model set": ["PATCH /admin/v1/models/:alias"],
  "model remove": ["DELETE /admin/v1/models/:alias"],
  "model resolve": ["GET /admin/v1/resolve"],
  "pricing load": ["POST /admin/v1/pricing"],
  "pricing show": ["GET /admin/v1/pricing"],
  "pricing missing": ["GET /admin/v1/usage/missing-prices"],
  export: ["GET /admin/v1/catalog"],
  apply: ["POST /admin/v1/catalog"],
  "principal create": ["POST /admin/v1/principals"],
  "principal list": ["GET /admin/v1/principals"],
  "principal set": ["PATCH /admin/v1/principals/:id"],
  "principal delete": ["DELETE /admin/v1/principals/:id"],
  "principal revoke-sessions": ["POST /admin/v1/principals/:id/revoke-sessions"],
  "key create": ["POST /admin/v1/keys"],
  "key list": ["GET /admin/v1/keys"],
  "key set": ["PATCH /admin/v1/keys/:id"],
  "key rotate": ["POST /admin/v1/keys/:id/rotate"],
  "key delete": ["DELETE /admin/v1/keys/:id"],
  "relay-token list": ["GET /admin/v1/relay-tokens"],
  "relay-token set": ["PATCH /admin/v1/relay-tokens/:id"],
  "relay-token delete": ["DELETE /admin/v1/relay-tokens/:id"],
  "limit list": ["GET /admin/v1/limits"],
  "limit show": ["GET /admin/v1/limits/:id"],
  "limit set": ["POST /admin/v1/limits", "PATCH /admin/v1/limits/:id"],
  "limit remove": ["DELETE /admin/v1/limits/:id"],
  usage: ["GET /stats/summary", "GET /admin/v1/usage/summary", "GET /admin/v1/usage/series"],
  "export focus": ["GET /stats/focus"],
  "what-if": ["POST /stats/what-if"],
  "requests tail": ["GET /stats/requests", "GET /admin/v1/requests"],
  request: ["GET /stats/requests/:id"],
  reconcile: ["POST /admin/v1/reconcile"],
  "notice test": ["POST /admin/v1/notices/test"],
  health: ["GET /healthz"],
  openapi: ["GET /openapi.json"],
};

/** Routes without a command, and why. */
export const WITHOUT_COMMAND: { readonly [route: string]: string } = {
  "GET /auth/me": "a browser asks it before anybody is signed in",
  "POST /auth/password": "signs a browser in",
  "POST /auth/login-link": "signs a browser in",
  "GET /auth/logout": "signs a browser out",
  "GET /auth/login": "signs a browser in",
  "GET /auth/callback": "signs a browser in",
  "POST /admin/v1/discover": "the page's form asks it; a command adds the provider and then discovers",
  "GET /stats/requests/facets": "the words of the page's filters; lockport breakdown has them with figures",
  "POST /model/new": "for clients of LiteLLM; lockport model add",
  "GET /model/info": "for clients of LiteLLM; lockport model list",
  "POST /model/delete": "for clients of LiteLLM; lockport model remove",
  "GET /metrics": "for a scraper, in its own format",
  "GET /*": "the page",
};

/** Parts of the documentation whose routes are for programs that use models. */
const DATA_PLANE: ReadonlySet<string> = new Set(["Models", "Relay"]);

/** Every command that is made of a route: those above, and one for each declared route that nothing else asks. */
export function listRouteCommands(
  routes: readonly Route[],
): readonly (RouteCommand & { readonly of: Route })[] {
  const covered = new Set([...Object.values(HAND_MADE).flat(), ...Object.keys(WITHOUT_COMMAND)]);
  return routes.flatMap((route) => {
    const name = `${route.method} ${route.path}`;
    if (covered.has(name) || DATA_PLANE.has(route.tag)) return [];
    const preset = COMMANDS.find((each) => each.route === name) ?? {
      route: name,
      usage: toUsage(route, routes),
    };
    // A data folder has no caller whose own they would be.
    return [{ ...preset, ...(route.path.startsWith("/my/") && { isOfServer: true as const }), of: route }];
  });
}

/** Groups that these commands begin. */
const GROUPS: { readonly [path: string]: string } = {
  my: "what belongs to the owner of LOCKPORT_API_KEY, on a server",
  "my keys": "API keys of one's own",
  "my relay-tokens": "relay tokens of one's own",
  "my usage": "what one used",
  "my sessions": "browsers in which one is signed in",
};

/** True when one of them begins with this word. */
export function hasRouteCommand(routes: readonly Route[], word: string): boolean {
  return listRouteCommands(routes).some(({ usage }) => usage.split(" ")[0] === word);
}

export interface Added {
  readonly terminal: Terminal;
  readonly routes: readonly Route[];
  /** Those that the program's help lists under this. */
  readonly group: string;
  /** Those of them whose first word this is; null: all. */
  readonly firstWord: string | null;
}

export function addRouteCommands(program: Command, { terminal, routes, group, firstWord }: Added): void {
  for (const { of: route, ...preset } of listRouteCommands(routes)) {
    const [first] = preset.usage.split(" ");
    if (toGroup(preset, route) === group && (firstWord === null || first === firstWord))
      addRouteCommand(program, preset, { route, terminal });
  }
  describeGroups(program);
}

function describeGroups(parent: Command): void {
  for (const command of parent.commands) {
    const description = GROUPS[toPath(command)];
    if (description !== undefined) command.description(description);
    describeGroups(command);
  }
}

/** Nouns of paths that commands call otherwise. */
const NOUNS: { readonly [part: string]: string } = {
  providers: "provider",
  models: "model",
  principals: "principal",
  keys: "key",
  "relay-tokens": "relay-token",
  limits: "limit",
  notices: "notice",
};

/** Verbs of requests whose path has no word for them. */
const VERBS: { readonly [method: string]: string } = {
  POST: "create",
  PATCH: "set",
  PUT: "put",
  DELETE: "delete",
};

/** A command's words and arguments out of a route: `GET /my/keys` is `my keys list`, `POST /my/keys/:id/rotate` is `my keys rotate <id>`. */
export function toUsage(route: Pick<Route, "method" | "path">, routes: readonly Route[]): string {
  const path = route.path.replace(/^\/(?:admin\/v1|stats)(?=\/)/, "");
  const parts = path.split("/").filter((part) => part !== "");
  const isArgument = (part: string) => part.startsWith(":");
  const words = parts.filter((part) => !isArgument(part));
  const args = parts.filter(isArgument).map((part) => `<${part.slice(1)}>`);
  const [noun = "", ...rest] = words;
  return [NOUNS[noun] ?? noun, ...rest, ...toVerb(route, routes), ...args].join(" ");
}

function toVerb(
  { method, path }: Pick<Route, "method" | "path">,
  routes: readonly Route[],
): readonly string[] {
  const last = path.split("/").at(-1) ?? "";
  const isOfOne = last.startsWith(":");
  const others = routes.filter((each) => each.path === path && each.method !== method);
  if (method === "GET") {
    if (isOfOne) return ["show"];
    if (others.length > 0) return ["list"];
    return routes.some((each) => each.path.startsWith(`${path}/`)) ? ["show"] : [];
  }
  // The last word of `/keys/:id/rotate` says what is done.
  const isAction = method === "POST" && !others.some((each) => each.method === "GET");
  return isAction ? [] : [VERBS[method] ?? method.toLowerCase()];
}

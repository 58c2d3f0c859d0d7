import { configWith, type Config, parseConfig } from "#boot/settings/config.ts";
import { makeLocal, openLocal, type Local } from "#boot/local.ts";
import { createSystem } from "#boot/process/system.ts";
import { CommandError } from "#cli/screen/failure.ts";
import type { OutputOptions } from "#cli/screen/output.ts";
import { type Terminal, collectText } from "#cli/screen/terminal.ts";
import { CSV_TYPE, type Installation, createClient, findRefusal } from "#cli/installation/client.ts";
import { formatAddress, toReachable } from "#boot/settings/listen-address.ts";
import { findServingAddress } from "#boot/folder/serving-address.ts";
import type { Environment } from "#boot/settings/environment.ts";
import { toOrigin, toText } from "#boot/settings/setting-values.ts";
import { SetupError } from "#kernel/errors.ts";
import type { Clock } from "#kernel/clock.ts";
import type { LocalApp } from "#http/local.ts";
import { isJsonObject, parseJson } from "#kernel/json.ts";
import { systemCode } from "#kernel/system-code.ts";
import type { Route } from "#http/door/route.ts";

export interface LocalOptions extends OutputOptions {
  readonly dataDir?: string;
}

export interface InstallationOptions extends LocalOptions {
  /** An origin; undefined is that of `LOCKPORT_URL`, else this machine's data folder. */
  readonly url?: string;
}

type LocalRun<Result> = (local: Local, config: Config) => Promise<Result>;

/** Opens the data folder, runs the command, and closes it again whatever happens. Throws a `SetupError` when it holds no installation. */
export function withLocal<Result>(
  terminal: Terminal,
  options: LocalOptions,
  run: LocalRun<Result>,
): Promise<Result> {
  return runOn(openLocal, { terminal, options, run });
}

/** As `withLocal`, for the command that may come first: an installation is made where there is none. */
export function withNewLocal<Result>(
  terminal: Terminal,
  options: LocalOptions,
  run: LocalRun<Result>,
): Promise<Result> {
  return runOn(makeLocal, { terminal, options, run });
}

interface LocalCall<Result> {
  readonly terminal: Terminal;
  readonly options: LocalOptions;
  readonly run: LocalRun<Result>;
}

async function runOn<Result>(
  open: typeof openLocal,
  { terminal, options, run }: LocalCall<Result>,
): Promise<Result> {
  const config = configWith(terminal.env, { PROXY_DATA_DIR: options.dataDir });
  // Lines of a server's level info (a database made, a migration applied) are noise beside a command's output.
  const logLevel = config.logLevel === "info" ? "warn" : config.logLevel;
  const local = await open(config, {
    ...createSystem({ logLevel }),
    clock: terminal.clock,
    onUnconfirmed: () => terminal.sayAtInterrupt(UNCONFIRMED),
  });
  try {
    return await run(local, config);
  } finally {
    await local.close();
  }
}

const UNCONFIRMED =
  "It was interrupted: the change is made, and not all replicas have confirmed it yet. Each follows within PROXY_DATABASE_GRACE.";

/** Runs the command on what its options name. Throws a `CommandError` when a server is named without an API key. */
export async function withInstallation<Result>(
  terminal: Terminal,
  options: InstallationOptions,
  run: (installation: Installation) => Promise<Result>,
  signal?: AbortSignal,
): Promise<Result> {
  const url = findServerUrl(terminal, options);
  if (url === null) {
    return withLocal(terminal, options, (local) => run(createLocalInstallation(local, terminal.clock)));
  }
  const apiKey = readApiKey(terminal);
  if (apiKey === null) {
    const named = options.url === undefined ? "LOCKPORT_URL" : "--url";
    throw new CommandError(
      "permission",
      `Set LOCKPORT_API_KEY to an API key of the server that ${named} names.`,
    );
  }
  return run(createRemoteInstallation({ origin: url, apiKey, clock: terminal.clock, signal }));
}

/** The server that these options, or else the environment, name; null for this machine's data folder. */
export function findServerUrl(
  { env }: Pick<Terminal, "env">,
  { url, dataDir }: InstallationOptions,
): string | null {
  return url ?? (dataDir === undefined ? readServerUrl(env) : null);
}

/**
 * Finds the address of the server of these settings for a browser on this machine: the public URL, else the one it is bound
 * to. Null when the port is chosen at the start.
 */
export function findOrigin({
  publicUrl,
  ...address
}: Pick<Config, "publicUrl" | "host" | "port">): string | null {
  if (publicUrl !== null) return publicUrl;
  return address.port === 0 ? null : toReachable(`http://${formatAddress(address)}`);
}

/** Finds the address of the server that runs from the data folder now; null when none is known to. */
export function findServingOrigin({ dataDir }: Config): string | null {
  const found = findServingAddress(dataDir);
  return found === null ? null : (found.publicUrl ?? toReachable(found.url));
}

/** Variables that name a server elsewhere; `docs/configuration.md` is made from these. Not `PROXY_*`: a server does not read them. */
export const SERVER_SETTINGS = {
  url: {
    name: "LOCKPORT_URL",
    unit: "origin",
    sentence:
      "The server that commands work on, as `--url` says it for one; `--data-dir` precedes it. Unset: the data folder of this machine.",
    parse: toOrigin,
  },
  apiKey: {
    name: "LOCKPORT_API_KEY",
    unit: "text",
    sentence: "An API key of that server: commands work as its owner.",
    parse: toText,
  },
} as const;

/** Null when none is named. Throws a `SetupError` that names the variable and never repeats its value, which may hold a password. */
export function readServerUrl(env: Environment): string | null {
  return read(env, SERVER_SETTINGS.url);
}

/** The API key for a server, also by the variable's former name, which a terminal is told of; null when there is none. */
export function readApiKey(terminal: Terminal): string | null {
  const { env, screens } = terminal;
  const apiKey = read(env, SERVER_SETTINGS.apiKey);
  if (apiKey !== null) return apiKey;
  const former = parseConfig(env).apiKey;
  if (former !== null && screens.messages)
    terminal.writeMessage("PROXY_API_KEY is called LOCKPORT_API_KEY now; the former name still works.\n");
  return former;
}

function read(
  env: Environment,
  { name, parse }: (typeof SERVER_SETTINGS)[keyof typeof SERVER_SETTINGS],
): string | null {
  const text = env[name];
  if (text === undefined || text === "") return null;
  try {
    return parse(text);
  } catch (cause) {
    if (!(cause instanceof RangeError)) throw cause;
    throw new SetupError("configuration", `${name} must be ${cause.message}.`);
  }
}

/**
 * The data folder of this machine, also while a server has it open; what changes applies from that server's next request on.
 * Only a route that changes something opens the folder for writing.
 */
export function createLocalInstallation(local: Local, clock: Clock): Installation {
  let reading: LocalApp | null = null;
  let writing: LocalApp | null = null;
  const send = async (request: Request): Promise<Response> => {
    // Loaded here and not above: the routes take as long to load as the rest of the program.
    const { openLocalApi } = await import("#boot/local-api.ts");
    if (!isReading(request)) writing ??= openLocalApi(await local.forWriting(), { clock });
    const app = writing ?? (reading ??= openLocalApi(local, { clock }));
    const response = await app.fetch(request);
    if (response.ok) return response;
    const refusal = findRefusal(response.status, await response.json());
    throw refusal ?? new TypeError(`the interface answered ${response.status}`);
  };
  return { api: createClient("http://localhost", send), local, origin: null, clock };
}

/** A dry run changes nothing. */
function isReading({ method, url }: Request): boolean {
  return method === "GET" || new URL(url).searchParams.get("dry_run") === "1";
}

/** For an answer to its last byte; discovery alone waits for a provider, which takes at most 30 s. */
const ANSWER_MS_MAX = 60_000;
/** For a file of any length, which is read no faster than it is written down. */
const CSV_MS_MAX = 3_600_000;
/** Some three times the largest report. */
const ANSWER_BYTES_MAX = 64_000_000;
/** RFC 9110, section 5.5, without blanks: what a header's value may hold and `fetch` takes. */
const HEADER_TOKEN = /^[\u0021-\u007e]+$/;
/** Advice for codes that say more than that no server runs there. */
const ADVICE: readonly (readonly [codes: RegExp, advice: string])[] = [
  [/^EPROTO$/, "does it speak http:// there, and not https://?"],
  [
    /CERT|SIGNATURE/,
    "this machine does not trust its certificate, or it is another name's. For an authority of your own, name its PEM file in NODE_EXTRA_CA_CERTS.",
  ],
];

export interface Remote {
  /** Without a slash at the end. */
  readonly origin: string;
  readonly apiKey: string;
  readonly clock: Clock;
  /** Ends what is under way. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * A server, spoken to over HTTP with an API key, under whose owner changes are audited. What is thrown is a `CommandError`:
 * `unreachable` when there is no answer or it is not Lockport's, `permission` for its 401 and 403, `failure` with the server's
 * sentence and code for every other refusal. Throws one at once for a key that no header can hold.
 */
export function createRemoteInstallation({ origin, apiKey, clock, signal }: Remote): Installation {
  if (!HEADER_TOKEN.test(apiKey)) {
    throw new CommandError(
      "permission",
      "LOCKPORT_API_KEY is not an API key: it has blanks, line breaks or other characters that no key has. Copy it again.",
    );
  }
  const send = async (request: Request): Promise<Response> => {
    const isCsv = request.headers.get("accept") === CSV_TYPE;
    const limit = AbortSignal.timeout(isCsv ? CSV_MS_MAX : ANSWER_MS_MAX);
    const exchange = async () => {
      request.headers.set("authorization", `Bearer ${apiKey}`);
      if (!isCsv) request.headers.set("accept", "application/json");
      const response = await fetch(request, {
        // The key goes to the address that was named and to no other.
        redirect: "manual",
        signal: signal === undefined ? limit : AbortSignal.any([signal, limit]),
      });
      if (isCsv && response.ok && response.headers.get("content-type")?.startsWith(CSV_TYPE) === true)
        return { response, text: null };
      const name = `The answer of ${origin}`;
      const text =
        response.body === null ? "" : await collectText(response.body, { name, bytesMax: ANSWER_BYTES_MAX });
      return { response, text };
    };
    const { response, text } = await exchange().catch((cause: unknown) => {
      if (signal?.aborted === true) throw cause;
      if (cause instanceof CommandError) throw new CommandError("unreachable", cause.message);
      // The code alone: the runtime's messages may hold secrets.
      const code = limit.aborted ? "timeout" : (systemCode(cause) ?? "no answer");
      const [, advice] = ADVICE.find(([codes]) => codes.test(code)) ?? [null, "is the server running there?"];
      throw new CommandError("unreachable", `${origin} cannot be reached (${code}): ${advice}`);
    });
    if (text === null) return response;
    const answer = parseJson(text);
    const { status, headers } = response;
    if (!response.ok) {
      // Without our header another program refuses, and its sentence is not repeated.
      const refusal = headers.get("x-proxy-error-source") === "proxy" ? findRefusal(status, answer) : null;
      throw refusal ?? notLockport(origin, ` (status ${status})`);
    }
    if (!isJsonObject(answer)) throw notLockport(origin);
    // Loaded here and not above: a command on this machine has no use for it.
    const { listRoutes } = await import("#http/local.ts");
    const { pathname } = new URL(request.url);
    if (!isDeclared(answer, { method: request.method, pathname }, listRoutes()))
      throw notLockport(origin, ", or one of another version");
    headers.set("content-type", "application/json");
    return new Response(text, { status, headers });
  };
  return { api: createClient(origin, send), local: null, origin, clock };
}

function notLockport(origin: string, more = ""): CommandError {
  return new CommandError(
    "unreachable",
    `What answers at ${origin} is not a Lockport${more}: give the address of the server itself with --url.`,
  );
}

/**
 * Holds a successful answer to what its route declares: every field that is promised is there and has its type. Further
 * fields, other words and other ranges pass: the server may be of another version.
 */
function isDeclared(
  answer: unknown,
  { method, pathname }: { readonly method: string; readonly pathname: string },
  routes: readonly Route[],
): boolean {
  const route = routes.find((each) => each.method === method && isOn(each.path, pathname));
  const [content] = route?.answer.contents ?? [];
  return content !== undefined && fits(answer, content.schema);
}

function isOn(path: string, pathname: string): boolean {
  const parts = pathname.split("/");
  const expected = path.split("/");
  return (
    expected.length === parts.length &&
    expected.every((part, index) => part.startsWith(":") || part === parts[index])
  );
}

type Schema = { readonly [keyword: string]: unknown };

function fits(value: unknown, { anyOf, type, properties, required, items }: Schema): boolean {
  if (Array.isArray(anyOf)) return anyOf.some((each) => isJsonObject(each) && fits(value, each));
  switch (type) {
    case "object":
      if (!isJsonObject(value)) return false;
      if (Array.isArray(required) && required.some((name) => typeof name !== "string" || !(name in value)))
        return false;
      return Object.entries(isJsonObject(properties) ? properties : {}).every(
        ([name, each]) => value[name] === undefined || (isJsonObject(each) && fits(value[name], each)),
      );
    case "array":
      return Array.isArray(value) && (!isJsonObject(items) || value.every((each) => fits(each, items)));
    case "null":
      return value === null;
    case "integer":
      return Number.isInteger(value);
    case "string":
    case "number":
    case "boolean":
      return typeof value === type;
    default:
      return true;
  }
}

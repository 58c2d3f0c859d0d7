import { LLMock } from "@copilotkit/aimock";
import { join } from "node:path";
import { isInstalled, isPython, toGroupFolder, type GroupName } from "../../contrib/clients/groups.ts";
import { startModelServer, type ModelServer } from "../../contrib/demo/model-server.ts";
import { callApi, makeInstallation, provide, type Installation } from "../support/installation.ts";
import { executable } from "../support/executable.ts";
import type { RunningProcess } from "../support/process.ts";

export const SETUP_MS_MAX = 120_000;
export const CLIENT_MS_MAX = 120_000;

/** The provider's credential, and the one that a client of the relay has of its own. */
const CREDENTIAL = "sk-upstream-credential";
export const OWN_CREDENTIAL = "sk-ant-own-credential";
export const ALIAS = "team/chat";
export const EMBEDDER = "embedder";
/** The model's name at the relay's upstream. */
export const RELAY_MODEL = "claude-mock-1";

export const GREETING = 'Grüße — 你好 \u2028 "quoted" 🎈 and some more words';
export const PLAIN_GREETING = GREETING.replace("\u2028", "");
export const WEATHER = { city: "Zürich", days: 3 };
/** Added to `greeting.txt` by a program that edits files. */
export const WRITTEN = "hello from the other side";
const TEXT_TOKENS = { input: 11, output: 7 };
const CALL_TOKENS = { input: 30, output: 12 };
const DONE_TOKENS = { input: 45, output: 5 };

const DOLLARS_PER_MILLION = { input_tokens: 2, output_tokens: 10 };
const RELAY_DOLLARS_PER_MILLION = { input_tokens: 3, output_tokens: 15 };

/** The units and the cost of one answer, as the request log has them. */
export const RECORDED = {
  text: toRecorded(TEXT_TOKENS, DOLLARS_PER_MILLION),
  call: toRecorded(CALL_TOKENS, DOLLARS_PER_MILLION),
  done: toRecorded(DONE_TOKENS, DOLLARS_PER_MILLION),
} as const;
/** The units and the cost of one answer through the relay. */
export const RELAYED = {
  text: toRecorded(TEXT_TOKENS, RELAY_DOLLARS_PER_MILLION),
  call: toRecorded(CALL_TOKENS, RELAY_DOLLARS_PER_MILLION),
  done: toRecorded(DONE_TOKENS, RELAY_DOLLARS_PER_MILLION),
} as const;

/** The built executable before two model servers, with an alias, an embedding model and the relay. */
export interface Site {
  readonly url: string;
  readonly key: string;
  readonly token: string;
  /** Every event after the first `count`, oldest first. */
  logAfter(count: number): Promise<readonly SeenRequest[]>;
  logLength(): Promise<number>;
  stop(): Promise<void>;
}

export interface SeenRequest {
  readonly model: string;
  readonly provider: string;
  readonly endpoint: string;
  readonly client: string | null;
  readonly outcome: string;
  readonly error_kind: string | null;
  readonly status_code: number;
  readonly streamed: boolean;
  readonly cost: number | null;
  readonly units: Record<string, number>;
  readonly unit_details?: Record<string, { readonly quantity: number }>;
  readonly tags: readonly string[];
}

export async function startSite(): Promise<Site> {
  const mock = await startMock();
  const models: ModelServer = await startModelServer({ port: 0, wordPauseMs: 1 });
  const installation: Installation = await makeInstallation(await executable());
  const server: RunningProcess = await installation.start({ env: { PROXY_MESSAGES_BASE_URL: mock.url } });
  const { adminKey } = installation;
  await provide(server.url, adminKey, {
    name: "mock",
    baseUrl: `${mock.url}/v1`,
    apiKey: CREDENTIAL,
    models: { [ALIAS]: "gpt-4o-mini" },
    pricing: DOLLARS_PER_MILLION,
  });
  await provide(server.url, adminKey, {
    name: "demo",
    baseUrl: models.baseUrl,
    models: { [EMBEDDER]: "demo-embedding-1" },
    pricing: DOLLARS_PER_MILLION,
  });
  const entries = Object.entries(RELAY_DOLLARS_PER_MILLION).map(([unit, price]) => ({
    model: RELAY_MODEL,
    unit,
    price_per_million: price,
  }));
  await readJson(await callApi(server.url, adminKey, "POST", "/admin/v1/pricing", { version: "1", entries }));
  const { token } = await readJson(await callApi(server.url, adminKey, "POST", "/my/relay-tokens", {}));

  const readLog = async (): Promise<{ requests: SeenRequest[]; total: number }> => {
    const { requests, total } = await readJson(
      await callApi(server.url, adminKey, "GET", "/admin/v1/requests?limit=500"),
    );
    return { requests: requests.toReversed(), total };
  };
  return {
    url: server.url,
    key: adminKey,
    token,
    logAfter: async (count) => (await readLog()).requests.slice(count),
    logLength: async () => (await readLog()).total,
    async stop() {
      await installation.remove();
      await models.stop();
      await mock.stop();
    },
  };
}

/** It refuses any credential but the two, and answers the messages API as it does chat completions. */
async function startMock(): Promise<LLMock> {
  const mock = new LLMock({
    port: 0,
    host: "127.0.0.1",
    auth: { apiKeys: [CREDENTIAL, OWN_CREDENTIAL] },
  });
  mock.onMessage("greet me plainly", { content: PLAIN_GREETING, usage: toUsage(TEXT_TOKENS) });
  // The question of the snippets, and the one of everything else.
  for (const question of ["Say hello in one sentence.", "greet me"]) {
    mock.onMessage(question, { content: GREETING, usage: toUsage(TEXT_TOKENS) });
  }
  mock.on(
    { userMessage: "weather", hasToolResult: true },
    { content: "It is warm.", usage: toUsage(DONE_TOKENS) },
  );
  mock.onMessage("weather", {
    toolCalls: [{ id: "call_1", name: "weather", arguments: JSON.stringify(WEATHER) }],
    usage: toUsage(CALL_TOKENS),
  });
  // In the form that aider asks of a model that it does not know: a file in whole.
  mock.onMessage("write the greeting", {
    content: `Here it is.\n\ngreeting.txt\n\`\`\`\n${WRITTEN}\n\`\`\`\n`,
    usage: toUsage(TEXT_TOKENS),
  });
  await mock.start();
  return mock;
}

interface Tokens {
  readonly input: number;
  readonly output: number;
}

/** In the words of both dialects. */
function toUsage({ input, output }: Tokens) {
  return {
    prompt_tokens: input,
    completion_tokens: output,
    total_tokens: input + output,
    input_tokens: input,
    output_tokens: output,
  };
}

function toRecorded({ input, output }: Tokens, prices: typeof DOLLARS_PER_MILLION) {
  return {
    units: { input_tokens: input, output_tokens: output },
    cost: (input * prices.input_tokens + output * prices.output_tokens) / 1e6,
  };
}

async function readJson(response: Response) {
  if (!response.ok) throw new Error(`${response.status}: ${await response.text()}`);
  return JSON.parse(await response.text());
}

const told = new Set<GroupName>();

/** True when the group is installed; says what to do when it is not, once. */
export function isReady(group: GroupName): boolean {
  if (isInstalled(group)) return true;
  if (!told.has(group))
    console.warn(`${group}: not installed, its tests are skipped (npm run test:clients installs it)`);
  told.add(group);
  return false;
}

/** A program of a group's `node_modules/.bin` or of its virtual environment. */
export function toProgram(group: GroupName, name: string): string {
  const folder = isPython(group) ? "venv/bin" : "node_modules/.bin";
  return join(toGroupFolder(group), folder, name);
}

/** A file with this text, from where the group's packages are found. */
export async function placeFile(group: GroupName, name: string, text: string): Promise<string> {
  const path = join(toGroupFolder(group), "run", name);
  await Bun.write(path, text);
  return path;
}

/** The one program that runs a group's source files. */
export function toInterpreter(group: GroupName): string {
  return isPython(group) ? toProgram(group, "python") : "node";
}

import type { PrincipalDraft } from "#identity/principals.ts";

/** A person or service that calls, with its keys and tokens. Instants are shares of the whole time, from 0 to 1. */
export interface Member extends PrincipalDraft {
  readonly joinsAt: number;
  /** Made by the first single sign-on instead of by an admin. */
  readonly viaSso?: boolean;
  /** Labels of the API keys that they have from the start. */
  readonly keys: readonly string[];
  /** Labels of relay tokens. */
  readonly relayTokens?: readonly string[];
}

export const MEMBERS: readonly Member[] = [
  { name: "ada", role: "admin", joinsAt: 0, keys: ["laptop", "admin scripts"], relayTokens: ["laptop"] },
  { name: "grace", role: "admin", joinsAt: 0, keys: ["laptop"], relayTokens: ["laptop"] },
  { name: "linus", joinsAt: 0, keys: ["editor", "terminal"], relayTokens: ["terminal"] },
  { name: "margaret", joinsAt: 0, keys: ["notebooks"] },
  { name: "ken", joinsAt: 0.01, keys: ["laptop"], relayTokens: ["laptop", "build box"] },
  { name: "barbara", joinsAt: 0.02, keys: ["notebooks", "reports"] },
  { name: "edsger", joinsAt: 0.04, keys: ["laptop"] },
  { name: "tony", joinsAt: 0.04, keys: ["laptop"] },
  { name: "dennis", joinsAt: 0.05, keys: ["laptop"], relayTokens: ["laptop"] },
  { name: "hedy", joinsAt: 0.12, viaSso: true, keys: ["prototype"] },
  { name: "katherine", joinsAt: 0.22, viaSso: true, keys: ["trajectories"] },
  { name: "radia", joinsAt: 0.37, viaSso: true, keys: ["lab"], relayTokens: ["laptop"] },
  { name: "alan", joinsAt: 0.55, viaSso: true, keys: ["laptop"] },
  { name: "support-bot", kind: "service", joinsAt: 0, keys: ["production", "staging"] },
  { name: "docs-search", kind: "service", joinsAt: 0.03, keys: ["production"] },
  { name: "nightly-eval", kind: "service", joinsAt: 0.08, keys: ["runner"] },
];

/** User-Agents as clients send them; the newer one from an upgrade on. */
const CLIENTS = {
  python: ["OpenAI/Python 1.109.1", "OpenAI/Python 2.3.0"],
  asyncPython: ["AsyncOpenAI/Python 1.109.1", "AsyncOpenAI/Python 2.3.0"],
  node: ["OpenAI/JS 5.23.2", "OpenAI/JS 6.7.0"],
  langchain: [
    "langchainjs-openai/0.6.14 ((node/v22.20.0; linux; x64))",
    "langchainjs-openai/1.0.0 ((node/v22.21.1; linux; x64))",
  ],
  langchainPython: ["langchain-openai/0.3.35 OpenAI/Python 1.109.1"],
  continue: ["Continue/1.2.9 (VSCode 1.104.3)", "Continue/1.3.21 (VSCode 1.106.0)"],
  aider: ["Aider/0.86.1 +https://aider.chat"],
  claude: ["claude-cli/2.0.14 (external, cli)", "claude-cli/2.0.37 (external, cli)"],
  httpx: ["python-httpx/0.28.1"],
  curl: ["curl/8.14.1"],
  none: [null],
} as const;
export type Client = keyof typeof CLIENTS;

/** The share of the whole time after which clients were upgraded. */
const UPGRADED_AT = 0.6;

/** The User-Agent that this client sends at that share of the whole time. */
export function toUserAgent(client: Client, progress: number): string | null {
  const [before, after = before] = CLIENTS[client];
  return progress < UPGRADED_AT ? before : after;
}

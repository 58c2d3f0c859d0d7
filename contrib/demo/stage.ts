import type { Actor } from "#audit/event.ts";
import { formatInstant, type InstantUs } from "#kernel/clock.ts";
import type { Principal } from "#identity/principal.ts";
import type { Installation } from "./installation.ts";
import type { PrincipalDraft } from "#identity/principals.ts";

/** A key or relay token that works, with its plaintext. */
export interface Credential {
  readonly id: string;
  readonly label: string;
  readonly plaintext: string;
}

/** A principal that is present, with its credentials. */
export interface Player {
  principal: Principal;
  readonly keys: Credential[];
  readonly relayTokens: Credential[];
}

export interface Stage {
  readonly installation: Installation;
  /** Throws for a name that is not on the stage. */
  find(name: string): Player;
  /** Null when that principal cannot call, or has no such key. The newest key whose label begins so. */
  findCaller(
    name: string,
    given: { readonly label: string; readonly isRelayed: boolean },
  ): { readonly principal: Principal; readonly credential: Credential } | null;
  /** Creates the member, by an admin or by its first single sign-on. */
  enter(member: Member, actor: Actor): Promise<void>;
  leave(name: string, actor: Actor): Promise<void>;
  setEnabled(name: string, enabled: boolean, actor: Actor): Promise<void>;
  /** The owner makes and deletes them, as on their own page. */
  createKey(name: string, label: string): Promise<void>;
  deleteKey(name: string, label: string): Promise<void>;
  /** An admin gives a key an end. */
  endKey(
    name: string,
    label: string,
    given: { readonly atUs: InstantUs; readonly actor: Actor },
  ): Promise<void>;
  createRelayToken(name: string, label: string): Promise<void>;
  deleteRelayToken(name: string, label: string): Promise<void>;
}

const SSO_ISSUER = "https://login.example.com";

export function createStage(installation: Installation): Stage {
  const { principals, keys, relayTokens, ssoAccounts } = installation;
  const present = new Map<string, Player>();
  const find = (name: string): Player => {
    const found = present.get(name);
    if (found === undefined) throw new Error(`${name} is not there`);
    return found;
  };
  const create = async ({ name, kind, role, viaSso }: Member, actor: Actor): Promise<Principal> => {
    if (viaSso !== true) return principals.create({ name, kind, role }, actor);
    const claims = new Map<string, unknown>([["preferred_username", name]]);
    const identity = { issuer: SSO_ISSUER, subject: `subject-of-${name}` };
    return ssoAccounts.settle({ ...identity, claim: (claim) => claims.get(claim) }, null);
  };
  return {
    installation,
    find,
    findCaller(name, { label, isRelayed }) {
      const found = present.get(name);
      if (found?.principal.enabled !== true) return null;
      const credentials = isRelayed ? found.relayTokens : found.keys;
      const credential = credentials.findLast((each) => each.label.startsWith(label));
      return credential === undefined ? null : { principal: found.principal, credential };
    },
    async enter(member, actor) {
      const principal = await create(member, actor);
      present.set(member.name, { principal, keys: [], relayTokens: [] });
    },
    async leave(name, actor) {
      await principals.delete(find(name).principal.id, actor);
      present.delete(name);
    },
    async setEnabled(name, enabled, actor) {
      const found = find(name);
      found.principal = await principals.update(found.principal.id, { enabled }, actor);
    },
    async createKey(name, label) {
      const found = find(name);
      const principalId = found.principal.id;
      const { secret, plaintext } = await keys.create({ principalId, label }, { principalId });
      found.keys.push({ id: secret.id, label, plaintext });
    },
    async deleteKey(name, label) {
      const found = find(name);
      const principalId = found.principal.id;
      await keys.delete({ id: take(found.keys, label).id, principalId }, { principalId });
    },
    async endKey(name, label, { atUs, actor }) {
      const id = find(name).keys.find((each) => each.label === label)?.id ?? "";
      await keys.update({ id }, { expiresAt: formatInstant(atUs), setter: "admin" }, actor);
    },
    async createRelayToken(name, label) {
      const found = find(name);
      const principalId = found.principal.id;
      const { secret, plaintext } = await relayTokens.create({ principalId, label }, { principalId });
      found.relayTokens.push({ id: secret.id, label, plaintext });
    },
    async deleteRelayToken(name, label) {
      const found = find(name);
      const principalId = found.principal.id;
      await relayTokens.delete({ id: take(found.relayTokens, label).id, principalId }, { principalId });
    },
  };
}

/** Removes the credential of exactly this label from the list. */
function take(credentials: Credential[], label: string): Credential {
  const index = credentials.findIndex((each) => each.label === label);
  const [taken] = index === -1 ? [] : credentials.splice(index, 1);
  if (taken === undefined) throw new Error(`there is no "${label}"`);
  return taken;
}

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

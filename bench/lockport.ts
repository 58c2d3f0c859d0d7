/** Lockport as it is measured: a built executable, pinned like the others, with a provider, a model and a key. */
import {
  launch,
  makeFolder,
  readVersion,
  type Contender,
  type Launched,
  type StartOptions,
} from "./contenders.ts";
import { BINARY, freePort } from "./executable.ts";

export interface RunningLockport extends Launched {
  readonly dataDir: string;
  /** The relay's path, which holds its token. */
  readonly relayPath: string;
  /** A JSON answer of its own routes; with a body it is a POST. */
  ask(path: string, body?: unknown): Promise<unknown>;
}

interface Lockport extends Contender {
  start(upstream: string, options?: StartOptions): Promise<RunningLockport>;
}

/** An executable with one provider, one priced model and one key. */
export function toLockport(binary = BINARY, name = "Lockport"): Lockport {
  return {
    name,
    version: readVersion(binary, "--version"),
    records: "a row a request in its ledger, begun before the upstream is called",
    async start(upstream, { dataDir: given, isOnAllCores }: StartOptions = {}) {
      const dataDir = given ?? makeFolder("lockport");
      const port = freePort();
      const env = {
        PATH: process.env["PATH"] ?? "",
        PROXY_DATA_DIR: dataDir,
        PROXY_PORT: String(port),
        PROXY_LOG: "warn",
        PROXY_MESSAGES_BASE_URL: upstream,
      };
      const command = (...words: string[]) => {
        const done = Bun.spawnSync([binary, ...words], { env, stderr: "pipe" });
        if (done.exitCode !== 0) throw new Error(`lockport ${words.join(" ")}: ${done.stderr.toString()}`);
        return done.stdout.toString();
      };
      const { key } = JSON.parse(command("admin", "bootstrap", "--json")) as { key: string };
      const origin = `http://127.0.0.1:${port}`;
      const authorization = `Bearer ${key}`;
      const ask = async (path: string, body?: unknown): Promise<unknown> => {
        const init = body === undefined ? {} : { method: "POST", body: JSON.stringify(body) };
        const headers = { authorization, "content-type": "application/json" };
        const response = await fetch(origin + path, { ...init, headers });
        if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`);
        return response.json();
      };
      const running = await launch({
        command: [binary, "serve"],
        port,
        env,
        isOnAllCores,
        headers: `authorization: ${authorization}\r\n`,
        ...(given === undefined ? { folder: dataDir } : {}),
        async countRecorded() {
          return ((await ask("/admin/v1/requests?limit=1")) as { total: number }).total;
        },
      });
      const provider = { name: "bench", base_url: `${upstream}/v1`, verify_tls: false };
      const { pricing, capabilities } = MODEL;
      await ask("/admin/v1/providers", provider);
      await ask("/admin/v1/models", {
        alias: "bench",
        provider: "bench",
        upstream_name: "bench-upstream",
        pricing,
        capabilities,
      });
      const { token } = (await ask("/my/relay-tokens", {})) as { token: string };
      return { ...running, dataDir, relayPath: `/transparent/messages/${token}/v1/messages`, ask };
    },
  };
}

const MODEL = {
  pricing: { input_tokens: 2.5, output_tokens: 10 },
  capabilities: ["chat", "chat_stream", "embeddings"],
};

/**
 * Other gateways beside which Lockport stands: Portkey from npm, LiteLLM from PyPI, and GoModel from an executable that is
 * named, because its module has no path that `go install` could fetch. They are installed once, under node_modules/.cache/bench.
 */
import { Database } from "bun:sqlite";
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { Absent, launch, makeFolder, type Contender } from "./contenders.ts";
import { freePort } from "./executable.ts";
import { CACHE } from "./wire.ts";

const INSTALL_SECONDS_MAX = 600;

const PORTKEY = "1.15.2";
/** Those of its own lockfile: with newer ones it answers every stream with 500. */
const PORTKEY_OVERRIDES = {
  hono: "4.9.7",
  "@hono/node-server": "1.13.5",
  "@hono/node-ws": "1.2.0",
  ws: "8.18.3",
  zod: "3.25.76",
  jose: "6.0.11",
  ioredis: "5.8.0",
};
/** Makes it listen on the loopback only, which it has no setting for. */
const LOOPBACK_ONLY =
  'data:text/javascript,import net from "node:net";const listen=net.Server.prototype.listen;net.Server.prototype.listen=function(port,...rest){return listen.call(this,{port:Number(port),host:"127.0.0.1",backlog:16384},...rest.filter((it)=>typeof it==="function"))}';

const LITELLM = "1.103.2";
const LITELLM_RECORDER = `import json
from litellm.integrations.custom_logger import CustomLogger

class Recorder(CustomLogger):
    def __init__(self):
        super().__init__()
        self.file = open("usage.jsonl", "a", buffering=1)

    async def async_log_success_event(self, kwargs, response_obj, start_time, end_time):
        usage = getattr(response_obj, "usage", None)
        self.file.write(json.dumps({
            "model": kwargs.get("model"), "cost": kwargs.get("response_cost"), "start": str(start_time), "end": str(end_time),
            "input": getattr(usage, "prompt_tokens", None), "output": getattr(usage, "completion_tokens", None),
        }) + "\\n")

recorder = Recorder()
`;

/** Installs once: what was not finished is begun anew. */
function install(name: string, work: (folder: string) => readonly (readonly string[])[]): string {
  const folder = join(CACHE, name);
  const mark = join(folder, "installed");
  if (existsSync(mark)) return folder;
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const deadline = performance.now() + INSTALL_SECONDS_MAX * 1000;
  for (const command of work(folder)) {
    if (Bun.which(command[0] ?? "", { cwd: folder }) === null)
      throw new Absent(`${command[0]} is not installed`);
    const timeout = Math.max(1, Math.round(deadline - performance.now()));
    const done = Bun.spawnSync([...command], { cwd: folder, timeout, stderr: "pipe", stdout: "pipe" });
    if (done.exitCode === 0) continue;
    const told = done.stderr.toString().trim().split("\n").at(-1)?.slice(0, 200);
    throw new Absent(
      `${command.slice(0, 3).join(" ")} failed: ${told || `no end within ${INSTALL_SECONDS_MAX} s`}`,
    );
  }
  writeFileSync(mark, "");
  return folder;
}

export function toPortkey(): Contender {
  const folder = install(`portkey-${PORTKEY}`, (at) => {
    const wanted = {
      private: true,
      dependencies: { "@portkey-ai/gateway": PORTKEY },
      overrides: PORTKEY_OVERRIDES,
    };
    writeFileSync(join(at, "package.json"), JSON.stringify(wanted));
    return [["npm", "install", "--ignore-scripts", "--no-audit", "--no-fund"]];
  });
  return {
    name: "Portkey",
    version: PORTKEY,
    records: null,
    async start(upstream) {
      const port = freePort();
      const script = join(folder, "node_modules/@portkey-ai/gateway/build/start-server.js");
      return launch({
        command: ["node", "--import", LOOPBACK_ONLY, script, "--headless", `--port=${port}`],
        port,
        cwd: folder,
        env: {
          PATH: process.env["PATH"] ?? "",
          NODE_ENV: "production",
          NODE_TLS_REJECT_UNAUTHORIZED: "0",
          TRUSTED_CUSTOM_HOSTS: "127.0.0.1,localhost",
        },
        headers: `authorization: Bearer none\r\nx-portkey-provider: openai\r\nx-portkey-custom-host: ${upstream}/v1\r\n`,
      });
    },
  };
}

/** Its own database wants Postgres and a program fetched from elsewhere; a callback of a few lines that appends to a file is its cheapest. */
export function toLitellm(): Contender {
  const folder = install(`litellm-${LITELLM}`, () => [
    ["python3", "-m", "venv", "venv"],
    ["venv/bin/pip", "install", "--no-compile", "--disable-pip-version-check", `litellm[proxy]==${LITELLM}`],
  ]);
  return {
    name: "LiteLLM",
    version: LITELLM,
    records: "a line a request in a file, by a callback",
    async start(upstream, { isRecording = true } = {}) {
      const port = freePort();
      const home = makeFolder("litellm");
      const callbacks = isRecording ? "litellm_settings:\n  callbacks: recorder.recorder\n" : "";
      writeFileSync(join(home, "recorder.py"), LITELLM_RECORDER);
      writeFileSync(
        join(home, "config.yaml"),
        `model_list:\n  - model_name: bench\n    litellm_params:\n      model: openai/bench\n      api_base: ${upstream}/v1\n      api_key: none\n      input_cost_per_token: 0.0000025\n      output_cost_per_token: 0.00001\n${callbacks}general_settings:\n  master_key: sk-bench\n`,
      );
      const words = [
        "--config",
        "config.yaml",
        "--host",
        "127.0.0.1",
        "--port",
        String(port),
        "--num_workers",
        "1",
      ];
      return launch({
        command: [resolve(folder, "venv/bin/litellm"), ...words],
        port,
        cwd: home,
        folder: home,
        env: {
          PATH: process.env["PATH"] ?? "",
          HOME: home,
          LITELLM_LOCAL_MODEL_COST_MAP: "True",
          LITELLM_LOG: "ERROR",
          LITELLM_TELEMETRY: "False",
          SSL_VERIFY: "False",
        },
        headers: "authorization: Bearer sk-bench\r\n",
        async countRecorded() {
          const path = join(home, "usage.jsonl");
          return existsSync(path) && isRecording ? readFileSync(path, "utf8").split("\n").length - 1 : null;
        },
      });
    },
  };
}

export function toGomodel(binary: string | undefined): Contender {
  if (binary === undefined)
    throw new Absent(
      "its module is named gomodel, which no registry serves: build it and name it with --gomodel",
    );
  return {
    name: "GoModel",
    version: Bun.spawnSync([binary, "-version"]).stdout.toString().trim() || "built by hand",
    records: "a row a request in SQLite, collected for 5 s",
    async start(upstream, { isRecording = true } = {}) {
      const port = freePort();
      const home = makeFolder("gomodel");
      const path = join(home, "usage.db");
      return launch({
        command: [resolve(binary)],
        port,
        cwd: home,
        folder: home,
        env: {
          PATH: process.env["PATH"] ?? "",
          HOME: home,
          PORT: String(port),
          GOMODEL_MASTER_KEY: "bench",
          OPENAI_API_KEY: "none",
          OPENAI_BASE_URL: `${upstream}/v1`,
          STORAGE_TYPE: "sqlite",
          SQLITE_PATH: path,
          USAGE_ENABLED: String(isRecording),
          LOGGING_ENABLED: "false",
          LOG_LEVEL: "error",
          MODEL_LIST_URL: "",
          BODY_SIZE_LIMIT: "64M",
        },
        headers: "authorization: Bearer bench\r\n",
        async countRecorded() {
          if (!isRecording || !existsSync(path)) return null;
          const database = new Database(path, { readonly: true });
          const row = database.query<{ n: number }, []>("SELECT count(*) AS n FROM usage").get();
          database.close();
          return row?.n ?? null;
        },
      });
    },
  };
}

import { readFileSync, writeFileSync } from "node:fs";
import net from "node:net";
import { join } from "node:path";

/** A reverse proxy as people put it before a server: connections are kept, bodies are not held back. */
export interface Front {
  readonly port: number;
  /** The number of requests that it has passed on, by its own log, once that is complete. */
  stop(): Promise<number>;
}

export interface FrontKind {
  readonly name: string;
  /** From a list of arguments that makes it run in the foreground, in this folder, between these ports. */
  start(executable: string, folder: string, upstreamPort: number): Promise<Front>;
}

const START_MS_MAX = 20_000;
const POLL_MS = 20;
const LOG = "access.log";
/** A server that is named, and a time to connect to it: -1 where the request was refused before there was a connection. */
const HAPROXY_PASSED_ON = /^lockport \d/;

/** A port that is free now. */
async function findPort(): Promise<number> {
  const probe = net.createServer();
  await new Promise<void>((resolve) => probe.listen(0, "127.0.0.1", resolve));
  const address = probe.address();
  await new Promise((resolve) => probe.close(resolve));
  return address === null || typeof address === "string" ? 0 : address.port;
}

interface Running {
  readonly cmd: readonly string[];
  readonly folder: string;
  readonly port: number;
  /** True for a line of the log that tells of a request that was passed on. */
  readonly isPassedOn: (line: string) => boolean;
  /** The log is what it says, not a file. */
  readonly saysLog?: true;
}

async function run({ cmd, folder, port, isPassedOn, saysLog }: Running): Promise<Front> {
  const child = Bun.spawn({
    cmd: [...cmd],
    cwd: folder,
    env: { PATH: process.env["PATH"] ?? "", HOME: folder, XDG_DATA_HOME: folder, XDG_CONFIG_HOME: folder },
    stdout: saysLog === true ? Bun.file(join(folder, LOG)) : "ignore",
    stderr: "pipe",
  });
  const startMs = performance.now();
  while (!(await canConnect(port))) {
    if (child.exitCode !== null) throw new Error(await new Response(child.stderr).text());
    if (performance.now() - startMs > START_MS_MAX) throw new Error(`${cmd[0]} did not start`);
    await Bun.sleep(POLL_MS);
  }
  return {
    port,
    async stop() {
      child.kill("SIGTERM");
      await child.exited;
      return readFileSync(join(folder, LOG), "utf8").split("\n").filter(isPassedOn).length;
    },
  };
}

function canConnect(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = net.connect(port, "127.0.0.1");
    socket.on("connect", () => (socket.destroy(), resolve(true)));
    socket.on("error", () => resolve(false));
  });
}

export const FRONTS: readonly FrontKind[] = [
  {
    name: "nginx",
    async start(executable, folder, upstreamPort) {
      const port = await findPort();
      const temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map(
        (kind) => `${kind}_temp_path ${kind};`,
      );
      writeFileSync(
        join(folder, "nginx.conf"),
        `pid pid; daemon off; events {} http { ${temporary.join(" ")}
        log_format passed "$upstream_status"; access_log ${LOG} passed;
        upstream lockport { server 127.0.0.1:${upstreamPort}; keepalive 8; }
        server { listen 127.0.0.1:${port}; ignore_invalid_headers off; underscores_in_headers on;
          location / { proxy_pass http://lockport; proxy_http_version 1.1; proxy_set_header Connection "";
            proxy_request_buffering off; proxy_next_upstream off; } } }`,
      );
      const cmd = [executable, "-p", folder, "-c", "nginx.conf", "-e", "start.log"];
      return await run({ cmd, folder, port, isPassedOn: (line) => /^\d/.test(line) });
    },
  },
  {
    name: "haproxy",
    async start(executable, folder, upstreamPort) {
      const port = await findPort();
      writeFileSync(
        join(folder, "haproxy.cfg"),
        `global
  log stdout format raw local0
defaults
  mode http
  log global
  log-format "%s %Tc"
  timeout connect 5s
  timeout client 5s
  timeout server 5s
  retries 0
  http-reuse always
frontend in
  bind 127.0.0.1:${port}
  default_backend lockport
backend lockport
  server lockport 127.0.0.1:${upstreamPort}
`,
      );
      const cmd = [executable, "-db", "-f", "haproxy.cfg"];
      return await run({
        cmd,
        folder,
        port,
        isPassedOn: (line) => HAPROXY_PASSED_ON.test(line),
        saysLog: true,
      });
    },
  },
  {
    name: "caddy",
    async start(executable, folder, upstreamPort) {
      const port = await findPort();
      writeFileSync(
        join(folder, "Caddyfile"),
        `{
  admin off
  auto_https off
}
http://:${port} {
  bind 127.0.0.1
  log {
    output file ${LOG}
  }
  reverse_proxy 127.0.0.1:${upstreamPort} {
    flush_interval -1
    lb_retries 0
  }
}
`,
      );
      const cmd = [executable, "run", "--adapter", "caddyfile", "--config", "Caddyfile"];
      return await run({ cmd, folder, port, isPassedOn: (line) => line.startsWith("{") });
    },
  },
];

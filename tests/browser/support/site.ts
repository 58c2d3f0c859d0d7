import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Filled, FillOptions } from "../../../contrib/demo/fill.ts";
import { executable } from "../../support/executable.ts";
import { makeFolder } from "../../support/folder.ts";
import {
  CLIENT_ID,
  CLIENT_SECRET,
  startIdentityProvider,
  type AccountClaims,
  type IdentityProvider,
} from "../../support/identity-provider.ts";
import { provide, type Provided } from "../../support/installation.ts";
import { checkLedger } from "../../support/invariants.ts";
import { runProcess, startProcess, type RunningProcess } from "../../support/process.ts";
import { startUpstream, type ScriptedUpstream, type UpstreamScript } from "../../support/upstream.ts";
import { INSECURE_HOST } from "./chromium.ts";
import { copyDemo } from "./demo.ts";

export interface SiteOptions {
  /** Settings besides those that a site always has. */
  readonly env?: Readonly<Record<string, string>>;
  /** Begins with a demonstration's people, models and usage. Default: an installation at its first start. */
  readonly demo?: FillOptions;
  /** Works on the data folder before anything is started on it, after `demo`. */
  readonly prepare?: (dataDir: string) => Promise<unknown>;
  /** Starts an upstream with this script, and makes it the provider `lab` with these models. */
  readonly upstream?: { readonly script: UpstreamScript } & Pick<Provided, "models" | "pricing">;
  /** Single sign-on by an identity provider that knows these people. */
  readonly people?: Readonly<Record<string, AccountClaims>>;
}

export interface Site {
  /** `http://127.0.0.1:<port>`, without a slash at the end. */
  readonly url: string;
  readonly dataDir: string;
  readonly adminPassword: string;
  /** Null: without `demo`. */
  readonly filled: Filled | null;
  /** Null: without `upstream`. */
  readonly upstream: ScriptedUpstream | null;
  /** Null: without `people`. */
  readonly identityProvider: IdentityProvider | null;
  /** The server's output since it was last started. */
  output(): string;
  /** A local command on the data folder, while the server runs. */
  cli(...args: string[]): ReturnType<typeof runProcess>;
  /** An API key of `admin`, made when it is first asked for. */
  adminKey(): Promise<string>;
  /** Ends the server as a power cut would. `restart` brings it back. */
  crash(): Promise<void>;
  /** Ends the server and starts it again on the same port, with these settings besides its own. */
  restart(env?: Readonly<Record<string, string>>): Promise<void>;
  /** Ends it, fails where it ends badly or its ledger does not add up, and removes the folder. */
  stop(): Promise<void>;
}

/** The built executable as it is installed, on a data folder of its own and a free port; also `vm.test` may be its name. */
export async function startSite(options: SiteOptions = {}): Promise<Site> {
  const folder = makeFolder();
  const dataDir = join(folder.path, "data");
  const stops: (() => unknown)[] = [() => folder.remove()];
  const stopAll = async () => {
    for (const stop of stops.splice(0).toReversed()) await stop();
  };
  try {
    const filled = options.demo === undefined ? null : await copyDemo(options.demo, dataDir);
    await options.prepare?.(dataDir);
    const upstream = options.upstream === undefined ? null : await startUpstream(options.upstream);
    if (upstream !== null) stops.push(() => upstream.stop());
    const identityProvider = options.people === undefined ? null : await startIdentityProvider();
    if (identityProvider !== null) stops.push(() => identityProvider.stop());

    const lockport = await executable();
    const env: Record<string, string> = {
      PROXY_DATA_DIR: dataDir,
      PROXY_ALLOWED_HOSTS: INSECURE_HOST,
      ...(identityProvider !== null && {
        PROXY_OIDC_ISSUER: identityProvider.issuer,
        PROXY_OIDC_CLIENT_ID: CLIENT_ID,
        PROXY_OIDC_CLIENT_SECRET: CLIENT_SECRET,
      }),
      ...options.env,
    };
    let isDown = false;
    let server: RunningProcess = await startProcess([lockport], { env });
    stops.push(async () => {
      server.signal("SIGKILL");
      await server.exited;
    });
    const { url } = server;
    const cli = (...args: string[]) => runProcess([lockport, ...args], { env });
    let key: Promise<string> | null = null;
    const adminKey = () => (key ??= filled === null ? bootstrap(cli) : Promise.resolve(filled.adminKey));

    identityProvider?.serve({ redirectUri: `${url}/auth/callback`, accounts: options.people ?? {} });
    if (upstream !== null && options.upstream !== undefined) {
      const { models, pricing } = options.upstream;
      const provided = { name: "lab", baseUrl: upstream.baseUrl, models };
      await provide(url, await adminKey(), pricing === undefined ? provided : { ...provided, pricing });
    }
    return {
      url,
      dataDir,
      adminPassword: env["PROXY_ADMIN_PASSWORD"] ?? readPassword(dataDir),
      filled,
      upstream,
      identityProvider,
      output: () => server.output(),
      cli,
      adminKey,
      async crash() {
        server.signal("SIGKILL");
        await server.exited;
        isDown = true;
      },
      async restart(more = {}) {
        if (!isDown) await end(server);
        isDown = false;
        server = await startProcess([lockport], {
          env: { ...env, ...more },
          port: Number(new URL(url).port),
        });
      },
      async stop() {
        try {
          await end(server);
          // A demonstration's own test adds its many rows up.
          if (filled === null) checkLedger(dataDir, { isAtRest: true });
        } finally {
          await stopAll();
        }
      },
    };
  } catch (error) {
    await stopAll();
    throw error;
  }
}

async function bootstrap(cli: Site["cli"]): Promise<string> {
  const { code, data, messages } = await cli("admin", "bootstrap");
  if (code !== 0) throw new Error(`admin bootstrap failed: ${messages}`);
  return data.trim();
}

function readPassword(dataDir: string): string {
  const path = join(dataDir, "admin-password");
  return existsSync(path) ? readFileSync(path, "utf8").trim() : "";
}

async function end(server: RunningProcess): Promise<void> {
  const code = await server.stop();
  if (code !== 0) throw new Error(`the server ended with ${code}: ${server.output()}`);
}

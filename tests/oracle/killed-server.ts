import { join } from "node:path";
import { createSystemClock } from "#kernel/clock.ts";
import { makeFolder } from "../support/folder.ts";
import { checkLedger } from "../support/invariants.ts";
import { callApi } from "../support/installation.ts";

/** Both clocks are anchored by themselves, each 2 ms off at most. */
const SKEW_US = 10_000;

type Told =
  | { readonly kind: "set" }
  | { readonly kind: "started"; readonly url: string; readonly adminKey: string };

/** A server in a process of its own, which is killed at any moment and starts again on what it has left. */
export class KilledServer {
  readonly #folder = makeFolder();
  readonly #clock = createSystemClock();
  #aheadUs = 0;
  #child: Bun.Subprocess | null = null;
  #told = Promise.withResolvers<Told>();
  #url = "";
  #adminKey = "";
  kills = 0;

  async start(): Promise<void> {
    const started = this.#expect();
    const child = Bun.spawn({
      cmd: [
        process.execPath,
        "--no-env-file",
        join(import.meta.dir, "child-server.ts"),
        this.#dataDir,
        String(this.#aheadUs),
      ],
      stdio: ["ignore", "ignore", "inherit"],
      ipc: (told: Told) => this.#told.resolve(told),
      onExit: (ended, code) => {
        if (ended === this.#child) this.#told.reject(new Error(`the server ended with ${code}`));
      },
    });
    this.#child = child;
    const told = await started;
    if (told.kind !== "started") throw new Error("the server told something else");
    this.#url = told.url;
    this.#adminKey = told.adminKey;
  }

  api(method: string, path: string, body?: unknown): Promise<Response> {
    return callApi(this.#url, this.#adminKey, method, path, body);
  }

  /** SIGKILL, and the next start. */
  async kill(): Promise<void> {
    this.kills += 1;
    await this.#end("SIGKILL");
    await this.start();
  }

  /** Lets time pass. A moment on the server's clock, before all that it does from now on and behind all that it did. */
  async advance(us: number): Promise<number> {
    this.#aheadUs += us + 2 * SKEW_US;
    const set = this.#expect();
    this.#child?.send(this.#aheadUs);
    await set;
    return this.#clock.nowUs() + this.#aheadUs - SKEW_US;
  }

  /** Fails where its ledger does not add up. */
  async stop(): Promise<void> {
    await this.#end("SIGTERM");
    try {
      checkLedger(this.#dataDir, { isAtRest: true });
    } finally {
      this.#folder.remove();
    }
  }

  async #end(signal: NodeJS.Signals): Promise<void> {
    const child = this.#child;
    // What it tells by its end is expected.
    this.#child = null;
    child?.kill(signal);
    await child?.exited;
  }

  get #dataDir(): string {
    return join(this.#folder.path, "data");
  }

  #expect(): Promise<Told> {
    this.#told = Promise.withResolvers<Told>();
    return this.#told.promise;
  }
}

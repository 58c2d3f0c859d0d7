import type { Postgres } from "#storage/postgres/connection/postgres.ts";

/** Any role of the database may send hints, as many as it likes: what answers them is done 200 times a second at most. */
const HINT_MS_MIN = 5;

export interface HintsDeps {
  readonly postgres: Pick<Postgres, "all" | "listen">;
  readonly schema: string;
}

/**
 * Notifications that there is something to ask for. They say nothing by themselves, and whatever is told by one is found
 * without it by the next sign of life: any role may forge them, and may fill the queue of the server, so that none is sent.
 */
export class Hints {
  readonly #deps: HintsDeps;
  readonly #channel: string;

  constructor(deps: HintsDeps) {
    this.#deps = deps;
    this.#channel = toChannel(deps.schema);
  }

  /** Never within a transaction: a notification that is refused would take it along, and its COMMIT waits for all others'. */
  tell(): void {
    void this.#deps.postgres.all("SELECT pg_notify($1, '')", [this.#channel]).catch(() => undefined);
  }

  /** Returns what ends it. Those that come soon after another are one. */
  async listen(onHint: () => void): Promise<() => Promise<void>> {
    let timer: ReturnType<typeof setTimeout> | undefined;
    let heardMs = Number.NEGATIVE_INFINITY;
    const answer = () => {
      timer = undefined;
      heardMs = performance.now();
      onHint();
    };
    const hear = () => {
      if (timer !== undefined) return;
      const waitMs = heardMs + HINT_MS_MIN - performance.now();
      if (waitMs <= 0) answer();
      else timer = setTimeout(answer, waitMs);
    };
    const stop = await this.#deps.postgres.listen(this.#channel, hear, () => undefined);
    return async () => {
      clearTimeout(timer);
      await stop();
    };
  }
}

/** Its name cannot be longer than 63 bytes, as a schema's may be. */
function toChannel(schema: string): string {
  return `lockport_${new Bun.CryptoHasher("sha256").update(schema).digest("hex").slice(0, 32)}`;
}

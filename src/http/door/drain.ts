import type { InstantUs } from "#kernel/clock.ts";

/** A load balancer has asked for the health so often within that time; one that a person asked has not. */
const CHECKS = 3;
const CHECKS_WITHIN_US = 10_000_000;

/** Whether the server is being stopped: it answers what still comes, and each connection then ends with its answer. */
export class Drain {
  #hasBegun = false;
  #awaitsCheck = false;
  #checkedAtUs: readonly InstantUs[] = [];

  get hasBegun(): boolean {
    return this.#hasBegun;
  }

  /** True until a load balancer that looks at the health regularly has been told. */
  get awaitsCheck(): boolean {
    return this.#awaitsCheck;
  }

  begin(nowUs: InstantUs): void {
    const [firstUs = Number.NEGATIVE_INFINITY] = this.#checkedAtUs;
    this.#awaitsCheck = this.#checkedAtUs.length === CHECKS && nowUs - firstUs <= CHECKS_WITHIN_US;
    this.#hasBegun = true;
  }

  /** The health was asked for. */
  checked(nowUs: InstantUs): void {
    this.#checkedAtUs = [...this.#checkedAtUs, nowUs].slice(-CHECKS);
    this.#awaitsCheck = false;
  }

  /** Without it a caller would send its next request on a connection that is about to be closed (RFC 9112, section 9.6). */
  close(response: Response): Response {
    if (this.#hasBegun) response.headers.set("connection", "close");
    return response;
  }
}

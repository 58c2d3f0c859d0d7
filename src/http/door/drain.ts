/** Whether the server is being stopped: it answers what still comes, and each connection then ends with its answer. */
export class Drain {
  #hasBegun = false;

  get hasBegun(): boolean {
    return this.#hasBegun;
  }

  begin(): void {
    this.#hasBegun = true;
  }

  /** Without `connection: close` a caller would send its next request on a connection that is about to be closed (RFC 9112, section 9.6). */
  close(response: Response): Response {
    if (this.#hasBegun) response.headers.set("connection", "close");
    return response;
  }
}

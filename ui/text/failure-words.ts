import type { ConnectionFailure } from "#kernel/connection-failure.ts";

/** What to tell a person, behind "The provider was not reached: ". */
export const FAILURE_WORDS: { readonly [failure in ConnectionFailure]: string } = {
  refused: "it refused the connection",
  name_not_found: "its name was not found (DNS)",
  no_route: "there is no route to it",
  tls: "its certificate was not accepted, or it does not speak TLS",
  connect_timeout: "no connection within the connect timeout",
  read_timeout: "no answer within the read timeout",
  queue_timeout: "no place within max_concurrency before the read timeout",
  reset: "the connection closed before the answer had ended",
  malformed: "its answer was no HTTP that can be passed on",
};

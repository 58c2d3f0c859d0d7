/** Variables of a process. Names outside `PROXY_*` are other people's and are only read where a comment says so. */
export type Environment = { readonly [name: string]: string | undefined };

/** The only place that reads the environment of this process. It imports nothing: a server's first process loads no more. */
export function readEnvironment(): Environment {
  return { ...process.env };
}

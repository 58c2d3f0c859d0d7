/** A port of loopback that nothing listened on a moment ago, for programs that cannot take one of the system's choice. */
export function findFreePort(): number {
  const listener = Bun.listen({ hostname: "127.0.0.1", port: 0, socket: { data() {} } });
  listener.stop(true);
  return listener.port;
}

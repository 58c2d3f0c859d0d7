/** Whether the name of a host leads to an address, as this machine looks it up. An address does, and no name server is asked for it. */
export async function resolves(host: string): Promise<boolean> {
  // Not imported above: most processes ask for none.
  const { lookup } = process.getBuiltinModule("node:dns/promises");
  return await lookup(host).then(
    () => true,
    () => false,
  );
}

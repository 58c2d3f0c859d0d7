/** Whether the name of a host leads to an address, as this machine asks for it. An address as it is: no name server is asked. */
export async function resolves(host: string): Promise<boolean> {
  // Not imported above: most processes ask for none.
  const { lookup } = process.getBuiltinModule("node:dns/promises");
  return await lookup(host).then(
    () => true,
    () => false,
  );
}

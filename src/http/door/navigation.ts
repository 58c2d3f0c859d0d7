/** A browser that opens an address wants a page; a client of the API never lists HTML. */
export function isNavigation(headers: Headers): boolean {
  return /(?:^|[\s,])text\/html(?:[\s;,]|$)/i.test(headers.get("accept") ?? "");
}

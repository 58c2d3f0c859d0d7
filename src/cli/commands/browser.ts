/** What opens an address in the user's browser, by platform. */
const OPENERS: { readonly [platform: string]: readonly string[] } = {
  darwin: ["open"],
  win32: ["rundll32", "url.dll,FileProtocolHandler"],
};
const OPENER_DEFAULT = ["xdg-open"];
/** An opener hands the address over and ends; one that runs longer has become the browser. */
const HANDED_OVER_MS = 3_000;

/** Asks the desktop to open an address. False when there is none, or nothing on it that could. */
export async function openBrowser(url: string): Promise<boolean> {
  const opener = OPENERS[process.platform] ?? OPENER_DEFAULT;
  try {
    const child = Bun.spawn({
      cmd: [...opener, url],
      // A session of its own: Ctrl-C at the server does not close the browser.
      detached: true,
      stdio: ["ignore", "ignore", "ignore"],
    });
    child.unref();
    const timer = Promise.withResolvers<number>();
    const handedOver = setTimeout(() => timer.resolve(0), HANDED_OVER_MS);
    const code = await Promise.race([child.exited, timer.promise]);
    clearTimeout(handedOver);
    return code === 0;
  } catch {
    return false;
  }
}

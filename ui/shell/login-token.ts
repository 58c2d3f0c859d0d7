/** In the fragment, which no server and no log ever sees. */
const FRAGMENT = /^#login=([A-Za-z0-9_-]{1,200})$/;

/** The token of a one-time login link, which leaves the address at once. */
export function takeLoginToken(): string | null {
  const token = FRAGMENT.exec(globalThis.location.hash)?.[1] ?? null;
  if (token !== null) history.replaceState(history.state, "", globalThis.location.pathname);
  return token;
}

/** Loads the page again when a login link is pasted into its own tab: a change of the fragment alone loads nothing. */
export function reloadOnLoginLink(): void {
  globalThis.addEventListener("hashchange", () => {
    if (FRAGMENT.test(globalThis.location.hash)) globalThis.location.reload();
  });
}

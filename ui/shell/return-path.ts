import { isOwnPath } from "../search/pages.ts";

const STORAGE_KEY = "lockport.return";

/** Keeps the page that was open, for the way over an identity provider, which comes back to the first page. */
export function keepReturnPath(path: string): void {
  try {
    sessionStorage.setItem(STORAGE_KEY, path);
  } catch {
    // Then they come back to the first page.
  }
}

/** The path that was kept, once. */
export function takeReturnPath(): string | null {
  try {
    const path = sessionStorage.getItem(STORAGE_KEY);
    sessionStorage.removeItem(STORAGE_KEY);
    return path !== null && isOwnPath(path) ? path : null;
  } catch {
    return null;
  }
}

/** A page that stayed open while the server was upgraded asks for files that are gone: it is reloaded, once. */

import { OWN_SERVER } from "./api/client.ts";

/** The builds that a reload was tried for, with spaces between; it lasts as long as the tab. */
const STORAGE_KEY = "lockport.reloaded-for";
/** Chromium, Firefox and WebKit, in this order. */
const FAILED_IMPORT =
  /Failed to fetch dynamically imported module|error loading dynamically imported module|Importing a module script failed/i;

/** A part of the page that is loaded when it is needed could not be: it belongs to another build, or the server is away. */
export class PartMissing extends Error {
  override readonly name = "PartMissing";

  constructor(cause: unknown) {
    super(
      "This part of the page could not be loaded. Check that the server is reachable and reload the page.",
      {
        cause,
      },
    );
  }
}

/**
 * Watches for parts that could not be loaded and whose failure is not caught, for as long as the page lives, and calls
 * `reloadIfStale`. A caller that catches a `PartMissing` and has to show the part calls it itself.
 */
export function reloadOnceWhenStale(): void {
  window.addEventListener("unhandledrejection", ({ reason }) => {
    if (reason instanceof PartMissing || isFailedImport(reason)) void reloadIfStale();
  });
}

/**
 * `importPart(() => import("./page.tsx"))`: the module. Rejects with `PartMissing` when its file cannot be had; nothing is
 * reloaded then, since the part may only be wanted in advance.
 */
export async function importPart<Module>(load: () => Promise<Module>): Promise<Module> {
  try {
    return await load();
  } catch (cause) {
    throw isFailedImport(cause) ? new PartMissing(cause) : cause;
  }
}

let isReloading = false;

/**
 * Reloads the page when the server has another build than the one that is shown, at most once for each build. Returns
 * whether the page is being reloaded.
 */
export async function reloadIfStale(): Promise<boolean> {
  const served = await findServedBuild();
  if (isReloading) return true;
  if (served === null || served === readOwnBuild() || !claimReload(served)) return false;
  isReloading = true;
  location.reload();
  return true;
}

/** The build that is shown. */
export function readOwnBuild(): string | null {
  return document.querySelector<HTMLMetaElement>('meta[name="build-id"]')?.content ?? null;
}

/** The build that the server has now; null when it cannot be asked. */
export async function findServedBuild(): Promise<string | null> {
  try {
    const response = await fetch("/", { ...OWN_SERVER, cache: "no-store", credentials: "omit" });
    return response.ok
      ? (/<meta name="build-id" content="([^"]+)"/.exec(await response.text())?.[1] ?? null)
      : null;
  } catch {
    return null;
  }
}

/** False when it was tried for this build, or when nothing can be remembered: a page that always reloads is worse than a stale one. */
function claimReload(build: string): boolean {
  try {
    const tried = (sessionStorage.getItem(STORAGE_KEY) ?? "").split(" ");
    if (tried.includes(build)) return false;
    sessionStorage.setItem(STORAGE_KEY, [...tried, build].join(" ").trim());
    return true;
  } catch {
    return false;
  }
}

function isFailedImport(reason: unknown): boolean {
  return reason instanceof Error && FAILED_IMPORT.test(reason.message);
}

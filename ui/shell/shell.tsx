import { useQueryClient } from "@tanstack/react-query";
import { Outlet, useBlocker, useLocation, useRouter } from "@tanstack/react-router";
import { type ComponentType, useEffect, useMemo, useRef, useState } from "react";
import { KEYS } from "../api/keys.ts";
import { type Me, useMe } from "../api/session.ts";
import { IconButton } from "../components/button.tsx";
import { ErrorBoundary } from "../components/error-boundary.tsx";
import { Icon } from "../components/icon.tsx";
import { PartFailure } from "../components/on-demand.tsx";
import { hasUnsaved, mayDiscard } from "../form/unsaved.ts";
import { useOnDemand } from "../on-demand.ts";
import { importPart } from "../stale.ts";
import { BarAccountMenu, BarThemeMenu, Wordmark } from "./bar.tsx";
import { ConnectionBar } from "./connection.tsx";
import { type NavigationItem, NavigationList, pagesFor, titleOf } from "./navigation.tsx";
import type { Overlay } from "./overlays.tsx";
import { PALETTE_KEY, useShortcuts } from "./shortcuts.ts";
import type { SignInAgainProps } from "./sign-in-again.tsx";

const loadPalette = async () => (await import("./palette.tsx")).Palette;
const loadOverlays = async () => (await import("./overlays.tsx")).Overlays;

/** What stands around every page: the way to the others, who is signed in, and whether the server answers. */
export function Shell() {
  const me = useMe();
  const { SignInAgain } = useEndedSession(me);
  useBlocker({
    // Under a sign-in nobody could read a question: the page simply stays.
    shouldBlockFn: async () => hasUnsaved() && (!me.authenticated || !(await mayDiscard())),
    enableBeforeUnload: () => hasUnsaved(),
  });
  const pages = useMemo(() => pagesFor(me.role), [me.role]);
  const [open, setOpen] = useState<Overlay | "palette" | null>(null);
  const overlays = useOnDemand(loadOverlays);
  const palette = useOnDemand(loadPalette);
  const opener = useRef<HTMLElement>(null);
  const show = (next: Overlay | "palette") => {
    opener.current = document.activeElement instanceof HTMLElement ? document.activeElement : null;
    setOpen(next);
    (next === "palette" ? palette : overlays).want();
  };
  const showHelp = () => show("help");
  const showPalette = () => show("palette");
  useShortcuts(pages, { onHelp: showHelp, onPalette: showPalette });
  usePrefetchedPages(pages);
  const { pathname } = useLocation();
  const main = useAnnouncedPage(pathname);

  return (
    <div className="min-h-dvh lg:grid lg:grid-cols-[15rem_minmax(0,1fr)] print:block">
      <a
        href="#main"
        className="sr-only focus:not-sr-only focus:fixed focus:top-2 focus:left-2 focus:z-50 focus:rounded-md focus:bg-raised focus:px-3 focus:py-2"
      >
        Skip to the content
      </a>
      <aside className="sticky top-0 hidden h-dvh flex-col border-r border-line bg-surface lg:flex print:hidden">
        <div className="px-4 py-4">
          <Wordmark />
        </div>
        <div className="px-2 pb-3">
          <PaletteButton busy={palette.isWaiting} onClick={showPalette} />
        </div>
        <NavigationList role={me.role} />
        <div className="mt-auto flex items-center justify-between gap-1 border-t border-line p-2">
          <BarAccountMenu me={me} />
          <div className="flex items-center">
            <IconButton
              label="Keyboard shortcuts"
              icon="help"
              busy={overlays.isWaiting && open === "help"}
              onClick={showHelp}
            />
            <BarThemeMenu />
          </div>
        </div>
      </aside>
      <div className="flex min-w-0 flex-col">
        <header className="sticky top-0 z-20 flex items-center justify-between gap-2 border-b border-line bg-surface px-3 py-2 lg:hidden print:hidden">
          <div className="flex items-center gap-2">
            <IconButton
              label="Open the menu"
              icon="menu"
              busy={overlays.isWaiting && open === "menu"}
              onClick={() => show("menu")}
            />
            <Wordmark />
          </div>
          <div className="flex items-center">
            <IconButton label="Search" icon="search" busy={palette.isWaiting} onClick={showPalette} />
            <BarThemeMenu />
            <BarAccountMenu me={me} compact />
          </div>
        </header>
        <ConnectionBar />
        <main
          id="main"
          ref={main}
          tabIndex={-1}
          className="w-full min-w-0 flex-1 p-4 outline-none sm:p-6 print:p-0"
        >
          <ErrorBoundary key={me.name} resetKey={pathname}>
            <Outlet />
          </ErrorBoundary>
        </main>
      </div>
      {overlays.Part !== null && (
        <overlays.Part
          open={open === "palette" ? null : open}
          onClose={() => setOpen(null)}
          toFinalFocus={() => opener.current}
          role={me.role}
          pages={pages}
        />
      )}
      {palette.Part !== null && (
        <palette.Part
          open={open === "palette"}
          onClose={() => setOpen(null)}
          onHelp={showHelp}
          toFinalFocus={() => opener.current}
          isAdmin={me.role === "admin"}
          pages={pages}
        />
      )}
      <PartFailure {...overlays} />
      <PartFailure {...palette} />
      {SignInAgain !== null && <SignInAgain me={me} />}
    </div>
  );
}

/** Looks like the field that it opens. */
function PaletteButton({ busy, onClick }: { readonly busy: boolean; readonly onClick: () => void }) {
  return (
    <button
      type="button"
      aria-haspopup="dialog"
      aria-busy={busy || undefined}
      onClick={onClick}
      className="flex h-8 w-full items-center gap-2.5 rounded-md border border-line bg-bg px-2 text-sm text-ink-soft hover:border-line-strong hover:text-ink"
    >
      <Icon name="search" />
      <span className="flex-1 text-left">Search</span>
      <kbd className="font-mono text-xs text-ink-faint">{PALETTE_KEY}</kbd>
    </button>
  );
}

/** A new page takes the tab's title and, when it was opened by hand, the focus: a screen reader then begins there. */
function useAnnouncedPage(pathname: string) {
  const main = useRef<HTMLElement>(null);
  const shown = useRef<string | null>(null);
  useEffect(() => {
    document.title = pathname === "/" ? "Lockport" : `${titleOf(pathname)} · Lockport`;
    if (shown.current !== null && shown.current !== pathname) main.current?.focus({ preventScroll: true });
    shown.current = pathname;
  }, [pathname]);
  return main;
}

interface EndedSession {
  /** What is shown above the page, which stays as it is; null while a person is signed in. */
  readonly SignInAgain: ComponentType<SignInAgainProps> | null;
}

/**
 * Watches for the end of the session, and for the next one: once the same person is back, everything is refetched; another
 * one sees nothing that was asked for by the one before.
 */
function useEndedSession({ authenticated, name }: Me): EndedSession {
  const queryClient = useQueryClient();
  const router = useRouter();
  const [Part, setPart] = useState<ComponentType<SignInAgainProps> | null>(null);
  useEffect(() => {
    if (authenticated) return;
    importPart(() => import("./sign-in-again.tsx")).then(
      ({ SignInAgain }) => setPart(() => SignInAgain),
      // To the page that is for it.
      () => router.invalidate(),
    );
  }, [authenticated, router]);

  const shown = useRef({ authenticated, name });
  useEffect(() => {
    const before = shown.current;
    shown.current = { authenticated, name };
    const asked = { predicate: isAskedByPerson };
    if (before.name !== name) void queryClient.resetQueries(asked);
    else if (authenticated && !before.authenticated) void queryClient.invalidateQueries(asked);
  }, [authenticated, name, queryClient]);
  return { SignInAgain: authenticated ? null : Part };
}

function isAskedByPerson({ queryKey }: { readonly queryKey: readonly unknown[] }): boolean {
  return queryKey[0] !== KEYS.me[0];
}

/** The first page, its figures and whatever is pressed at once go before the first, and a pause before each of the others. */
const AFTER_MS = 5_000;

/**
 * Loads the other pages' files in advance, so that a page opens at once: one each time that the browser has had a pause and has
 * nothing else to do. Not for a reader who asks for little data.
 */
function usePrefetchedPages(pages: readonly NavigationItem[]): void {
  const router = useRouter();
  useEffect(() => {
    if (hasLittleData()) return undefined;
    let timer = 0;
    const prefetch = async ([next, ...others]: readonly NavigationItem[]) => {
      if (next === undefined) return;
      await untilIdle();
      if (timer === ENDED) return;
      // Only in advance: what cannot be had now is asked for again when it is opened.
      await router.preloadRoute({ to: next.to }).catch(() => null);
      if (timer !== ENDED) wait(others);
    };
    const wait = (next: readonly NavigationItem[]) => {
      timer = window.setTimeout(() => void prefetch(next), AFTER_MS);
    };
    wait(pages);
    return () => {
      clearTimeout(timer);
      timer = ENDED;
    };
  }, [router, pages]);
}

/** No timer has this id. */
const ENDED = -1;

/** WebKit has no idle callback: a task of its own is as near as it comes. */
async function untilIdle(): Promise<void> {
  await new Promise<void>((resolve) => {
    if ("requestIdleCallback" in globalThis) requestIdleCallback(() => resolve());
    else setTimeout(resolve, 200);
  });
}

function hasLittleData(): boolean {
  const connection: unknown = Reflect.get(navigator, "connection");
  return connection instanceof Object && Reflect.get(connection, "saveData") === true;
}

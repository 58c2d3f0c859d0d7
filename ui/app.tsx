import { CSPProvider } from "@base-ui/react/csp-provider";
import { MutationCache, QueryCache, QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { type AnyRoute, RouterProvider } from "@tanstack/react-router";
import { useState } from "react";
import { ApiFailure } from "./api/failure.ts";
import { KEYS } from "./api/keys.ts";
import { type Me, meQuery } from "./api/session.ts";
import { ToastProvider } from "./components/toast.tsx";
import { createPageRouter } from "./router.tsx";
import { ConnectionContext, createConnection } from "./shell/connection.tsx";

const RETRIES_MAX = 2;
const FRESH_MS = 30_000;

/** The page: its cache of answers, its addresses, and what every part of it may ask for. */
export function App({ loginToken }: { readonly loginToken: string | null }) {
  const [{ queryClient, router, connection }] = useState(() => createPage(loginToken));
  return (
    <CSPProvider disableStyleElements>
      <QueryClientProvider client={queryClient}>
        <ConnectionContext value={connection}>
          <ToastProvider>
            <RouterProvider router={router} />
          </ToastProvider>
        </ConnectionContext>
      </QueryClientProvider>
    </CSPProvider>
  );
}

function createPage(loginToken: string | null) {
  const onError = (failure: unknown) => {
    connection.noteFailure(failure);
    if (isSessionOver(failure) || isDemoted(failure)) void askWhoIsIn();
  };
  const queryClient = new QueryClient({
    queryCache: new QueryCache({ onError }),
    mutationCache: new MutationCache({ onError }),
    defaultOptions: {
      queries: {
        staleTime: FRESH_MS,
        // The server may be on this machine: whether there is an internet says nothing.
        networkMode: "always",
        retry: (count, failure) => count < RETRIES_MAX && isWorthRetrying(failure),
      },
      mutations: { networkMode: "always", retry: false },
    },
  });
  const connection = createConnection(queryClient);
  const router = createPageRouter({ queryClient, loginToken });
  loadMatched(router);

  let asking = false;
  /** Asks who is signed in: the shell shows what that person may see, and offers a sign-in to a person whose session has ended. */
  const askWhoIsIn = async () => {
    if (asking || queryClient.getQueryData<Me>(KEYS.me)?.authenticated === false) return;
    asking = true;
    try {
      await queryClient.fetchQuery({ ...meQuery(), staleTime: 0 });
    } catch {
      // The server does not answer: the next question finds out again.
    } finally {
      asking = false;
    }
  };
  return { queryClient, router, connection };
}

/** The page of the address is loaded beside the question who is signed in, and not after its answer. */
function loadMatched(router: ReturnType<typeof createPageRouter>): void {
  const routes: { readonly [id: string]: AnyRoute } = router.routesById;
  const matches: readonly { readonly routeId: string }[] = router.matchRoutes(router.latestLocation);
  for (const { routeId } of matches) {
    const route = routes[routeId];
    // A part that cannot be had now is asked for again when it is drawn.
    if (route !== undefined) void router.loadRouteChunk(route)?.catch(() => null);
  }
}

/** An administrator's page was refused to who is shown as one. */
function isDemoted(failure: unknown): boolean {
  return failure instanceof ApiFailure && failure.code === "admin_required";
}

function isSessionOver(failure: unknown): boolean {
  return failure instanceof ApiFailure && failure.status === 401 && failure.code === "missing_api_key";
}

/** A refusal is an answer; only what may pass by itself is asked again. */
function isWorthRetrying(failure: unknown): boolean {
  return failure instanceof ApiFailure && (failure.code === "offline" || failure.status >= 500);
}

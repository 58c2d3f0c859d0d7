import type { QueryClient } from "@tanstack/react-query";
import {
  createRootRouteWithContext,
  createRoute,
  createRouter,
  lazyRouteComponent,
  redirect,
  useLocation,
} from "@tanstack/react-router";
import { meQuery } from "./api/session.ts";
import { Card } from "./components/card.tsx";
import { PageHead } from "./components/page-head.tsx";
import { Skeleton } from "./components/skeleton.tsx";
import { hasUnsaved } from "./form/unsaved.ts";
import { takeReturnPath } from "./shell/return-path.ts";
import { PATIENCE_MS } from "./on-demand.ts";
import { RootFailure, RouteFailure } from "./shell/route-failure.tsx";
import { titleOf } from "./shell/navigation.tsx";
import { Shell } from "./shell/shell.tsx";
import { importPart } from "./stale.ts";
import {
  readAuditSearch,
  readLimitsSearch,
  readListSearch,
  readModelsSearch,
  readOverviewSearch,
  readPeopleSearch,
  readPlaygroundSearch,
  readErrorsSearch,
  readRepricingSearch,
  readRequestsSearch,
  readSignInSearch,
  readStatementSearch,
  readUsageSearch,
  readWhatIfSearch,
} from "./search/pages.ts";
import { parseQueryString, toQueryString } from "./search/query-string.ts";

export interface RouterContext {
  readonly queryClient: QueryClient;
  /** From the address that `lockport serve` prints; it signs in once. */
  readonly loginToken: string | null;
}

const root = createRootRouteWithContext<RouterContext>()({
  errorComponent: RootFailure,
});

const signIn = createRoute({
  getParentRoute: () => root,
  path: "/sign-in",
  validateSearch: readSignInSearch,
  component: lazyRouteComponent(() => importPart(() => import("./pages/sign-in.tsx")), "SignInPage"),
  errorComponent: RootFailure,
  pendingMs: Infinity,
});

/** Everything but the sign-in: who is not signed in goes there, and comes back to where they were. */
const shell = createRoute({
  getParentRoute: () => root,
  id: "shell",
  beforeLoad: async ({ context, location }) => {
    // The way back was held: the router then loads the page that stayed, and another one would discard what is typed in it.
    if (hasUnsaved()) return;
    const me = await context.queryClient.ensureQueryData(meQuery());
    if (!me.authenticated || context.loginToken !== null) {
      throw redirect({ to: "/sign-in", search: location.href === "/" ? {} : { next: location.href } });
    }
    // The identity provider leads back to the first page, whatever was asked for before.
    const returnPath = takeReturnPath();
    if (returnPath !== null && returnPath !== location.href) throw redirect({ href: returnPath });
  },
  component: Shell,
  errorComponent: RootFailure,
  // Until it is known who is signed in, the frame of the html stands.
  pendingMs: Infinity,
});

const overview = createRoute({
  getParentRoute: () => shell,
  path: "/",
  validateSearch: readOverviewSearch,
  component: lazyRouteComponent(() => importPart(() => import("./pages/overview.tsx")), "OverviewPage"),
});
const usage = createRoute({
  getParentRoute: () => shell,
  path: "/usage",
  validateSearch: readUsageSearch,
  component: lazyRouteComponent(() => importPart(() => import("./pages/usage.tsx")), "UsagePage"),
});
const statement = createRoute({
  getParentRoute: () => shell,
  path: "/statement",
  validateSearch: readStatementSearch,
  component: lazyRouteComponent(() => importPart(() => import("./pages/statement.tsx")), "StatementPage"),
});
const requests = createRoute({
  getParentRoute: () => shell,
  path: "/requests",
  validateSearch: readRequestsSearch,
  component: lazyRouteComponent(() => importPart(() => import("./pages/requests.tsx")), "RequestsPage"),
});
const errors = createRoute({
  getParentRoute: () => shell,
  path: "/errors",
  validateSearch: readErrorsSearch,
  component: lazyRouteComponent(() => importPart(() => import("./pages/errors.tsx")), "ErrorsPage"),
});
const models = createRoute({
  getParentRoute: () => shell,
  path: "/models",
  validateSearch: readModelsSearch,
  component: lazyRouteComponent(() => importPart(() => import("./pages/models.tsx")), "ModelsPage"),
});
const whatIf = createRoute({
  getParentRoute: () => shell,
  path: "/models/what-if",
  validateSearch: readWhatIfSearch,
  component: lazyRouteComponent(() => importPart(() => import("./pages/models/what-if.tsx")), "WhatIfPage"),
});
const playground = createRoute({
  getParentRoute: () => shell,
  path: "/playground",
  validateSearch: readPlaygroundSearch,
  component: lazyRouteComponent(() => importPart(() => import("./pages/playground.tsx")), "PlaygroundPage"),
});
const keys = createRoute({
  getParentRoute: () => shell,
  path: "/keys",
  validateSearch: readListSearch,
  component: lazyRouteComponent(() => importPart(() => import("./pages/secrets.tsx")), "KeysPage"),
});
const relayTokens = createRoute({
  getParentRoute: () => shell,
  path: "/relay-tokens",
  validateSearch: readListSearch,
  component: lazyRouteComponent(() => importPart(() => import("./pages/secrets.tsx")), "RelayTokensPage"),
});

const settings = createRoute({
  getParentRoute: () => shell,
  path: "/settings",
  component: lazyRouteComponent(() => importPart(() => import("./pages/settings.tsx")), "SettingsPage"),
});

/** The server decides what an administrator may do; here it only spares a member pages of refusals. */
const admin = createRoute({
  getParentRoute: () => shell,
  id: "admin",
  component: lazyRouteComponent(() => importPart(() => import("./shell/admin-only.tsx")), "AdminOnly"),
});
const setup = createRoute({
  getParentRoute: () => admin,
  path: "/setup",
  component: lazyRouteComponent(() => importPart(() => import("./pages/setup.tsx")), "SetupPage"),
});
const providers = createRoute({
  getParentRoute: () => admin,
  path: "/providers",
  validateSearch: readListSearch,
  component: lazyRouteComponent(() => importPart(() => import("./pages/providers.tsx")), "ProvidersPage"),
});
const people = createRoute({
  getParentRoute: () => admin,
  path: "/people",
  validateSearch: readPeopleSearch,
  component: lazyRouteComponent(() => importPart(() => import("./pages/people.tsx")), "PeoplePage"),
});
const limits = createRoute({
  getParentRoute: () => admin,
  path: "/limits",
  validateSearch: readLimitsSearch,
  component: lazyRouteComponent(() => importPart(() => import("./pages/limits.tsx")), "LimitsPage"),
});
const prices = createRoute({
  getParentRoute: () => admin,
  path: "/models/prices",
  validateSearch: readListSearch,
  component: lazyRouteComponent(() => importPart(() => import("./pages/models/prices.tsx")), "PricesPage"),
});
const repricing = createRoute({
  getParentRoute: () => admin,
  path: "/models/repricing",
  validateSearch: readRepricingSearch,
  component: lazyRouteComponent(
    () => importPart(() => import("./pages/models/repricing.tsx")),
    "RepricingPage",
  ),
});
const reconcile = createRoute({
  getParentRoute: () => admin,
  path: "/reconcile",
  component: lazyRouteComponent(() => importPart(() => import("./pages/reconcile.tsx")), "ReconcilePage"),
});
const audit = createRoute({
  getParentRoute: () => admin,
  path: "/audit",
  validateSearch: readAuditSearch,
  component: lazyRouteComponent(() => importPart(() => import("./pages/audit.tsx")), "AuditPage"),
});

/** Addresses that the page had before lead to where their content is now, with what they ask for. */
const formerCatalog = createRoute({
  getParentRoute: () => shell,
  path: "/catalogue",
  validateSearch: readModelsSearch,
  beforeLoad: ({ search }) => {
    throw redirect({ to: "/models", search, replace: true });
  },
});
const formerPrices = createRoute({
  getParentRoute: () => shell,
  path: "/pricing",
  validateSearch: readListSearch,
  beforeLoad: ({ search }) => {
    throw redirect({ to: "/models/prices", search, replace: true });
  },
});

/** Whatever no page has, inside the shell. */
const unknown = createRoute({
  getParentRoute: () => shell,
  path: "$",
  component: lazyRouteComponent(() => importPart(() => import("./pages/not-found.tsx")), "NotFoundPage"),
});

const routeTree = root.addChildren([
  signIn,
  shell.addChildren([
    overview,
    usage,
    statement,
    requests,
    errors,
    models,
    whatIf,
    playground,
    keys,
    relayTokens,
    settings,
    formerCatalog,
    formerPrices,
    unknown,
    admin.addChildren([setup, providers, people, limits, prices, repricing, reconcile, audit]),
  ]),
]);

/** A page whose file is on its way: its title at once, and grey where its content will be. */
function RoutePending() {
  const { pathname } = useLocation();
  return (
    <div aria-busy>
      <PageHead title={titleOf(pathname)} />
      <Card>
        <Skeleton className="h-96 w-full" />
      </Card>
    </div>
  );
}

/** Every page and what its address may hold. */
export function createPageRouter(context: RouterContext) {
  return createRouter({
    routeTree,
    context,
    parseSearch: parseQueryString,
    stringifySearch: toQueryString,
    defaultPreload: "intent",
    // What is shown is asked for by the pages themselves, and kept by the query cache.
    defaultPreloadStaleTime: 0,
    defaultErrorComponent: RouteFailure,
    defaultPendingComponent: RoutePending,
    defaultPendingMs: PATIENCE_MS,
    defaultPendingMinMs: 0,
    scrollRestoration: true,
  });
}

declare module "@tanstack/react-router" {
  interface Register {
    router: ReturnType<typeof createPageRouter>;
  }
}

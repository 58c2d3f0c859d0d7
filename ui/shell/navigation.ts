import type { IconName } from "../components/icon.tsx";

export interface NavigationItem {
  readonly to: string;
  readonly label: string;
  readonly icon: IconName;
  /** The second key after `g`. */
  readonly key: string;
  /** A second key that works as well, and is not shown. */
  readonly formerKey?: string;
}

/** What everyone sees. */
export const MEMBER_PAGES: readonly NavigationItem[] = [
  { to: "/", label: "Overview", icon: "overview", key: "o" },
  { to: "/usage", label: "My usage", icon: "usage", key: "u" },
  { to: "/requests", label: "Requests", icon: "requests", key: "r" },
  { to: "/errors", label: "Errors", icon: "errors", key: "e" },
  { to: "/models", label: "Models", icon: "models", key: "m", formerKey: "c" },
  { to: "/playground", label: "Playground", icon: "playground", key: "p" },
  { to: "/keys", label: "My keys", icon: "key", key: "k" },
  { to: "/relay-tokens", label: "Relay tokens", icon: "token", key: "t" },
  { to: "/settings", label: "Settings", icon: "settings", key: "s" },
];

/** What only administrators see. */
export const ADMIN_PAGES: readonly NavigationItem[] = [
  { to: "/providers", label: "Providers", icon: "provider", key: "v" },
  { to: "/people", label: "People & keys", icon: "people", key: "h" },
  { to: "/limits", label: "Limits", icon: "limit", key: "l" },
  { to: "/audit", label: "Audit", icon: "audit", key: "a" },
];

/** A section of the models, which has a key and no line in the navigation. */
const PRICES: NavigationItem = { to: "/models/prices", label: "Prices", icon: "pricing", key: "i" };

/** Every page that has a key, by role. */
export function pagesFor(role: string | undefined): readonly NavigationItem[] {
  return role === "admin" ? [...MEMBER_PAGES, PRICES, ...ADMIN_PAGES] : MEMBER_PAGES;
}

/** The title of the browser's tab, and what is announced when a page is opened. */
export function titleOf(pathname: string): string {
  if (pathname === "/setup") return "Setup";
  return pagesFor("admin").find(({ to }) => to === pathname)?.label ?? "Page not found";
}

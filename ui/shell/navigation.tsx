import { Link } from "@tanstack/react-router";
import { useId } from "react";
import { Icon, type IconName } from "../components/icon.tsx";

export interface NavigationItem {
  readonly to: string;
  readonly label: string;
  readonly icon: IconName;
  /** The second key after `g`. */
  readonly key: string;
  /** A second key that works as well, and is not shown. */
  readonly formerKey?: string;
}

/** Pages for everyone. */
export const MEMBER_PAGES: readonly NavigationItem[] = [
  { to: "/", label: "Overview", icon: "overview", key: "o" },
  { to: "/usage", label: "My usage", icon: "usage", key: "u" },
  { to: "/statement", label: "Statement", icon: "statement", key: "f" },
  { to: "/requests", label: "Requests", icon: "requests", key: "r" },
  { to: "/errors", label: "Errors", icon: "errors", key: "e" },
  { to: "/models", label: "Models", icon: "models", key: "m", formerKey: "c" },
  { to: "/playground", label: "Playground", icon: "playground", key: "p" },
  { to: "/keys", label: "My keys", icon: "key", key: "k" },
  { to: "/relay-tokens", label: "Relay tokens", icon: "token", key: "t" },
  { to: "/settings", label: "Settings", icon: "settings", key: "s" },
];

/** Pages for administrators only. */
export const ADMIN_PAGES: readonly NavigationItem[] = [
  { to: "/providers", label: "Providers", icon: "provider", key: "v" },
  { to: "/people", label: "People & keys", icon: "people", key: "h" },
  { to: "/limits", label: "Budgets & limits", icon: "limit", key: "l" },
  { to: "/reconcile", label: "Reconcile", icon: "bill", key: "b" },
  { to: "/audit", label: "Audit", icon: "audit", key: "a" },
];

/** Sections of the models, which have a key and no line in the navigation. */
const SECTIONS: readonly NavigationItem[] = [
  { to: "/models/prices", label: "Prices", icon: "pricing", key: "i" },
  { to: "/models/repricing", label: "Re-pricing", icon: "pricing", key: "n" },
];

/** Every page that has a key, by role. */
export function pagesFor(role: string | undefined): readonly NavigationItem[] {
  return role === "admin" ? [...MEMBER_PAGES, ...SECTIONS, ...ADMIN_PAGES] : MEMBER_PAGES;
}

/** The title of the browser's tab, and what is announced when a page is opened. */
export function titleOf(pathname: string): string {
  if (pathname === "/setup") return "Setup";
  if (pathname === "/models/what-if") return "What if";
  return pagesFor("admin").find(({ to }) => to === pathname)?.label ?? "Page not found";
}

export interface NavigationListProps {
  readonly role: string | undefined;
  readonly onNavigate?: () => void;
}

/** The pages, in two groups; a member sees the first alone. */
export function NavigationList({ role, onNavigate }: NavigationListProps) {
  return (
    <nav aria-label="Pages" className="flex flex-col gap-4 overflow-y-auto px-2 pb-4">
      <Group pages={MEMBER_PAGES} onNavigate={onNavigate} />
      {role === "admin" && <Group heading="Administration" pages={ADMIN_PAGES} onNavigate={onNavigate} />}
    </nav>
  );
}

interface GroupProps {
  readonly heading?: string;
  readonly pages: readonly NavigationItem[];
  readonly onNavigate: (() => void) | undefined;
}

function Group({ heading, pages, onNavigate }: GroupProps) {
  const id = useId();
  return (
    <div>
      {/* No heading: the first one that is read is the page's. */}
      {heading !== undefined && (
        <p id={id} className="px-2 pb-1 text-xs font-medium tracking-wide text-ink-faint">
          {heading}
        </p>
      )}
      <ul aria-labelledby={heading && id} className="flex flex-col gap-0.5">
        {pages.map((page) => (
          <li key={page.to}>
            <Link
              to={page.to}
              {...(onNavigate !== undefined && { onClick: onNavigate })}
              activeOptions={{ exact: page.to === "/", includeSearch: false }}
              className="flex items-center gap-2.5 rounded-md px-2 py-1.5 text-sm text-ink-soft hover:bg-raised hover:text-ink data-[status=active]:bg-accent-soft data-[status=active]:font-medium data-[status=active]:text-ink"
            >
              <Icon name={page.icon} />
              {page.label}
            </Link>
          </li>
        ))}
      </ul>
    </div>
  );
}

import type { IconName } from "../components/icon.tsx";
import { toPlace } from "../components/entity-link.tsx";
import type { NavigationItem } from "./navigation.ts";
import { THEME_ICONS, THEME_LABELS, THEMES, type Theme } from "./theme.ts";

/** One line of the palette. */
export interface Command {
  readonly id: string;
  readonly label: string;
  /** Beside it: what kind of thing it is, or the keys that do the same. */
  readonly detail?: string | undefined;
  readonly icon: IconName;
  readonly does: Deed;
}

export type Deed =
  | { readonly kind: "go"; readonly to: string; readonly search: object }
  | { readonly kind: "theme"; readonly theme: Theme }
  | { readonly kind: "help" }
  | { readonly kind: "sign-out" };

export interface CommandGroup {
  readonly label: string;
  readonly items: readonly Command[];
}

export interface PaletteSources {
  readonly pages: readonly NavigationItem[];
  readonly isAdmin: boolean;
  readonly models: readonly { readonly id: string; readonly provider?: string | undefined }[];
  readonly providers: readonly { readonly name: string }[];
  readonly people: readonly { readonly id: string; readonly name: string }[];
  readonly keys: readonly {
    readonly id: string;
    readonly label: string;
    readonly key_suffix: string;
    readonly principal?: string;
  }[];
}

/** Names of one kind that are listed; more letters find the others. */
const SHOWN_MAX = 6;
/** Ids of requests are UUIDs. */
const REQUEST_ID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/** What can be chosen for what is typed: without anything the pages and actions, and then whatever has it in its name. */
export function toCommandGroups(sources: PaletteSources, typed: string): readonly CommandGroup[] {
  const wanted = typed.trim().toLowerCase();
  const names = wanted === "" ? [] : toNames(sources).map((group) => toMatching(group, wanted, SHOWN_MAX));
  const groups = [
    toMatching({ label: "Pages", items: sources.pages.map(toPage) }, wanted),
    ...names,
    toMatching({ label: "Actions", items: toActions(sources.isAdmin) }, wanted),
    { label: "Request", items: REQUEST_ID.test(wanted) ? [toRequest(wanted)] : [] },
  ];
  return groups.filter(({ items }) => items.length > 0);
}

/** What begins with it comes first; a word within counts as well. */
function toMatching({ label, items }: CommandGroup, wanted: string, countMax = items.length): CommandGroup {
  const rank = (command: Command) => command.label.toLowerCase().indexOf(wanted);
  const found = items.filter((command) => rank(command) >= 0);
  return { label, items: found.toSorted((left, right) => rank(left) - rank(right)).slice(0, countMax) };
}

function toPage({ to, label, icon, key }: NavigationItem): Command {
  return { id: `page ${to}`, label, icon, detail: `g ${key}`, does: { kind: "go", to, search: {} } };
}

function toNames({ isAdmin, models, providers, people, keys }: PaletteSources): readonly CommandGroup[] {
  return [
    {
      label: "Models",
      items: models.map(({ id, provider }) =>
        toEntity({ kind: "model", name: id }, { icon: "models", detail: provider, isAdmin }),
      ),
    },
    {
      label: "Providers",
      items: providers.map(({ name }) => toEntity({ kind: "provider", name }, { icon: "provider", isAdmin })),
    },
    {
      label: "People",
      items: people.map(({ id, name }) =>
        toEntity({ kind: "principal", name, id }, { icon: "people", isAdmin }),
      ),
    },
    {
      label: "Requests of a key",
      items: keys.map(({ id, label, key_suffix: suffix, principal }) => {
        const name = label === "" ? `***${suffix}` : `${label} ***${suffix}`;
        return toEntity({ kind: "key", name, id }, { icon: "key", detail: principal, isAdmin });
      }),
    },
  ];
}

interface EntityLook extends Pick<Command, "icon" | "detail"> {
  readonly isAdmin: boolean;
}

function toEntity(entity: Parameters<typeof toPlace>[0], { icon, detail, isAdmin }: EntityLook): Command {
  const place = toPlace(entity, isAdmin) ?? { to: "/requests", search: {} };
  return {
    id: `${entity.kind} ${entity.id ?? entity.name}`,
    label: entity.name,
    icon,
    detail,
    does: { kind: "go", ...place },
  };
}

function toRequest(id: string): Command {
  return {
    id: `request ${id}`,
    label: `Open the request ${id}`,
    icon: "requests",
    does: { kind: "go", to: "/requests", search: { open: id, range: "all" } },
  };
}

function toActions(isAdmin: boolean): readonly Command[] {
  return [
    {
      id: "failed",
      label: "Failed requests of the last 24 hours",
      icon: "errors",
      does: { kind: "go", to: "/requests", search: { outcome: "failed", range: "24h" } },
    },
    ...(isAdmin
      ? [
          {
            id: "unpriced",
            label: "Set missing prices",
            icon: "pricing",
            does: { kind: "go", to: "/models/prices", search: {} },
          } as const,
        ]
      : []),
    ...THEMES.map((theme) => ({
      id: `theme ${theme}`,
      label: `Theme: ${THEME_LABELS[theme]}`,
      icon: THEME_ICONS[theme],
      does: { kind: "theme", theme } as const,
    })),
    { id: "help", label: "Keyboard shortcuts", icon: "help", detail: "?", does: { kind: "help" } },
    { id: "sign-out", label: "Sign out", icon: "sign-out", does: { kind: "sign-out" } },
  ];
}

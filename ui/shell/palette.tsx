import { Autocomplete } from "@base-ui/react/autocomplete";
import { Dialog } from "@base-ui/react/dialog";
import { useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useMemo, useState } from "react";
import { PROVIDERS } from "../api/catalog.ts";
import { ALL_KEYS, MY_KEYS, PRINCIPALS } from "../api/people.ts";
import { listedModelsQuery } from "../api/models.ts";
import { classNames } from "../components/class-names.ts";
import { BACKDROP_CLASS, DIALOG_CLASS, giveFocusBack } from "../components/dialog-frame.ts";
import { type Entity, toPlace } from "../components/entity-link.tsx";
import { Icon, type IconName } from "../components/icon.tsx";
import { OPTION_CLASS } from "../components/popup.ts";
import type { NavigationItem } from "./navigation.tsx";
import { THEME_ICONS, THEME_LABELS, THEMES, type Theme, useTheme } from "./theme.ts";

export interface PaletteProps {
  readonly open: boolean;
  readonly onClose: () => void;
  readonly onHelp: () => void;
  readonly toFinalFocus: () => HTMLElement | null;
  readonly isAdmin: boolean;
  readonly pages: readonly NavigationItem[];
}

/** Finds a page, a name or an action by some letters of it. */
export function Palette({ open, onClose, toFinalFocus, ...props }: PaletteProps) {
  const [hasGone, setHasGone] = useState(false);
  return (
    <Dialog.Root open={open} onOpenChange={(next) => !next && onClose()}>
      <Dialog.Portal>
        <Dialog.Backdrop className={BACKDROP_CLASS} />
        <Dialog.Viewport className="fixed inset-0 z-30 flex justify-center overflow-hidden p-3 sm:pt-[12vh]">
          <Dialog.Popup
            aria-label="Go to or do"
            // A page that was opened takes the focus itself.
            finalFocus={() => (hasGone ? false : giveFocusBack(toFinalFocus()))}
            className={classNames(DIALOG_CLASS, "mt-0 max-h-[min(28rem,100%)] max-w-xl overflow-hidden")}
          >
            <Commands {...props} onClose={onClose} onGo={setHasGone} />
          </Dialog.Popup>
        </Dialog.Viewport>
      </Dialog.Portal>
    </Dialog.Root>
  );
}

interface CommandsProps extends Pick<PaletteProps, "onClose" | "onHelp" | "isAdmin" | "pages"> {
  readonly onGo: (hasGone: boolean) => void;
}

function Commands({ pages, isAdmin, onClose, onHelp, onGo }: CommandsProps) {
  const [typed, setTyped] = useState("");
  const sources = useSources(isAdmin);
  const groups = useMemo(
    () => toCommandGroups({ ...sources, pages, isAdmin }, typed),
    [sources, pages, isAdmin, typed],
  );
  const navigate = useNavigate();
  const [, setTheme] = useTheme();
  const act = (deed: Deed) => {
    onGo(deed.kind === "go");
    onClose();
    if (deed.kind === "go") void navigate({ to: deed.to, search: deed.search });
    else if (deed.kind === "theme") setTheme(deed.theme);
    else if (deed.kind === "help") onHelp();
    else globalThis.location.assign("/auth/logout");
  };
  return (
    <Autocomplete.Root
      inline
      open
      items={groups}
      filter={null}
      value={typed}
      onValueChange={(next, { reason }) => {
        if (reason !== "item-press") setTyped(next);
      }}
      itemToStringValue={({ label }) => label}
      autoHighlight="always"
      keepHighlight
    >
      <div className="flex items-center gap-2.5 border-b border-line px-4">
        <Icon name="search" className="text-ink-faint" />
        <Autocomplete.Input
          // The dialog gives the focus with the next frame only, and letters typed before it would be lost.
          autoFocus
          aria-label="Page, model, person, key or action"
          placeholder="Page, model, person, key or action"
          spellCheck={false}
          className="h-12 min-w-0 flex-1 bg-transparent text-ink outline-hidden"
        />
      </div>
      <Autocomplete.Empty className="px-4 py-3 text-ink-soft empty:hidden">No match</Autocomplete.Empty>
      <Autocomplete.List className="min-h-0 flex-1 overflow-y-auto overscroll-contain p-1 data-empty:p-0">
        {(group: CommandGroup) => (
          <Autocomplete.Group key={group.label} items={group.items} className="pb-1">
            <Autocomplete.GroupLabel className="px-3 pt-2 pb-1 text-xs font-medium text-ink-faint">
              {group.label}
            </Autocomplete.GroupLabel>
            <Autocomplete.Collection>
              {(command: Command) => (
                <Autocomplete.Item
                  key={command.id}
                  value={command}
                  onClick={() => act(command.does)}
                  className={classNames(OPTION_CLASS, "gap-2.5 px-3")}
                >
                  <Icon name={command.icon} className="text-ink-faint" />
                  <span className="min-w-0 flex-1 truncate">{command.label}</span>
                  <span className="shrink-0 text-xs text-ink-faint">{command.detail}</span>
                </Autocomplete.Item>
              )}
            </Autocomplete.Collection>
          </Autocomplete.Group>
        )}
      </Autocomplete.List>
    </Autocomplete.Root>
  );
}

/** What has a name. A list that cannot be had leaves its names out. */
function useSources(isAdmin: boolean) {
  const models = useQuery(listedModelsQuery({ includeHidden: isAdmin }));
  const providers = useQuery({ ...PROVIDERS.list(), enabled: isAdmin });
  const people = useQuery({ ...PRINCIPALS.list(), enabled: isAdmin });
  const keys = useQuery({ ...ALL_KEYS.list(), enabled: isAdmin });
  const ownKeys = useQuery({ ...MY_KEYS.list(), enabled: !isAdmin });
  return useMemo(
    () => ({
      models: models.data ?? [],
      providers: providers.data?.rows ?? [],
      people: people.data?.rows ?? [],
      keys: keys.data?.rows ?? ownKeys.data?.rows ?? [],
    }),
    [models.data, providers.data, people.data, keys.data, ownKeys.data],
  );
}

/** One line of the palette. */
interface Command {
  readonly id: string;
  readonly label: string;
  /** Beside it: what kind of thing it is, or the keys that do the same. */
  readonly detail?: string | undefined;
  readonly icon: IconName;
  readonly does: Deed;
}

type Deed =
  | { readonly kind: "go"; readonly to: string; readonly search: object }
  | { readonly kind: "theme"; readonly theme: Theme }
  | { readonly kind: "help" }
  | { readonly kind: "sign-out" };

interface CommandGroup {
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

function toEntity(entity: Entity, { icon, detail, isAdmin }: EntityLook): Command {
  return {
    id: `${entity.kind} ${"id" in entity ? entity.id : entity.name}`,
    label: entity.name,
    icon,
    detail,
    does: { kind: "go", ...toPlace(entity, isAdmin) },
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
    {
      id: "last-month",
      label: "Usage by person, last month",
      icon: "usage",
      does: { kind: "go", to: "/", search: { by: "principal", range: "last-month" } },
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

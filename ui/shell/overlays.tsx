import { Fragment } from "react";
import { Dialog } from "../components/dialog.tsx";
import { Kbd } from "../components/code.tsx";
import { SidePanel } from "../components/panel.tsx";
import { type NavigationItem, NavigationList } from "./navigation.tsx";
import { type ShortcutGroup, toShortcutGroups } from "./shortcuts.ts";

export type Overlay = "menu" | "help";

export interface OverlaysProps {
  readonly open: Overlay | null;
  readonly onClose: () => void;
  /** What had the focus when it was opened; by a key that can be the page itself. */
  readonly toFinalFocus: () => HTMLElement | null;
  readonly role: string | undefined;
  readonly pages: readonly NavigationItem[];
}

/** What the shell lays over a page: the menu where there is no room for it, and the help for the keyboard. */
export function Overlays({ open, onClose, toFinalFocus, role, pages }: OverlaysProps) {
  const change = (next: boolean) => {
    if (!next) onClose();
  };
  return (
    <>
      <SidePanel open={open === "menu"} onOpenChange={change} title="Menu" side="left">
        <NavigationList role={role} onNavigate={onClose} />
      </SidePanel>
      <Dialog
        open={open === "help"}
        onOpenChange={change}
        title="Keyboard shortcuts"
        size="lg"
        toFinalFocus={toFinalFocus}
      >
        <ShortcutHelp groups={toShortcutGroups(pages)} />
      </Dialog>
    </>
  );
}

/** The content of the help dialog. */
function ShortcutHelp({ groups }: { readonly groups: readonly ShortcutGroup[] }) {
  return (
    <div className="grid gap-x-8 gap-y-5 sm:grid-cols-2">
      {groups.map((group) => (
        <section key={group.title}>
          <h3 className="mb-2 text-xs font-medium text-ink-faint">{group.title}</h3>
          <dl className="flex flex-col gap-1.5">
            {group.shortcuts.map((shortcut) => (
              <div key={shortcut.does} className="flex items-baseline justify-between gap-4">
                <dt className="text-ink-soft">{shortcut.does}</dt>
                <dd className="flex shrink-0 items-center gap-1 text-xs text-ink-faint">
                  {shortcut.keys.map((key, place) => (
                    <Fragment key={key}>
                      {place > 0 && shortcut.keys[0] === "g" && "then"}
                      <Kbd>{key}</Kbd>
                    </Fragment>
                  ))}
                </dd>
              </div>
            ))}
          </dl>
        </section>
      ))}
    </div>
  );
}

import { Dialog } from "../components/dialog.tsx";
import { ShortcutHelp } from "../components/help.tsx";
import { SidePanel } from "../components/panel.tsx";
import type { NavigationItem } from "./navigation.ts";
import { NavigationList } from "./navigation-list.tsx";
import { toShortcutGroups } from "./shortcuts.ts";

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

import { Tabs as Base } from "@base-ui/react/tabs";
import { type ReactNode } from "react";

export interface Tab<Id extends string> {
  readonly id: Id;
  readonly label: string;
  readonly content: ReactNode;
}

export interface TabsProps<Id extends string> {
  /** The name of the list of tabs. */
  readonly label: string;
  readonly tabs: readonly Tab<Id>[];
  readonly value: Id;
  readonly onValueChange: (id: Id) => void;
}

/** Panels of which one shows; arrow keys move between the tabs. */
export function Tabs<Id extends string>({ label, tabs, value, onValueChange }: TabsProps<Id>): ReactNode {
  return (
    <Base.Root
      value={value}
      onValueChange={(next: unknown) => {
        const tab = tabs.find(({ id }) => id === next);
        if (tab !== undefined) onValueChange(tab.id);
      }}
      className="min-w-0"
    >
      <Base.List
        aria-label={label}
        activateOnFocus
        className="flex gap-1 overflow-x-auto border-b border-line px-0.5 pt-0.5"
      >
        {tabs.map((tab) => (
          <Base.Tab key={tab.id} value={tab.id} className={TAB_CLASS}>
            {tab.label}
          </Base.Tab>
        ))}
      </Base.List>
      {tabs.map((tab) => (
        <Base.Panel key={tab.id} value={tab.id} className="min-w-0 pt-4">
          {tab.content}
        </Base.Panel>
      ))}
    </Base.Root>
  );
}

/** The look of a tab, also of a link that opens a section; the one that shows has `data-active`. */
export const TAB_CLASS =
  "-mb-px flex h-9 shrink-0 items-center gap-1.5 border-b-2 border-transparent px-2.5 font-medium whitespace-nowrap text-ink-soft hover:text-ink focus-visible:-outline-offset-2 data-active:border-accent data-active:text-ink";

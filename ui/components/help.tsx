import { Fragment, type ReactNode } from "react";

export interface Shortcut {
  /** Pressed one after the other. */
  readonly keys: readonly string[];
  readonly does: string;
}

export interface ShortcutGroup {
  readonly title: string;
  readonly shortcuts: readonly Shortcut[];
}

/** What works on every page; the shell adds the pages themselves. */
export const SHORTCUTS = [
  {
    title: "On a page",
    shortcuts: [
      { keys: ["/"], does: "Focus the filter" },
      { keys: ["?"], does: "Show keyboard shortcuts" },
      { keys: ["Esc"], does: "Close the panel or dialog" },
    ],
  },
  {
    title: "In a table or a chart",
    shortcuts: [
      { keys: ["↑", "↓"], does: "Move between rows" },
      { keys: ["←", "→"], does: "Move along a chart" },
      { keys: ["Enter"], does: "Open the row, or narrow the window to the bar" },
      { keys: ["j", "k"], does: "Next and previous request, while one is open" },
    ],
  },
] as const satisfies readonly ShortcutGroup[];

export interface ShortcutHelpProps {
  readonly groups?: readonly ShortcutGroup[] | undefined;
}

/** The content of the help dialog. */
export function ShortcutHelp({ groups = SHORTCUTS }: ShortcutHelpProps): ReactNode {
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

/** A key as it is printed on a keyboard. */
export function Kbd({ children }: { readonly children: string }): ReactNode {
  return (
    <kbd className="inline-flex h-5 min-w-5 items-center justify-center rounded border border-line-strong bg-surface px-1 font-mono text-xs text-ink-soft">
      {children}
    </kbd>
  );
}

import { Menu as Base } from "@base-ui/react/menu";
import { type ReactElement, type ReactNode, useEffect, useRef } from "react";
import { classNames } from "./class-names.ts";
import { Icon, type IconName } from "./icon.tsx";
import { OPTION_CLASS, POPUP_CLASS } from "./popup.ts";

export interface MenuAction {
  readonly kind?: "action" | undefined;
  readonly label: string;
  readonly icon?: IconName | undefined;
  readonly onSelect: () => void;
}

export interface MenuChoice {
  readonly kind: "choice";
  readonly label: string;
  readonly value: string;
  readonly options: readonly {
    readonly value: string;
    readonly label: string;
    readonly icon?: IconName | undefined;
  }[];
  readonly onValueChange: (value: string) => void;
}

export interface MenuNote {
  readonly kind: "note";
  readonly label: ReactNode;
}

export type MenuItem = MenuAction | MenuChoice | MenuNote;

export interface MenuProps {
  /** A `<Button>` or `<IconButton>` with a name of its own. */
  readonly trigger: ReactElement<Record<string, unknown>>;
  readonly items: readonly MenuItem[];
  /** It comes open, by this key or, when null, by a pointer. */
  readonly openedBy: "ArrowDown" | "ArrowUp" | null;
}

/** Actions behind a button: arrow keys and letters move, Enter chooses, Esc closes and the focus returns. */
export function Menu({ trigger, items, openedBy }: MenuProps): ReactNode {
  const button = useRef<HTMLButtonElement>(null);
  const opening = useRef(openedBy);
  useEffect(() => {
    // The key is pressed again: a menu that is open from the start stands on no line.
    pressKey(button.current, opening.current);
    opening.current = null;
  }, []);
  return (
    <Base.Root modal={false} defaultOpen={openedBy === null}>
      <Base.Trigger ref={button} render={trigger} />
      <Base.Portal>
        <Base.Positioner className="z-40" sideOffset={4} align="end" collisionPadding={8}>
          <Base.Popup className={classNames(POPUP_CLASS, "min-w-44 p-1")}>
            {items.map((item, place) => (
              <MenuLine key={place} item={item} />
            ))}
          </Base.Popup>
        </Base.Positioner>
      </Base.Portal>
    </Base.Root>
  );
}

function pressKey(button: HTMLButtonElement | null, key: string | null): void {
  if (key !== null)
    button?.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
}

function MenuLine({ item }: { readonly item: MenuItem }): ReactNode {
  switch (item.kind) {
    case "note":
      return <div className="px-2 py-1.5 text-xs text-ink-faint">{item.label}</div>;
    case "choice":
      return <ChoiceLines choice={item} />;
    default:
      return (
        <Base.Item onClick={item.onSelect} className={OPTION_CLASS}>
          {item.icon !== undefined && <Icon name={item.icon} className="text-ink-soft" />}
          {item.label}
        </Base.Item>
      );
  }
}

function ChoiceLines({ choice }: { readonly choice: MenuChoice }): ReactNode {
  return (
    <Base.Group>
      <Base.GroupLabel className="px-2 pt-1.5 pb-1 text-xs text-ink-faint">{choice.label}</Base.GroupLabel>
      <Base.RadioGroup
        value={choice.value}
        onValueChange={(value: unknown) => {
          if (typeof value === "string") choice.onValueChange(value);
        }}
      >
        {choice.options.map((option) => (
          <Base.RadioItem key={option.value} value={option.value} closeOnClick className={OPTION_CLASS}>
            {option.icon !== undefined && <Icon name={option.icon} className="text-ink-soft" />}
            <span className="flex-1">{option.label}</span>
            <Base.RadioItemIndicator className="flex">
              <Icon name="check" />
            </Base.RadioItemIndicator>
          </Base.RadioItem>
        ))}
      </Base.RadioGroup>
    </Base.Group>
  );
}

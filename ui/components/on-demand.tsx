import {
  cloneElement,
  type ComponentType,
  type KeyboardEvent,
  type MouseEvent,
  type ReactElement,
  type ReactNode,
  useState,
} from "react";
import { type OnDemand, useOnDemand } from "../on-demand.ts";
import { ErrorNotice } from "./error-notice.tsx";

/** Of a part that is loaded by the first press of its button: it is open when it comes. */
export interface OpenedProps {
  /** The button that it opens from, which closes and opens it from then on. */
  readonly trigger: ReactElement<Record<string, unknown>>;
  /** The key that opened it, which then stands on its first or its last line; null when it was pressed by a pointer. */
  readonly openedBy: VerticalArrow | null;
}

export type VerticalArrow = "ArrowDown" | "ArrowUp";

export interface OpensOnDemandProps<Props extends object> extends Pick<OpenedProps, "trigger"> {
  readonly load: () => Promise<ComponentType<OpenedProps & Props>>;
  readonly opens: "menu" | "dialog";
  /** Properties of the part besides its button. */
  readonly props: Props;
}

/** A button that can be `busy`, at once, and what it opens when it is pressed for the first time. */
export function OpensOnDemand<Props extends object>({
  load,
  opens,
  trigger,
  props,
}: OpensOnDemandProps<Props>): ReactNode {
  const { Part, isWaiting, failure, approach, want, dismiss } = useOnDemand(load);
  const [openedBy, setOpenedBy] = useState<VerticalArrow | null>(null);
  if (Part !== null) return <Part {...props} trigger={trigger} openedBy={openedBy} />;
  const wantBy = (key: VerticalArrow | null) => {
    setOpenedBy(key);
    want();
  };
  const opener = {
    "aria-haspopup": opens,
    "aria-expanded": false,
    onPointerEnter: approach,
    onFocus: approach,
    // Enter and Space press a button, too.
    onClick: ({ detail }: MouseEvent) => wantBy(detail === 0 ? "ArrowDown" : null),
    onKeyDown: (event: KeyboardEvent) => {
      if (opens !== "menu" || !isVerticalArrow(event.key)) return;
      event.preventDefault();
      wantBy(event.key);
    },
    ...(isWaiting && { busy: true }),
  };
  return (
    <>
      {cloneElement(trigger, opener)}
      <PartFailure {...{ failure, want, dismiss }} />
    </>
  );
}

type PartFailureProps = Pick<OnDemand<object>, "failure" | "want" | "dismiss">;

/** Where messages stand: that what was just used could not be loaded, and another try. */
export function PartFailure({ failure, want, dismiss }: PartFailureProps): ReactNode {
  if (failure === null) return null;
  return (
    <div className="fixed right-4 bottom-4 z-50 w-80 max-w-[calc(100vw-2rem)]">
      <ErrorNotice compact failure={failure} onRetry={want} onDismiss={dismiss} />
    </div>
  );
}

/** A key that opens a menu or a list from where it hangs. */
export function isVerticalArrow(key: string): key is VerticalArrow {
  return key === "ArrowDown" || key === "ArrowUp";
}

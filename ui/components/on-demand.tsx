import {
  cloneElement,
  type ComponentType,
  type KeyboardEvent,
  type ReactElement,
  type ReactNode,
} from "react";
import { type OnDemand, useOnDemand } from "../on-demand.ts";
import { ErrorNotice } from "./error-notice.tsx";

/** Of a part that is loaded by the first press of its button: it is open when it comes. */
export interface OpenedProps {
  /** The button that it opens from, which closes and opens it from then on. */
  readonly trigger: ReactElement<Record<string, unknown>>;
}

export interface OpensOnDemandProps<Props extends object> extends OpenedProps {
  readonly load: () => Promise<ComponentType<OpenedProps & Props>>;
  readonly opens: "menu" | "dialog";
  /** What the part gets besides its button. */
  readonly props: Props;
}

/** A button at once, and what it opens when it is pressed for the first time. */
export function OpensOnDemand<Props extends object>({
  load,
  opens,
  trigger,
  props,
}: OpensOnDemandProps<Props>): ReactNode {
  const { Part, failure, approach, want, dismiss } = useOnDemand(load);
  if (Part !== null) return <Part {...props} trigger={trigger} />;
  const opener = {
    "aria-haspopup": opens,
    "aria-expanded": false,
    onPointerEnter: approach,
    onFocus: approach,
    onClick: want,
    onKeyDown: (event: KeyboardEvent) => {
      if (opens !== "menu" || !isVerticalArrow(event.key)) return;
      event.preventDefault();
      want();
    },
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
export function isVerticalArrow(key: string): boolean {
  return key === "ArrowDown" || key === "ArrowUp";
}

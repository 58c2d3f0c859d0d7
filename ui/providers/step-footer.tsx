import type { ReactNode } from "react";
import { classNames } from "../components/class-names.ts";
import { FOOTER_CLASS } from "../components/dialog-frame.ts";

/** The buttons of a step, at the foot of the card or dialog that the step fills; in a dialog they stay in sight while it scrolls. */
export function StepFooter({ children }: { readonly children: ReactNode }) {
  return (
    <div
      className={classNames(
        FOOTER_CLASS,
        "-mx-4 -mb-4 px-4",
        "in-[[role=dialog]]:sticky in-[[role=dialog]]:-bottom-3 in-[[role=dialog]]:z-10 in-[[role=dialog]]:-mx-5 in-[[role=dialog]]:-mb-5 in-[[role=dialog]]:rounded-b-card in-[[role=dialog]]:bg-raised in-[[role=dialog]]:px-5 sm:in-[[role=dialog]]:-bottom-6",
      )}
    >
      {children}
    </div>
  );
}

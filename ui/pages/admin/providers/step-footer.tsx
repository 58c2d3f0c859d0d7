import type { ReactNode } from "react";
import { classNames } from "../../../components/class-names.ts";
import { FOOTER_CLASS } from "../../../components/dialog-frame.ts";

/** The buttons of a step, at the foot of the dialog that the step fills; they stay in sight while it scrolls. */
export function StepFooter({ children }: { readonly children: ReactNode }) {
  return (
    <div
      className={classNames(
        FOOTER_CLASS,
        "sticky -bottom-3 z-10 -mx-5 -mb-5 rounded-b-card bg-raised sm:-bottom-6",
      )}
    >
      {children}
    </div>
  );
}

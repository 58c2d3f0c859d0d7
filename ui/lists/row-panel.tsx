import { useMutation, type UseMutationOptions, useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import type { Removal, RemovalQuery } from "../api/resource.ts";
import { ConfirmDialog, type ConfirmDialogProps } from "../components/confirm-dialog.tsx";
import { ErrorNotice } from "../components/error-notice.tsx";
import { SidePanel, type SidePanelProps } from "../components/panel.tsx";
import { findRowButton } from "../components/table-body.tsx";
import { useToast } from "../components/toast.tsx";
import type { ToastMessage } from "../components/toast-messages.ts";

export interface RowPanelProps extends Pick<SidePanelProps, "title" | "description" | "footer" | "children"> {
  readonly rowId: string;
  readonly onClose: () => unknown;
}

/** The details of a row. The focus returns to the row, also when the mouse opened it, or an address did. */
export function RowPanel({ rowId, onClose, children, ...panel }: RowPanelProps): ReactNode {
  return (
    <SidePanel
      {...panel}
      open
      onOpenChange={(next) => !next && onClose()}
      toFinalFocus={() => findRowButton(rowId)}
    >
      <div className="flex flex-col gap-7">{children}</div>
    </SidePanel>
  );
}

export interface SectionProps {
  readonly title: string;
  /** Beside the title. */
  readonly action?: ReactNode;
  readonly children: ReactNode;
}

/** A part of a panel under a heading. */
export function Section({ title, action, children }: SectionProps): ReactNode {
  return (
    <section aria-label={title} className="min-w-0">
      <div className="mb-2 flex items-center justify-between gap-3">
        <h3 className="text-xs font-medium text-ink-faint">{title}</h3>
        {action}
      </div>
      {children}
    </section>
  );
}

/** Figures beside one another, each under its name. */
export function Figures({
  figures,
}: {
  readonly figures: { readonly [label: string]: ReactNode };
}): ReactNode {
  return (
    <dl className="flex flex-wrap gap-x-8 gap-y-3">
      {Object.entries(figures).map(([label, figure]) => (
        <div key={label} className="min-w-0">
          <dt className="text-xs text-ink-faint">{label}</dt>
          <dd className="mt-0.5 font-medium">{figure}</dd>
        </div>
      ))}
    </dl>
  );
}

export interface ChangeQuestionProps<Wanted, Answered> extends Pick<
  ConfirmDialogProps,
  "title" | "body" | "confirmLabel" | "requireText" | "danger"
> {
  /** What `useMutation` takes. */
  readonly change: UseMutationOptions<Answered, Error, Wanted>;
  readonly wanted: Wanted;
  /** What is told when it is done. */
  readonly done: (answer: Answered) => ToastMessage;
  readonly onClose: () => void;
  /** In place of `onClose` once it is done. */
  readonly onDone?: (() => unknown) | undefined;
}

/** Asks before a change is made. Why it could not be made stands in the question. */
export function ChangeQuestion<Wanted, Answered>(props: ChangeQuestionProps<Wanted, Answered>): ReactNode {
  const { change, wanted, done, onClose, onDone = onClose, danger = true, ...question } = props;
  const { notify } = useToast();
  const { mutate, isPending, error } = useMutation({
    ...change,
    onSuccess: (answer: Answered) => {
      notify({ tone: "good", ...done(answer) });
      return onDone();
    },
  });
  return (
    <ConfirmDialog
      {...question}
      open
      danger={danger}
      onOpenChange={(next) => !next && onClose()}
      busy={isPending}
      notice={error !== null && <ErrorNotice failure={error} />}
      onConfirm={() => mutate(wanted)}
    />
  );
}

export interface RemovalFactsProps {
  readonly of: RemovalQuery;
  /** In place of the server's sentence. */
  readonly children?: ((removal: Removal) => ReactNode) | undefined;
}

/** What goes with a removal, as the server tells it. Why it cannot tell is read when the removal itself is refused. */
export function RemovalFacts({ of, children }: RemovalFactsProps): ReactNode {
  const { data, isPending } = useQuery(of);
  if (isPending) return <p aria-busy>…</p>;
  if (data === null || data === undefined) return null;
  return children === undefined ? <p>{data.sentence}</p> : children(data);
}

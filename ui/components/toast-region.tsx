import { Toast } from "@base-ui/react/toast";
import { type ReactNode, useEffect, useRef } from "react";
import { classNames } from "./class-names.ts";
import { Icon, type IconName } from "./icon.tsx";
import { lastSerial, type NumberedMessage, type ToastTone } from "./toast-messages.ts";

const SHOWN_MS = 6000;

export interface ToastRegionProps {
  /** The newest messages; those that were not here before are shown. */
  readonly messages: readonly NumberedMessage[];
}

/** Where messages stand, and are read politely by a screen reader. */
export function ToastRegion({ messages }: ToastRegionProps): ReactNode {
  return (
    <Toast.Provider timeout={SHOWN_MS}>
      <Feed messages={messages} />
      <Toast.Portal>
        <Toast.Viewport className="fixed right-4 bottom-4 z-50 flex w-80 max-w-[calc(100vw-2rem)] flex-col gap-2 outline-hidden">
          <ToastList />
        </Toast.Viewport>
      </Toast.Portal>
    </Toast.Provider>
  );
}

function Feed({ messages }: ToastRegionProps): ReactNode {
  const { add } = Toast.useToastManager();
  const shown = useRef(0);
  useEffect(() => {
    for (const { serial, title, body, tone = "neutral", action } of messages) {
      if (serial <= shown.current) continue;
      add({
        title,
        type: tone,
        ...(body === undefined ? {} : { description: body }),
        ...(action === undefined
          ? {}
          : { actionProps: { children: action.label, onClick: action.onSelect } }),
      });
    }
    shown.current = lastSerial(messages);
  }, [add, messages]);
  return null;
}

function ToastList(): ReactNode {
  const { toasts } = Toast.useToastManager();
  return toasts.map((toast) => (
    <Toast.Root key={toast.id} toast={toast} className={TOAST_CLASS}>
      <Toast.Content className="flex items-start gap-2.5 p-3">
        <Icon
          name={TONE_ICON[toTone(toast.type)]}
          className={classNames("mt-0.5", TONE_CLASS[toTone(toast.type)])}
        />
        <div className="min-w-0 flex-1">
          <Toast.Title render={<p />} className="font-medium text-ink" />
          <Toast.Description className="text-ink-soft" />
          <Toast.Action className="mt-1 font-medium text-accent hover:underline" />
        </div>
        <Toast.Close
          aria-label="Dismiss"
          className="-mt-0.5 -mr-1 flex size-6 shrink-0 items-center justify-center rounded text-ink-faint hover:bg-hover hover:text-ink"
        >
          <Icon name="close" size={14} />
        </Toast.Close>
      </Toast.Content>
    </Toast.Root>
  ));
}

function toTone(type: string | undefined): ToastTone {
  return type === "good" || type === "bad" ? type : "neutral";
}

const TONE_ICON = { neutral: "info", good: "check", bad: "warning" } as const satisfies Record<
  ToastTone,
  IconName
>;
const TONE_CLASS = { neutral: "text-ink-soft", good: "text-good", bad: "text-bad" } as const satisfies Record<
  ToastTone,
  string
>;

const TOAST_CLASS =
  "rounded-card border border-line bg-raised text-sm shadow-raised transition-[translate] duration-150 data-ending-style:translate-y-2 data-limited:hidden data-starting-style:translate-y-2";

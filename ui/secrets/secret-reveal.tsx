import { Link } from "@tanstack/react-router";
import { type ReactNode, useId, useRef, useState } from "react";
import { buttonClass } from "../components/button.tsx";
import { CopyButton } from "../components/copy.tsx";
import { CloseButton, Dialog } from "../components/dialog.tsx";
import { Icon } from "../components/icon.tsx";
import { useDiscardQuestion } from "../form/discard-question.tsx";
import { type Example, Snippets } from "../snippets/snippets.tsx";
import { formatInstant } from "../text/format.ts";
import type { SecretKind } from "./secret-kind.ts";

export interface RevealDialogProps {
  /** The plaintext; it lives in the memory of this dialog's owner until `onClose`, and nowhere else. */
  readonly secret: string;
  readonly kind: SecretKind;
  readonly title: string;
  /** The only models that it may use; any when absent. */
  readonly models?: readonly string[] | undefined;
  readonly onClose: () => void;
  /** The owner's name, when it is another principal, who gets an invitation; a budget for them is the next step. */
  readonly owner?: string | undefined;
  /** Until when it works; for good when absent. */
  readonly expiresAt?: string | undefined;
  /** The button that the focus returns to: the dialog that opened this one is gone. */
  readonly toFinalFocus?: (() => HTMLElement | null) | undefined;
}

/** Shows a new secret once, in the snippets too, and asks before it is left uncopied. */
export function RevealDialog(props: RevealDialogProps) {
  const { secret, kind, title, models, onClose, owner, expiresAt, toFinalFocus } = props;
  const [copied, setCopied] = useState(false);
  return (
    <Dialog
      open
      onOpenChange={(next) => !next && onClose()}
      title={title}
      size="lg"
      toFinalFocus={toFinalFocus}
      footer={
        <>
          {owner !== undefined && (
            <Link to="/limits" search={{ budget: owner }} className={buttonClass()}>
              Set a monthly budget
            </Link>
          )}
          <CloseButton variant={copied ? "primary" : "secondary"}>Done</CloseButton>
        </>
      }
    >
      <Revealed {...{ secret, kind, models, owner, expiresAt, copied }} onCopied={() => setCopied(true)} />
    </Dialog>
  );
}

interface RevealedProps extends Pick<
  RevealDialogProps,
  "secret" | "kind" | "models" | "owner" | "expiresAt"
> {
  readonly copied: boolean;
  readonly onCopied: () => void;
}

/** Within the dialog, which asks what stands in it before it closes. */
function Revealed({ secret, kind, models, owner, expiresAt, copied, onCopied }: RevealedProps) {
  const invite = (example: Example) =>
    toInvitation({ origin: globalThis.location.origin, secret, kind, models, expiresAt, example });
  const question = useUncopied(kind, copied);
  return (
    <div className="flex min-w-0 flex-col gap-4">
      <SecretReveal secret={secret} label={kind.title} onCopied={onCopied} />
      <Snippets
        kind={kind.clients}
        only={models}
        secret={secret}
        toInvitation={owner === undefined ? undefined : invite}
        onCopied={onCopied}
      />
      {question}
    </div>
  );
}

export interface InvitationParts extends Pick<RevealDialogProps, "secret" | "kind" | "models" | "expiresAt"> {
  readonly origin: string;
  readonly example: Example;
}

/** All that a person needs to begin, as one text: address, secret, models, expiry, their own page, and how their client is set up. */
export function toInvitation(parts: InvitationParts): string {
  const { origin, secret, kind, models, expiresAt, example } = parts;
  const { client, code, model } = example;
  const any = model === null ? "any" : `any, such as ${model}`;
  return [
    `Address: ${kind.hasModels ? `${origin}/v1` : origin}`,
    `${kind.title}: ${secret}`,
    `Models: ${models === undefined || models.length === 0 ? any : models.join(", ")}`,
    `Expires: ${expiresAt === undefined ? "never" : formatInstant(expiresAt, "minute")}`,
    `Your usage and limits: ${origin}/usage`,
    "",
    `${client.file ?? client.name}:`,
    ...(client.install === null ? [] : [client.install, ""]),
    code,
  ].join("\n");
}

interface SecretRevealProps {
  readonly secret: string;
  /** What it is: `Key` or `Relay token`. */
  readonly label: string;
  readonly onCopied?: (() => void) | undefined;
}

/** A secret that is shown this once: selected by one press, copied by the next. It is never put anywhere else. */
export function SecretReveal({ secret, label, onCopied }: SecretRevealProps): ReactNode {
  const id = useId();
  const input = useRef<HTMLInputElement>(null);
  return (
    <div className="flex flex-col gap-2 rounded-card border border-line bg-sunken p-3">
      <label id={`${id}-label`} htmlFor={id} className="text-xs font-medium text-ink-soft">
        {label}
      </label>
      <div className="flex flex-wrap items-center gap-2">
        <input
          id={id}
          ref={input}
          readOnly
          value={secret}
          spellCheck={false}
          autoComplete="off"
          onFocus={() => input.current?.select()}
          aria-labelledby={`${id}-label`}
          aria-describedby={`${id}-note`}
          className="h-8 min-w-0 flex-1 basis-48 rounded-control border border-line-strong bg-surface px-2.5 font-mono text-[0.8125rem] leading-6 text-ink"
        />
        <CopyButton
          text={secret}
          label={`Copy ${label.toLowerCase()}`}
          variant="primary"
          size="md"
          onCopied={onCopied}
        />
      </div>
      <p id={`${id}-note`} className="flex items-start gap-1.5 text-xs text-warn">
        <Icon name="warning" size={14} className="mt-px" />
        Shown only once: copy it now. If you lose it, delete it and create a new one.
      </p>
    </div>
  );
}

/**
 * Asks before a secret that is shown once is left uncopied: the dialog around it closed, another page, the back button and a
 * closed tab would lose it. Returns the question, to be drawn beside the secret.
 */
export function useUncopied({ noun }: SecretKind, isCopied: boolean): ReactNode {
  const isLeft = useRef(false);
  return useDiscardQuestion({
    isTouched: () => !isCopied && !isLeft.current,
    discard: () => (isLeft.current = true),
    words: {
      title: `Leave without copying the ${noun}?`,
      body: "It is shown only once. If you leave now, you can only delete it and create another one.",
      confirmLabel: "Leave",
      cancelLabel: "Go back and copy",
    },
  });
}

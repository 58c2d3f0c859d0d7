import { type ComponentProps, type MouseEvent, type ReactNode } from "react";
import { classNames } from "./class-names.ts";
import { Icon, type IconName } from "./icon.tsx";
import { Spinner } from "./progress.tsx";

export type ButtonVariant = "primary" | "secondary" | "ghost" | "danger";
export type ButtonSize = "sm" | "md";

export interface ButtonLook {
  readonly variant?: ButtonVariant | undefined;
  readonly size?: ButtonSize | undefined;
}

export interface ButtonProps extends Omit<ComponentProps<"button">, "disabled">, ButtonLook {
  readonly icon?: IconName | undefined;
  /** An icon after the text, such as a chevron. */
  readonly iconEnd?: IconName | undefined;
  /** Work goes on: the button keeps its size and the focus, and does not answer. */
  readonly busy?: boolean | undefined;
  readonly disabled?: boolean | undefined;
}

/** A button; `type` is `button` unless it is said to submit. */
export function Button(props: ButtonProps): ReactNode {
  const { variant, size, icon, iconEnd, busy, className, children, onClick, ...rest } = props;
  return (
    <button
      type="button"
      {...rest}
      aria-busy={busy === true || undefined}
      aria-disabled={busy === true || rest["aria-disabled"] || undefined}
      onClick={(event) => {
        if (busy === true || isSecondPress(event, busy)) event.preventDefault();
        else onClick?.(event);
      }}
      className={classNames(buttonClass({ variant, size }), className)}
    >
      {busy === true ? <Spinner /> : icon !== undefined && <Icon name={icon} />}
      {children}
      {iconEnd !== undefined && <Icon name={iconEnd} className="-mr-1 opacity-80" />}
    </button>
  );
}

export interface IconButtonProps extends Omit<ButtonProps, "children" | "aria-label" | "icon" | "iconEnd"> {
  readonly icon: IconName;
  /** The accessible name and the tooltip. */
  readonly label: string;
}

/** A button that is only an icon; its label shows as a tooltip. */
export function IconButton(props: IconButtonProps): ReactNode {
  const { icon, label, variant = "ghost", size = "md", busy = false, className, onClick, ...rest } = props;
  return (
    <button
      type="button"
      title={label}
      {...rest}
      aria-label={label}
      aria-busy={busy || undefined}
      aria-disabled={busy || rest["aria-disabled"] || undefined}
      onClick={busy ? (event) => event.preventDefault() : onClick}
      className={classNames(BASE, VARIANT[variant], size === "sm" ? "size-7" : "size-8", className)}
    >
      {busy ? <Spinner /> : <Icon name={icon} />}
    </button>
  );
}

/**
 * The other half of a double click, on a button of work that can be under way: it comes before the first one could make
 * it busy, and would begin the same work again.
 */
function isSecondPress({ detail }: MouseEvent, busy: boolean | undefined): boolean {
  return busy !== undefined && detail > 1;
}

/** The classes of a button, for a link that looks like one. */
export function buttonClass({ variant = "secondary", size = "md" }: ButtonLook = {}): string {
  return classNames(
    BASE,
    VARIANT[variant],
    size === "sm" ? "h-7 gap-1.5 px-2.5 text-xs" : "h-8 gap-2 px-3 text-sm",
  );
}

const BASE =
  "inline-flex shrink-0 select-none items-center justify-center whitespace-nowrap rounded-control border font-medium leading-none no-underline transition-colors duration-100 disabled:cursor-not-allowed disabled:border-line disabled:bg-sunken disabled:text-ink-faint aria-disabled:cursor-progress";

const VARIANT = {
  primary:
    "border-accent bg-accent text-accent-ink enabled:hover:border-accent-strong enabled:hover:bg-accent-strong [a]:hover:border-accent-strong [a]:hover:bg-accent-strong",
  secondary:
    "border-line-strong/60 bg-surface text-ink enabled:hover:bg-hover data-popup-open:bg-hover [a]:hover:bg-hover",
  ghost:
    "border-transparent bg-transparent text-ink-soft enabled:hover:bg-hover enabled:hover:text-ink data-popup-open:bg-hover [a]:hover:bg-hover [a]:hover:text-ink",
  danger: "border-bad bg-bad text-bad-ink enabled:hover:border-bad-strong enabled:hover:bg-bad-strong",
} as const satisfies Record<ButtonVariant, string>;

import { type ReactNode } from "react";
import { classNames } from "./class-names.ts";
import { Icon } from "./icon.tsx";

export interface ArrowChainProps {
  readonly alias: string;
  /** The target that the alias is a name for; null when it has a binding of its own. */
  readonly target?: string | null | undefined;
  readonly provider: string;
  /** The provider's name for the model. */
  readonly upstreamName?: string | null | undefined;
  /** Small print after the alias, for the cell of a table. */
  readonly isCompact?: boolean | undefined;
}

/** The way of a request: alias → target → provider, upstream name. */
export function ArrowChain({
  alias,
  target,
  provider,
  upstreamName,
  isCompact = false,
}: ArrowChainProps): ReactNode {
  const names = [alias, target, provider, upstreamName].filter((name) => name !== null && name !== undefined);
  return (
    <ol className="flex min-w-0 flex-wrap items-center gap-x-1.5 gap-y-1" aria-label={`Route of ${alias}`}>
      {names.map((name, place) => (
        <li key={`${place}:${name}`} className="flex min-w-0 items-center gap-1.5">
          {place > 0 && <Icon name="arrow-right" size={12} className="text-ink-faint" />}
          <span
            title={name}
            className={classNames(
              "truncate",
              place === 0 ? "font-medium text-ink" : "text-ink-soft",
              place > 0 && isCompact && "text-xs",
            )}
          >
            {name}
          </span>
        </li>
      ))}
    </ol>
  );
}

import { Link } from "@tanstack/react-router";
import { formatCount } from "../text/format.ts";

/** More are counted, not named. */
const ALIASES_SHOWN_MAX = 12;

export interface AliasListProps {
  readonly label: string;
  readonly aliases: readonly string[];
}

/** Models by alias, each a link to where it is changed. */
export function AliasList({ label, aliases }: AliasListProps) {
  const rest = aliases.length - ALIASES_SHOWN_MAX;
  return (
    <ul aria-label={label} className="flex flex-wrap gap-x-3 gap-y-1">
      {aliases.slice(0, ALIASES_SHOWN_MAX).map((alias) => (
        <li key={alias} className="min-w-0">
          <Link
            to="/models"
            search={{ open: alias }}
            title={alias}
            className="block truncate font-mono text-xs leading-6 text-accent underline-offset-2 hover:underline"
          >
            {alias}
          </Link>
        </li>
      ))}
      {rest > 0 && <li className="text-xs leading-6 text-ink-soft">and {formatCount(rest)} more</li>}
    </ul>
  );
}

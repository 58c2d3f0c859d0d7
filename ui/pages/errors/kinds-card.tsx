import { useMemo, useState } from "react";
import { Button } from "../../components/button.tsx";
import { Card } from "../../components/card.tsx";
import { ShareBar } from "../../components/share-bar.tsx";
import { formatCount, formatPercent } from "../../text/format.ts";
import type { ErrorRow } from "./error-rows.ts";
import { toKindRows, type KindRow } from "./kind-rows.ts";

const KINDS_FIRST = 6;

/** What went wrong in plain words, and what to do about each. */
export function KindsCard({ rows }: { readonly rows: readonly ErrorRow[] }) {
  const [isWhole, setWhole] = useState(false);
  const all = useMemo(() => toKindRows(rows), [rows]);
  const kinds = isWhole ? all : all.slice(0, KINDS_FIRST);
  return (
    <Card flush className="mb-4" title="Causes and advice">
      <ul>
        {kinds.map((kind) => (
          <Kind key={kind.name} kind={kind} />
        ))}
      </ul>
      {all.length > KINDS_FIRST && (
        <div className="flex justify-center border-t border-line py-2">
          <Button size="sm" variant="ghost" onClick={() => setWhole(!isWhole)}>
            {isWhole ? `Show the first ${KINDS_FIRST}` : `Show all ${formatCount(all.length)} kinds`}
          </Button>
        </div>
      )}
    </Card>
  );
}

const BAR_PX = 56;

function Kind({ kind: { name, requests, share, meaning, advice } }: { readonly kind: KindRow }) {
  return (
    <li className="grid gap-x-6 gap-y-1 border-t border-line px-4 py-2.5 md:grid-cols-[13rem_1fr]">
      <div className="flex min-w-0 items-baseline justify-between gap-3 md:flex-col md:items-start md:justify-start md:gap-1">
        <code className="min-w-0 font-mono text-xs leading-5 break-words">{name}</code>
        <span className="flex shrink-0 items-center gap-2 text-xs text-ink-soft">
          <ShareBar share={share} widthPx={BAR_PX} tone="bad" className="hidden md:block" />
          {formatCount(requests)} · {formatPercent(share)}
        </span>
      </div>
      <div className="min-w-0">
        <p className="font-medium">{meaning}</p>
        <p className="text-ink-soft">{advice}</p>
      </div>
    </li>
  );
}

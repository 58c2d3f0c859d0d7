import { Link } from "@tanstack/react-router";
import { type ReactNode, useState } from "react";
import type { Limit } from "../../../api/limits.ts";
import { Button } from "../../../components/button.tsx";
import { Instant } from "../../../components/instant.tsx";
import { SidePanel } from "../../../components/panel.tsx";
import { findRowButton } from "../../../components/table-body.tsx";
import { LimitMeter } from "../../../limits/limit-meter.tsx";
import { LevelBadge, StartsAnew } from "../../../limits/limit-parts.tsx";
import { type NameSecret, toAmountWords, toLeftWords, toWhomWords } from "../../../limits/limit-words.ts";
import { formatCount } from "../../../text/format.ts";
import { DeleteLimit } from "./delete-limit.tsx";
import { EditLimit } from "./edit-limit.tsx";
import { LimitUses } from "./limit-uses.tsx";

export interface LimitPanelProps {
  readonly limit: Limit;
  readonly nameSecret: NameSecret;
  readonly onClose: () => void;
}

/** One limit: what is used of it and by whom, and what can be changed about it. */
export function LimitPanel({ limit, nameSecret, onClose }: LimitPanelProps) {
  const [isDeleting, setDeleting] = useState(false);
  return (
    <SidePanel
      open
      onOpenChange={(open) => !open && onClose()}
      toFinalFocus={() => findRowButton(limit.id)}
      title={limit.name}
      description={
        <span className="flex flex-wrap items-center gap-2">
          {toWhomWords(limit, nameSecret)}: {toAmountWords(limit)}
          <LevelBadge limit={limit} />
        </span>
      }
    >
      <div className="flex flex-col gap-7">
        <Used limit={limit} />
        {limit.each !== undefined && (
          <Section title="Closest to the amount">
            <LimitUses limit={limit} nameSecret={nameSecret} />
          </Section>
        )}
        <Section title="Settings">
          <EditLimit limit={limit} />
        </Section>
        <section aria-label="Delete" className="border-t border-line pt-4">
          <Button icon="trash" variant="danger" onClick={() => setDeleting(true)}>
            Delete limit
          </Button>
        </section>
      </div>
      {isDeleting && <DeleteLimit limit={limit} onClose={() => setDeleting(false)} onDeleted={onClose} />}
    </SidePanel>
  );
}

function Used({ limit }: { readonly limit: Limit }) {
  const { each, left, refused, last_refused_at: refusedAt, window } = limit;
  const { unpriced_requests: unpriced, unknown_requests: unknown } = limit;
  return (
    <div className="flex flex-col gap-4">
      <div>
        {each !== undefined && <p className="mb-0.5 text-xs text-ink-faint">Highest use</p>}
        <LimitMeter limit={limit} />
      </div>
      <dl className="flex flex-wrap gap-x-8 gap-y-3">
        <Figure label="Left">{toLeftWords(limit, left)}</Figure>
        {window !== undefined && (
          <Figure label="Starts anew">
            <StartsAnew limit={limit} />
          </Figure>
        )}
        <Figure label="Refused since start">{formatCount(refused)}</Figure>
        <Figure label="Last refused">
          <Instant value={refusedAt} format="relative" />
        </Figure>
      </dl>
      {unpriced > 0 && (
        <p className="text-warn">
          {unpriced === 1 ? "1 request" : `${formatCount(unpriced)} requests`} of the window had no price, so
          their cost is not counted.{" "}
          <Link to="/models/prices" className="text-accent underline underline-offset-2">
            Set prices
          </Link>
        </p>
      )}
      {unknown > 0 && (
        <p className="text-warn">
          {unknown === 1 ? "1 request" : `${formatCount(unknown)} requests`} of the window ended before their
          usage was told, so it is not counted.
        </p>
      )}
    </div>
  );
}

function Figure({ label, children }: { readonly label: string; readonly children: ReactNode }) {
  return (
    <div className="min-w-0">
      <dt className="text-xs text-ink-faint">{label}</dt>
      <dd className="mt-0.5 font-medium">{children}</dd>
    </div>
  );
}

function Section({ title, children }: { readonly title: string; readonly children: ReactNode }) {
  return (
    <section className="min-w-0">
      <h3 className="mb-2 text-xs font-medium text-ink-faint">{title}</h3>
      {children}
    </section>
  );
}

import { useMemo } from "react";
import type { Pricing } from "../../../api/catalog.ts";
import { Button } from "../../../components/button.tsx";
import { Card } from "../../../components/card.tsx";
import { EmptyState } from "../../../components/empty.tsx";
import { Instant } from "../../../components/instant.tsx";
import { TextField } from "../../../components/text-field.tsx";
import { formatCount } from "../../../text/format.ts";
import { matchesPrices, type NamePrices } from "./price-list.ts";
import { PriceTable } from "./price-table.tsx";

export interface KeptCardProps {
  readonly pricing: Pricing;
  readonly rows: readonly NamePrices[];
  readonly query: string | undefined;
  readonly onQueryChange: (query: string | undefined) => void;
  readonly onEdit: (row: NamePrices) => void;
  readonly onLoad: () => void;
}

/** The prices that are kept, by name, and where they came from. */
export function KeptCard({ pricing, rows, query, onQueryChange, onEdit, onLoad }: KeptCardProps) {
  const shown = useMemo(() => rows.filter((row) => matchesPrices(row, query)), [rows, query]);
  return (
    <>
      <div role="search" aria-label="Filters" className="mb-4">
        <TextField
          label="Find a price"
          labelHidden
          type="search"
          icon="search"
          placeholder="Model or version"
          className="w-full sm:w-72"
          isPageFilter
          value={query ?? ""}
          onValueChange={(next) => onQueryChange(next === "" ? undefined : next)}
        />
      </div>
      <Card title="Prices per million" lead={<LastFeed pricing={pricing} />} flush>
        <PriceTable
          rows={shown}
          onEdit={onEdit}
          empty={
            rows.length > 0 ? (
              <EmptyState icon="search" title="No price matches" />
            ) : (
              <EmptyState
                icon="pricing"
                title="No prices yet"
                body="Load a feed, or set the prices of a model. Until then all usage is recorded as unpriced."
                action={<Button onClick={onLoad}>Load prices</Button>}
              />
            )
          }
        />
      </Card>
    </>
  );
}

function LastFeed({ pricing: { version, loaded_at: loadedAt, entries } }: { readonly pricing: Pricing }) {
  const count = entries.length === 1 ? "1 price" : `${formatCount(entries.length)} prices`;
  if (version === null) return <>{count}. No feed has been loaded yet.</>;
  return (
    <>
      {count}. Last feed: <span className="text-ink">{version}</span>, loaded{" "}
      <Instant value={loadedAt} format="minute" />.
    </>
  );
}

import { toCounted } from "#kernel/text.ts";
import { Badge } from "../components/chip.tsx";
import { useNow } from "../components/instant.tsx";
import { formatInstant } from "../text/format.ts";
import { formatInZone, useTimeZone } from "../text/time-zone.ts";
import { FixedTagBadges } from "./fixed-tags.tsx";
import type { SecretRow } from "./secret-row.ts";

/** What a key or a relay token is held to, as far as anything is set. */
export function SecretState({ row }: { readonly row: SecretRow }) {
  const { isPaused, expiresAt, models, tags } = row;
  if (!isPaused && expiresAt === null && models === null && tags.length === 0) return null;
  return (
    <span className="mt-1 flex flex-wrap gap-1 font-normal">
      {isPaused && <Badge tone="warn">Paused</Badge>}
      {expiresAt !== null && <Expiry at={expiresAt} />}
      {models !== null && <Badge title={models.join(", ")}>{toCounted(models.length, "model")}</Badge>}
      <FixedTagBadges tags={tags} />
    </span>
  );
}

function Expiry({ at }: { readonly at: string }) {
  const zone = useTimeZone();
  const isOver = Date.parse(at) <= useNow();
  return (
    <Badge tone={isOver ? "bad" : "neutral"} title={formatInstant(at, "full")}>
      {isOver ? "Expired" : "Expires"}{" "}
      {zone === "utc" ? formatInstant(at, "date") : formatInZone(at, "date", zone)}
    </Badge>
  );
}

import { Card } from "../../components/card.tsx";
import { useNow } from "../../components/instant.tsx";
import { Segmented } from "../../components/segmented.tsx";
import { chooseTimeZone, formatInZone, TIME_ZONES, toZoneName, useTimeZone } from "../../text/time-zone.ts";

/** How this browser shows instants. */
export function DisplayCard() {
  const zone = useTimeZone();
  const now = new Date(useNow());
  const iso = now.toISOString();
  const labels = { utc: "UTC", local: `Local (${toZoneName(now)})` };
  return (
    <Card
      title="Times"
      lead="Of lists, the request log and details, in this browser. Windows, their pickers, axes of charts and exports are always in UTC."
    >
      <div className="flex flex-wrap items-center gap-x-4 gap-y-2">
        <Segmented
          label="Time zone"
          options={TIME_ZONES.map((value) => ({ value, label: labels[value] }))}
          value={zone}
          onValueChange={chooseTimeZone}
        />
        <span className="text-ink-soft">Now: {formatInZone(iso, "minute", zone)}</span>
      </div>
    </Card>
  );
}

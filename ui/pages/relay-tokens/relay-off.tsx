import { InlineCode } from "../../components/code.tsx";
import { Icon } from "../../components/icon.tsx";

/** Says that the relay is off, and which setting turns it on. */
export function RelayOff() {
  return (
    <p className="mb-4 flex items-start gap-2.5 rounded-card bg-warn-soft p-3.5 text-sm text-ink">
      <Icon name="warning" className="mt-0.5 text-warn" />
      <span>
        The relay is off here, so relay tokens reach nothing yet. Whoever runs this server turns it on by
        setting <InlineCode>PROXY_MESSAGES_BASE_URL</InlineCode> and starting it again.
      </span>
    </p>
  );
}

import { useQuery } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import { toValueWords, toWords } from "#views/audit-change.ts";
import { pricingQuery } from "../../api/catalog.ts";
import type { AuditEvent } from "../../api/people.ts";
import { Button } from "../../components/button.tsx";
import type { KnownTarget } from "./targets.ts";
import { toUndo, UndoQuestion } from "./undo.tsx";

interface ChangeDetailsProps {
  readonly event: AuditEvent;
  readonly target: KnownTarget | null;
}

/** Each field before and after, and the way back where there still is one. */
export function ChangeDetails({ event, target }: ChangeDetailsProps): ReactNode {
  const [isAsking, setAsking] = useState(false);
  const { fields = [], omitted = 0, label } = event.change ?? {};
  const pricing = useQuery({ ...pricingQuery(), enabled: event.target_kind === "pricing_feed" });
  const undo = toUndo(event, target?.row ?? null, pricing.data);
  return (
    <div className="col-span-full mt-1 min-w-0 rounded-card bg-sunken p-3 sm:ml-24">
      <table className="w-full table-fixed text-left text-xs">
        <thead className="text-ink-faint">
          <tr>
            {["Field", "Before", "After"].map((heading) => (
              <th key={heading} scope="col" className="pr-4 pb-1 font-medium">
                {heading}
              </th>
            ))}
          </tr>
        </thead>
        <tbody className="align-baseline">
          {fields.map(({ field, before, after, secret, cut }) => (
            <tr key={field}>
              <th scope="row" className="py-0.5 pr-4 font-medium break-words">
                {toWords(field)}
              </th>
              {[before, after].map((value, side) => (
                <td key={side === 0 ? "before" : "after"} className="py-0.5 pr-4 break-words text-ink-soft">
                  {toValueWords(value, /^pricing(?:[.]|$)/.test(field))}
                  {secret === true && value !== null && " (never told)"}
                  {cut === true && " … (cut)"}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
      {omitted > 0 && (
        <p className="mt-1.5 text-xs text-ink-faint">
          {omitted.toLocaleString("en-US")} more fields are not kept: the change was too long.
        </p>
      )}
      {typeof undo === "string" && <p className="mt-1.5 text-xs text-ink-faint">No undo: {undo}</p>}
      {undo !== null && typeof undo === "object" && (
        <div className="mt-2">
          <Button size="sm" onClick={() => setAsking(true)}>
            {undo.from === null ? "Create again" : "Undo"}
          </Button>
          {isAsking && (
            <UndoQuestion
              event={event}
              undo={undo}
              label={target?.label ?? label ?? event.target_ref}
              onClose={() => setAsking(false)}
            />
          )}
        </div>
      )}
    </div>
  );
}

import { Link } from "@tanstack/react-router";
import { buttonClass, IconButton } from "../components/button.tsx";
import { toSecretName, type SecretRow } from "./secret-table.tsx";

export interface SecretActionsProps {
  readonly row: SecretRow;
  readonly noun: "key" | "relay token";
  /** The request log can be filtered by it. */
  readonly hasRequests?: boolean | undefined;
  readonly onDelete: (row: SecretRow) => void;
}

/** The buttons of a row: to its requests, and to its end. */
export function SecretActions({ row, noun, hasRequests = false, onDelete }: SecretActionsProps) {
  return (
    <span className="flex items-center justify-end gap-1">
      {hasRequests && (
        <Link
          to="/requests"
          search={{ key: row.id }}
          className={buttonClass({ variant: "ghost", size: "sm" })}
        >
          Requests
        </Link>
      )}
      <IconButton
        label={`Delete ${noun} ${toSecretName(row)}`}
        icon="trash"
        size="sm"
        onClick={() => onDelete(row)}
      />
    </span>
  );
}

import { useMemo, useSyncExternalStore } from "react";
import { ALL_COLUMNS, COLUMNS, type RequestColumn } from "./columns.tsx";
import { type TimeZone, toZoneName } from "../../text/time-zone.ts";
import type { Room } from "./use-room.ts";

const STORAGE_KEY = "lockport.request-columns";
const CHANGED = "lockport:request-columns";

/** The ids of the columns that were chosen in this browser, in the order of the table; null when the room decides. */
export function useChosenColumns(): readonly string[] | null {
  const text = useSyncExternalStore(subscribe, read);
  return useMemo(() => toIds(text), [text]);
}

/** Null gives the choice back to the room. */
export function chooseColumns(ids: readonly string[] | null): void {
  try {
    if (ids === null) localStorage.removeItem(STORAGE_KEY);
    else localStorage.setItem(STORAGE_KEY, ids.join(" "));
  } catch {
    // Storage may be forbidden: the columns are then those of the room.
  }
  globalThis.dispatchEvent(new Event(CHANGED));
}

/** What the table shows: where there is room for one column alone, all that matters stands in it. */
export function toColumns(room: Room, chosen: readonly string[] | null): readonly RequestColumn[] {
  if (chosen === null || room === "little") return COLUMNS[room];
  return ALL_COLUMNS.filter(({ id }) => chosen.includes(id));
}

/** The columns with times in this zone, which their headers name. */
export function inZone(columns: readonly RequestColumn[], zone: TimeZone): readonly RequestColumn[] {
  if (zone === "utc") return columns;
  const name = toZoneName(new Date());
  return columns.map((column) => ({
    ...column,
    header: column.header.replace("UTC", name),
    ...(column.id === "time" && { width: "w-48" }),
  }));
}

/** A row is opened by its time, which always stands first. */
function toIds(text: string | null): readonly string[] | null {
  if (text === null) return null;
  const asked = new Set([...text.split(" "), ALL_COLUMNS[0]?.id]);
  return ALL_COLUMNS.map(({ id }) => id).filter((id) => asked.has(id));
}

function read(): string | null {
  try {
    return localStorage.getItem(STORAGE_KEY);
  } catch {
    return null;
  }
}

function subscribe(onChange: () => void): () => void {
  globalThis.addEventListener(CHANGED, onChange);
  globalThis.addEventListener("storage", onChange);
  return () => {
    globalThis.removeEventListener(CHANGED, onChange);
    globalThis.removeEventListener("storage", onChange);
  };
}

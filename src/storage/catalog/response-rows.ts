import type { KeptResponse } from "#catalog/kept-response.ts";

export type ResponseRow = Omit<KeptResponse, "event"> & KeptResponse["event"];

export function toKeptResponse({ eventId, lane, ...row }: ResponseRow): KeptResponse {
  return { ...row, event: { eventId, lane } };
}

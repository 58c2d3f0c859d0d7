import type { ReportUnit } from "#kernel/units.ts";
import { CAPABILITIES, type Capability, isCapability } from "./capability.ts";

/** The meter that reads the quantities of an answer; `counting` finds none, whatever the answer tells. */
export type MeterName =
  | "chat"
  | "responses"
  | "messages"
  | "transcription"
  | "speech"
  | "images"
  | "rerank"
  | "counting";

/** A capability that endpoints are served by. A provider's overrides and resolution are told by it. */
export type Endpoint = Exclude<Capability, "chat_stream" | "vision">;

interface EndpointRow {
  readonly method: "POST" | "GET" | "DELETE";
  /** The path behind `/v1`, and without it; `:id` is the id of a response. */
  readonly path: string;
  /** A further path, which has no other spelling. */
  readonly otherPath?: string;
  readonly capability: Endpoint;
  /** A streamed request needs this capability as well. */
  readonly streamCapability?: Capability;
  /** The format of its body; null for a request without one. */
  readonly body: "json" | "form" | "json_or_form" | null;
  /** The top-level fields that are read; no other is. */
  readonly fields: readonly ("model" | "stream" | "stream_options" | "input")[];
  readonly meter: MeterName;
  /** An answer tells the units of one of these lists: a model that has a price for each unit of one list is priced. */
  readonly tells: readonly (readonly ReportUnit[])[];
  /** `counting` asks for numbers, `by_id` for an earlier answer: both use nothing, and summaries leave them out. */
  readonly kind: "metered" | "counting" | "by_id";
  /** Its paths are served also while no model has its capability. */
  readonly isAlwaysOpen?: true;
  /** Tells how its address is made of a provider's override, which is that of the capability's first row; absent for that row. */
  readonly override?: "replaces_last_segment" | "follows";
  /** The query goes upstream as it came. */
  readonly passesQuery?: true;
}

const IN_AND_OUT = [["input_tokens", "output_tokens"]] as const;
const NOTHING = [[]] as const;
const STREAMED = ["model", "stream"] as const;
const CHAT_FIELDS = ["model", "stream", "stream_options"] as const;
const RESPONSES = { capability: "responses", meter: "responses", passesQuery: true } as const;
const BY_ID = {
  ...RESPONSES,
  body: null,
  fields: [],
  tells: NOTHING,
  kind: "by_id",
  override: "follows",
} as const;
const MESSAGES = { capability: "messages", body: "json", fields: STREAMED, passesQuery: true } as const;
const TRANSCRIPTION = {
  capability: "transcription",
  body: "form",
  fields: STREAMED,
  meter: "transcription",
  tells: [["audio_seconds"], ...IN_AND_OUT],
  kind: "metered",
  passesQuery: true,
} as const;
const IMAGES = {
  capability: "images",
  fields: STREAMED,
  meter: "images",
  tells: [["images"], ...IN_AND_OUT],
  passesQuery: true,
} as const;

/**
 * The endpoints of the data plane by the names that usage events and metrics give them: ingress, the fields that are read,
 * addresses, meters and documentation are made from these rows. The first row of a capability has its name, and is what a
 * provider's override and `GET /admin/v1/resolve` name.
 */
const ENDPOINT_TABLE = {
  chat: {
    method: "POST",
    path: "/chat/completions",
    capability: "chat",
    streamCapability: "chat_stream",
    body: "json",
    fields: CHAT_FIELDS,
    meter: "chat",
    tells: IN_AND_OUT,
    kind: "metered",
    isAlwaysOpen: true,
  },
  completions: {
    method: "POST",
    path: "/completions",
    capability: "completions",
    body: "json",
    fields: CHAT_FIELDS,
    meter: "chat",
    tells: IN_AND_OUT,
    kind: "metered",
    isAlwaysOpen: true,
  },
  embeddings: {
    method: "POST",
    path: "/embeddings",
    capability: "embeddings",
    body: "json",
    fields: ["model", "input"],
    meter: "chat",
    tells: [["input_tokens"]],
    kind: "metered",
    isAlwaysOpen: true,
  },
  responses: {
    ...RESPONSES,
    method: "POST",
    path: "/responses",
    body: "json",
    fields: STREAMED,
    tells: IN_AND_OUT,
    kind: "metered",
  },
  "responses/compact": {
    ...RESPONSES,
    method: "POST",
    path: "/responses/compact",
    body: "json",
    fields: STREAMED,
    tells: IN_AND_OUT,
    kind: "metered",
    override: "follows",
  },
  "responses/input_tokens": {
    ...RESPONSES,
    method: "POST",
    path: "/responses/input_tokens",
    body: "json",
    fields: STREAMED,
    meter: "counting",
    tells: NOTHING,
    kind: "counting",
    override: "follows",
  },
  "responses/retrieve": { ...BY_ID, method: "GET", path: "/responses/:id" },
  "responses/delete": { ...BY_ID, method: "DELETE", path: "/responses/:id" },
  "responses/cancel": { ...BY_ID, method: "POST", path: "/responses/:id/cancel" },
  "responses/input_items": { ...BY_ID, method: "GET", path: "/responses/:id/input_items" },
  messages: {
    ...MESSAGES,
    method: "POST",
    path: "/messages",
    meter: "messages",
    tells: IN_AND_OUT,
    kind: "metered",
  },
  "messages/count_tokens": {
    ...MESSAGES,
    method: "POST",
    path: "/messages/count_tokens",
    meter: "counting",
    tells: NOTHING,
    kind: "counting",
    override: "follows",
  },
  transcription: {
    ...TRANSCRIPTION,
    method: "POST",
    path: "/audio/transcriptions",
  },
  translation: {
    ...TRANSCRIPTION,
    method: "POST",
    path: "/audio/translations",
    override: "replaces_last_segment",
  },
  speech: {
    method: "POST",
    path: "/audio/speech",
    capability: "speech",
    body: "json",
    fields: ["model"],
    meter: "speech",
    tells: [["requests"], ...IN_AND_OUT],
    kind: "metered",
    passesQuery: true,
  },
  images: { ...IMAGES, method: "POST", path: "/images/generations", body: "json", kind: "metered" },
  "images/edits": {
    ...IMAGES,
    method: "POST",
    path: "/images/edits",
    body: "json_or_form",
    kind: "metered",
    override: "replaces_last_segment",
  },
  moderation: {
    method: "POST",
    path: "/moderations",
    capability: "moderation",
    body: "json",
    fields: ["model"],
    meter: "counting",
    tells: NOTHING,
    kind: "metered",
    passesQuery: true,
  },
  rerank: {
    method: "POST",
    path: "/rerank",
    otherPath: "/v2/rerank",
    capability: "rerank",
    body: "json",
    fields: ["model"],
    meter: "rerank",
    tells: [["search_units"], ["input_tokens"]],
    kind: "metered",
    passesQuery: true,
  },
} as const satisfies { readonly [name: string]: EndpointRow } & { readonly [first in Endpoint]: EndpointRow };

type Table = typeof ENDPOINT_TABLE;
export type EndpointName = keyof Table;

export const ENDPOINT_NAMES: readonly EndpointName[] = Object.keys(ENDPOINT_TABLE).filter(isEndpointName);
export const ENDPOINTS: readonly Endpoint[] = CAPABILITIES.filter(isEndpoint);

/** The row of an endpoint, as one type. */
export function toRow(name: EndpointName): EndpointRow {
  return ENDPOINT_TABLE[name];
}

export function isEndpoint(value: unknown): value is Endpoint {
  return isCapability(value) && isEndpointName(value);
}

export function isEndpointName(value: unknown): value is EndpointName {
  return typeof value === "string" && Object.hasOwn(ENDPOINT_TABLE, value);
}

/** The paths that it is served at: with `/v1` and without it, both are the same endpoint and no redirect. */
export function toPaths(name: EndpointName): readonly string[] {
  const { path, otherPath } = toRow(name);
  return [`/v1${path}`, path, ...(otherPath === undefined ? [] : [otherPath])];
}

/** Endpoints whose requests use nothing and are never billed: they ask for numbers, or for an earlier answer. */
export const UNBILLED_ENDPOINTS: ReadonlySet<string> = new Set(
  ENDPOINT_NAMES.filter((name) => toRow(name).kind !== "metered"),
);

/** True when its answers tell no units by their nature: none of them is without its usage. */
export function usesNothing(name: EndpointName): boolean {
  return toRow(name).tells.every((units) => units.length === 0);
}

/** An endpoint that a request asks for. */
export interface FoundEndpoint {
  readonly name: EndpointName;
  /** The segment at `:id`, as it came; empty for a path without one. */
  readonly id: string;
}

const STATIC = new Map<string, FoundEndpoint>();
const BY_ID_PATHS: { readonly name: EndpointName; readonly start: string; readonly end: string }[] = [];
for (const name of ENDPOINT_NAMES) {
  const { method } = toRow(name);
  for (const path of toPaths(name)) {
    const [start = "", end] = `${method} ${path}`.split(":id");
    if (end === undefined) STATIC.set(start, { name, id: "" });
    else BY_ID_PATHS.push({ name, start, end });
  }
}

/** Finds the endpoint that serves the path; null where none does. */
export function findEndpoint(method: string, pathname: string): FoundEndpoint | null {
  const asked = `${method} ${pathname}`;
  const known = STATIC.get(asked);
  if (known !== undefined) return known;
  for (const { name, start, end } of BY_ID_PATHS) {
    if (!asked.startsWith(start) || !asked.endsWith(end)) continue;
    const id = asked.slice(start.length, asked.length - end.length);
    if (id !== "" && !id.includes("/")) return { name, id };
  }
  return null;
}

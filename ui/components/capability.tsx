import { type ReactNode } from "react";
import { CAPABILITIES, type Capability } from "#catalog/capability.ts";
import { Badge } from "./chip.tsx";

/** The order in which capabilities are shown, and what people look for among them. */
export const CAPABILITY_GROUPS = ["Conversation", "Text", "Audio and images"] as const;

interface CapabilityWords {
  readonly label: string;
  /** The endpoints that it opens, and for whom. */
  readonly hint: string;
  readonly group: (typeof CAPABILITY_GROUPS)[number];
}

/** A capability's name on the page, and its meaning. */
export const CAPABILITY_WORDS = {
  chat: { label: "Chat", hint: "/v1/chat/completions", group: "Conversation" },
  chat_stream: { label: "Streaming", hint: "Chat answers word by word", group: "Conversation" },
  vision: {
    label: "Vision",
    hint: "Images in chat messages. Shown to callers, not checked",
    group: "Conversation",
  },
  responses: {
    label: "Responses",
    hint: "/v1/responses, for Codex and Agents SDKs",
    group: "Conversation",
  },
  messages: {
    label: "Messages",
    hint: "/v1/messages, for Claude Code and Anthropic SDKs",
    group: "Conversation",
  },
  completions: { label: "Completions", hint: "/v1/completions, without a conversation", group: "Text" },
  embeddings: { label: "Embeddings", hint: "/v1/embeddings", group: "Text" },
  rerank: { label: "Rerank", hint: "/v1/rerank and /v2/rerank", group: "Text" },
  moderation: { label: "Moderation", hint: "/v1/moderations", group: "Text" },
  transcription: {
    label: "Transcription",
    hint: "/v1/audio/transcriptions and translations",
    group: "Audio and images",
  },
  speech: { label: "Speech", hint: "/v1/audio/speech", group: "Audio and images" },
  images: { label: "Images", hint: "/v1/images/generations and edits", group: "Audio and images" },
} as const satisfies Record<Capability, CapabilityWords>;

/** Group by group, as the page lists them. */
export const CAPABILITIES_SHOWN: readonly Capability[] = CAPABILITY_GROUPS.flatMap((group) =>
  CAPABILITIES.filter((capability) => CAPABILITY_WORDS[capability].group === group),
);

export function toCapabilityLabel(capability: Capability): string {
  return CAPABILITY_WORDS[capability].label;
}

export interface CapabilityChipsProps {
  readonly capabilities: readonly Capability[];
}

/** The declared capabilities of a model, always in the same order. */
export function CapabilityChips({ capabilities }: CapabilityChipsProps): ReactNode {
  return (
    <ul aria-label="Capabilities" className="flex flex-wrap gap-1">
      {CAPABILITIES_SHOWN.filter((capability) => capabilities.includes(capability)).map((capability) => (
        <li key={capability} className="flex">
          <Badge title={CAPABILITY_WORDS[capability].hint}>{toCapabilityLabel(capability)}</Badge>
        </li>
      ))}
    </ul>
  );
}

/** The part that the costs of a model with built-in tools leave out. */
export function BuiltInToolsNote({ capabilities }: CapabilityChipsProps): ReactNode {
  if (!capabilities.includes("responses")) return null;
  return (
    <p className="mt-2 max-w-prose text-xs text-ink-soft">
      Built-in tools that a provider bills by the call and reports only within <code>output</code> are not
      metered.
    </p>
  );
}

import { type ReactNode } from "react";
import { CAPABILITIES, type Capability } from "#catalog/capability.ts";
import { Badge } from "./chip.tsx";

/** What a capability is called on the page. */
export const CAPABILITY_LABEL = {
  chat: "Chat",
  chat_stream: "Streaming",
  completions: "Completions",
  embeddings: "Embeddings",
  transcription: "Transcription",
  vision: "Vision",
  responses: "Responses",
  messages: "Messages",
  speech: "Speech",
  images: "Images",
  moderation: "Moderation",
  rerank: "Rerank",
} as const satisfies Record<Capability, string>;

const MEANING = {
  chat: "Answers POST /v1/chat/completions",
  chat_stream: "Answers chat as a stream",
  completions: "Answers POST /v1/completions",
  embeddings: "Answers POST /v1/embeddings",
  transcription: "Answers POST /v1/audio/transcriptions and translations",
  vision: "Takes images in chat messages",
  responses: "Answers POST /v1/responses",
  messages: "Answers POST /v1/messages",
  speech: "Answers POST /v1/audio/speech",
  images: "Answers POST /v1/images/generations and edits",
  moderation: "Answers POST /v1/moderations",
  rerank: "Answers POST /v1/rerank and /v2/rerank",
} as const satisfies Record<Capability, string>;

export interface CapabilityChipsProps {
  readonly capabilities: readonly Capability[];
}

/** What a model is declared to do, always in the same order. */
export function CapabilityChips({ capabilities }: CapabilityChipsProps): ReactNode {
  return (
    <ul aria-label="Capabilities" className="flex flex-wrap gap-1">
      {CAPABILITIES.filter((capability) => capabilities.includes(capability)).map((capability) => (
        <li key={capability} className="flex">
          <Badge title={MEANING[capability]}>{CAPABILITY_LABEL[capability]}</Badge>
        </li>
      ))}
    </ul>
  );
}

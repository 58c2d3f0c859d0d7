import { useEffect, useState } from "react";
import { isJsonObject, parseJson } from "#usage/json.ts";
import { type Settings, SETTINGS_DEFAULT } from "./settings-card.tsx";

/** What is typed in the playground and not sent. */
export interface Draft {
  readonly text: string;
  readonly settings: Settings;
  /** The alias that was chosen last; null: none was. */
  readonly model: string | null;
}

const STORAGE_KEY = "lockport.playground";
const EMPTY: Draft = { text: "", settings: SETTINGS_DEFAULT, model: null };

/** Keeps the draft in this tab, over other pages and a reload, for the person who wrote it. What was sent is not in it. */
export function useDraft(owner: string): readonly [Draft, (part: Partial<Draft>) => void] {
  const [draft, setDraft] = useState(() => readDraft(owner));
  useEffect(() => writeDraft(owner, draft), [owner, draft]);
  return [draft, (part) => setDraft((before) => ({ ...before, ...part }))];
}

function writeDraft(owner: string, draft: Draft): void {
  try {
    sessionStorage.setItem(STORAGE_KEY, JSON.stringify({ owner, ...draft }));
  } catch {
    // A browser that keeps nothing loses it with the page, as it did before.
  }
}

function readDraft(owner: string): Draft {
  const kept = readKept();
  if (!isJsonObject(kept) || kept["owner"] !== owner) return EMPTY;
  const { text, model, settings } = kept;
  return {
    text: typeof text === "string" ? text : "",
    model: typeof model === "string" ? model : null,
    settings: isJsonObject(settings) ? toSettings(settings) : SETTINGS_DEFAULT,
  };
}

function readKept(): unknown {
  try {
    return parseJson(sessionStorage.getItem(STORAGE_KEY) ?? "");
  } catch {
    return null;
  }
}

function toSettings({
  endpoint,
  system,
  temperature,
  maxTokens,
  stream,
}: {
  readonly [name: string]: unknown;
}): Settings {
  return {
    endpoint: endpoint === "responses" ? endpoint : SETTINGS_DEFAULT.endpoint,
    system: typeof system === "string" ? system : SETTINGS_DEFAULT.system,
    temperature: typeof temperature === "number" ? temperature : null,
    maxTokens: typeof maxTokens === "number" ? maxTokens : null,
    stream: stream !== false,
  };
}

import { type JsonObject, isJsonObject } from "./json.ts";
import { type Meter, type MeterDialect, type MeterOptions, createMeter, createTelling } from "./meter.ts";
import type { UsageAccumulator } from "./usage-accumulator.ts";

/** Each holds the whole text, or ends the audio (`TranscriptionTextDoneEvent` of openai 7.57, and its API reference for speech). */
const TEXT_DONE_TYPE = "transcript.text.done";
const AUDIO_DONE_TYPE = "speech.audio.done";

/** Transcriptions and translations. */
const TRANSCRIPTION: MeterDialect = {
  addUsage(body, accumulator) {
    if (addTranscriptionUsage(body, accumulator)) return;
    // `TranscriptionVerbose.duration`: seconds of the audio, as its `usage.seconds` are where that is told.
    accumulator.addQuantity("audio_seconds", body["duration"]);
  },
  addEventUsage: (event, accumulator) =>
    event["type"] === TEXT_DONE_TYPE && addTranscriptionUsage(event, accumulator),
  endsAnswer: () => false,
  isLast: ({ type }) => type === TEXT_DONE_TYPE,
  defaultsToExclusive: false,
  telling: createTelling(TEXT_DONE_TYPE),
};

/** Speech: audio tells nothing, and a stream of events tells it with its last. */
const SPEECH: MeterDialect = {
  addUsage: () => undefined,
  addEventUsage: ({ type, usage }, accumulator) => type === AUDIO_DONE_TYPE && accumulator.add(usage),
  endsAnswer: () => false,
  isLast: ({ type }) => type === AUDIO_DONE_TYPE,
  defaultsToExclusive: false,
  telling: createTelling(AUDIO_DONE_TYPE),
};

/** A meter for one transcription or translation. */
export function createTranscriptionMeter(options: MeterOptions): Meter {
  return createMeter(TRANSCRIPTION, options);
}

/** A meter for one answer of speech. */
export function createSpeechMeter(options: MeterOptions): Meter {
  return createMeter(SPEECH, options);
}

/**
 * `Transcription.Tokens` or `Transcription.Duration` of openai 7.57, by its `type`; usage without one is read by its fields
 * (Mistral's has tokens and `prompt_audio_seconds`).
 */
function addTranscriptionUsage({ usage }: JsonObject, accumulator: UsageAccumulator): boolean {
  if (!isJsonObject(usage)) return false;
  const { type, seconds } = usage;
  const hasSeconds = type !== "tokens" && accumulator.addQuantity("audio_seconds", seconds);
  const hasTokens = type !== "duration" && accumulator.add(usage);
  return hasSeconds || hasTokens;
}

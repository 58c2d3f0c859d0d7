import { type Meter, type MeterDialect, type MeterOptions, createMeter, createTelling } from "./meter.ts";

/** Each holds an image (`ImageGenCompletedEvent`, `ImageEditCompletedEvent` of openai 7.57); partial ones are none. */
const COMPLETED_TYPES = ["image_generation.completed", "image_edit.completed"] as const;
const COMPLETED: ReadonlySet<unknown> = new Set(COMPLETED_TYPES);

/** Generations and edits of images: GPT's tell tokens (`ImagesResponse.Usage`), all others are counted. */
const IMAGES: MeterDialect = {
  addUsage({ usage, data }, accumulator) {
    if (!accumulator.add(usage) && Array.isArray(data)) accumulator.countUntold("images", data.length);
  },
  addEventUsage({ type, usage }, accumulator) {
    if (!COMPLETED.has(type)) return false;
    if (!accumulator.add(usage)) accumulator.countUntold("images", 1);
    return true;
  },
  endsAnswer: () => false,
  isLast: ({ type }) => COMPLETED.has(type),
  countsItems: true,
  defaultsToExclusive: false,
  telling: createTelling(...COMPLETED_TYPES),
};

/** A meter for one answer with images. */
export function createImagesMeter(options: MeterOptions): Meter {
  return createMeter(IMAGES, options);
}

import { toSize } from "./figures.ts";
import { CommandError } from "./failure.ts";

/** What is read into memory whole has a limit, and a name that the refusal tells. */
export interface TextLimit {
  /** `stdin`, or `The file prices.json`. */
  readonly name: string;
  readonly bytesMax: number;
}

/** UTF-8 text of a stream, without a byte order mark. Throws a `CommandError` as soon as it is longer than its limit. */
export async function collectText(
  chunks: AsyncIterable<Uint8Array>,
  { name, bytesMax }: TextLimit,
): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  let sizeBytes = 0;
  for await (const chunk of chunks) {
    sizeBytes += chunk.byteLength;
    if (sizeBytes > bytesMax)
      throw new CommandError("failure", `${name} holds more than ${toSize(bytesMax)}: is it the right one?`);
    text += decoder.decode(chunk, { stream: true });
  }
  return text + decoder.decode();
}

import type { Coding } from "#http/door/negotiation.ts";

interface EmbeddedVariant {
  readonly coding: Coding;
  /** Its path in the executable. */
  readonly file: string;
  readonly etag: string;
}

export interface EmbeddedFile {
  /** The path that a browser asks for; `/` is the html. */
  readonly path: string;
  readonly contentType: string;
  readonly variants: readonly EmbeddedVariant[];
}

/** Empty from source. The build of the executable puts the page in here (`contrib/build/embed.ts`). */
export const EMBEDDED_FILES: readonly EmbeddedFile[] = [];

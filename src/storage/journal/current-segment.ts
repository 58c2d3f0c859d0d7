import { describeCause, type Log } from "#kernel/log.ts";
import { SegmentFile, type WriteAt } from "./segment-file.ts";
import { segmentPath } from "./segments.ts";

/** A segment that has grown past this is followed by a new one. */
const SEGMENT_BYTES_MAX = 8 * 1024 * 1024;
/** Numbers of lines are given anew after so much, so that a damaged block of a disk costs no more of a segment than this. */
const STRETCH_BYTES_MAX = 4 * 1024 * 1024;
/** The part of the reserved room that is kept for the ends of requests under way: some 8,000. */
const ENDS_BYTES_MIN = 512 * 1024;

export interface CurrentSegmentOptions {
  readonly directory: string;
  readonly firstSegment: number;
  readonly log: Log;
  readonly segmentBytesMax?: number;
  /** Replaced by tests that need a disk that fails. */
  readonly write?: WriteAt | undefined;
  /** Called with the file that lines went to, once they go to another one. */
  readonly onRetired: (file: SegmentFile) => void;
}

/** The segment that lines go to, with the room ahead of them, and what follows when it is full. */
export class CurrentSegment {
  readonly #options: CurrentSegmentOptions;
  readonly #bytesMax: number;
  #number: number;
  #file: SegmentFile;
  #rotateAtBytes: number;
  #stretch = 0;
  #stretchEndBytes = STRETCH_BYTES_MAX;
  #hasNoRoom = false;

  /** Throws what the file system does, but for a disk that has no room to reserve. */
  constructor(options: CurrentSegmentOptions) {
    this.#options = options;
    this.#bytesMax = options.segmentBytesMax ?? SEGMENT_BYTES_MAX;
    this.#number = options.firstSegment;
    this.#rotateAtBytes = this.#bytesMax;
    this.#file = new SegmentFile(segmentPath(options.directory, this.#number), options.write);
    this.#reserve();
  }

  get number(): number {
    return this.#number;
  }

  get stretch(): number {
    return this.#stretch;
  }

  get file(): SegmentFile {
    return this.#file;
  }

  /** True: the room that is left is for what is under way. Tries to get more before it says so. */
  isShort(): boolean {
    return this.#hasNoRoom && this.#file.reservedBytes < ENDS_BYTES_MIN && !this.#reserve();
  }

  /** Called after a write that ends with a line, when nothing waits: what comes next may go to another stretch or segment. */
  endLines(): void {
    const { sizeBytes } = this.#file;
    if (sizeBytes >= this.#rotateAtBytes) this.rotate();
    else if (sizeBytes >= this.#stretchEndBytes) this.#beginStretch();
    this.#reserve();
  }

  /** Only between two lines, and only when nothing waits: the reader takes a following segment as proof of that. */
  rotate(): void {
    const { directory, log, write, onRetired } = this.#options;
    try {
      const former = this.#file;
      this.#file = SegmentFile.makeWithRoom(segmentPath(directory, this.#number + 1), write);
      this.#number += 1;
      this.#beginStretch();
      onRetired(former);
      // Last: readers leave the former one for good once the next is there, and bear the zeros at its end.
      former.trim();
    } catch (cause) {
      log.warn("usage journal: a change of segment was not complete", describeCause(cause));
    }
    this.#rotateAtBytes = this.#file.sizeBytes + this.#bytesMax;
  }

  /** Restores the lines under the segment's name. Throws what the file system does. */
  restoreFile(): void {
    const former = this.#file;
    this.#file = former.restore();
    this.#options.onRetired(former);
    this.#reserve();
  }

  close(): void {
    try {
      this.#file.finish();
    } catch (cause) {
      const { log } = this.#options;
      log.warn("usage journal: what it had reserved is not given back to the disk", describeCause(cause));
    }
  }

  /** Takes room ahead of the lines; false when the disk has none. */
  #reserve(): boolean {
    const { log } = this.#options;
    try {
      this.#file.reserve();
      if (this.#hasNoRoom) log.info("usage journal: the disk has room again");
      this.#hasNoRoom = false;
    } catch (cause) {
      if (!this.#hasNoRoom)
        log.error(
          "usage journal: the disk is full; new requests are refused once the rest is needed for running ones",
          { reserved_bytes: this.#file.reservedBytes, ...describeCause(cause) },
        );
      this.#hasNoRoom = true;
    }
    return !this.#hasNoRoom;
  }

  #beginStretch(): void {
    this.#stretch += 1;
    this.#stretchEndBytes = this.#file.sizeBytes + STRETCH_BYTES_MAX;
  }
}

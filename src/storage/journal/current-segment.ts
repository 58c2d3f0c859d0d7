import { describeCause, type Log } from "#kernel/log.ts";
import { Reservation } from "./reservation.ts";
import { SegmentFile, type WriteAt } from "./segment-file.ts";
import { segmentPath } from "./segments.ts";

/** A segment that has grown past this is followed by a new one. */
const SEGMENT_BYTES_MAX = 8 * 1024 * 1024;
/** Numbers of lines are given anew after so much, so that a damaged block of a disk costs no more of a segment than this. */
const STRETCH_BYTES_MAX = 4 * 1024 * 1024;

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
  readonly #reservation: Reservation;
  readonly #bytesMax: number;
  #number: number;
  #file: SegmentFile;
  #rotateAtBytes: number;
  #stretch = 0;
  #stretchEndBytes = STRETCH_BYTES_MAX;

  /** Throws what the file system does, but for a disk that has no room to reserve. */
  constructor(options: CurrentSegmentOptions) {
    this.#options = options;
    this.#bytesMax = options.segmentBytesMax ?? SEGMENT_BYTES_MAX;
    this.#number = options.firstSegment;
    this.#rotateAtBytes = this.#bytesMax;
    this.#file = new SegmentFile(segmentPath(options.directory, this.#number), options.write);
    this.#reservation = new Reservation({ findFile: () => this.#file, log: options.log });
    this.#reservation.renew();
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

  /** Whether the room that is left is for what is under way. */
  isShort(): boolean {
    return this.#reservation.isShort();
  }

  /** Called after a write that ends with a line, when nothing waits: what comes next may go to another stretch or segment. */
  endLines(): void {
    const { sizeBytes } = this.#file;
    if (sizeBytes >= this.#rotateAtBytes) this.rotate();
    else if (sizeBytes >= this.#stretchEndBytes) this.#beginStretch();
    this.#reservation.renew();
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

  /** Puts the lines back under the segment's name. Throws what the file system does. */
  putBack(): void {
    const former = this.#file;
    this.#file = former.putBack();
    this.#options.onRetired(former);
    this.#reservation.renew();
  }

  close(): void {
    try {
      this.#file.finish();
    } catch (cause) {
      const { log } = this.#options;
      log.warn("usage journal: what it had reserved is not given back to the disk", describeCause(cause));
    }
  }

  #beginStretch(): void {
    this.#stretch += 1;
    this.#stretchEndBytes = this.#file.sizeBytes + STRETCH_BYTES_MAX;
  }
}

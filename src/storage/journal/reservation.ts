import { describeCause, type Log } from "#kernel/log.ts";
import type { SegmentFile } from "./segment-file.ts";

/** The part of the reserved room that is kept for the ends of requests under way: some 8,000. */
const ENDS_BYTES_MIN = 512 * 1024;

export interface ReservationOptions {
  /** The segment that lines go to now. */
  readonly findFile: () => SegmentFile;
  readonly log: Log;
}

/** Keeps room ahead of the journal's lines, and knows when a disk has none left to give. */
export class Reservation {
  readonly #options: ReservationOptions;
  #hasNoRoom = false;

  constructor(options: ReservationOptions) {
    this.#options = options;
  }

  /** Whether the room that is left is for what is under way. Tries to get more before it says so. */
  isShort(): boolean {
    const { findFile } = this.#options;
    return this.#hasNoRoom && findFile().reservedBytes < ENDS_BYTES_MIN && !this.renew();
  }

  /** Takes room ahead of the lines; false when the disk has none. */
  renew(): boolean {
    const { findFile, log } = this.#options;
    const file = findFile();
    try {
      file.reserve();
      if (this.#hasNoRoom) log.info("usage journal: the disk has room again");
      this.#hasNoRoom = false;
    } catch (cause) {
      if (!this.#hasNoRoom)
        log.error(
          "usage journal: the disk is full; new requests are refused once the rest is needed for running ones",
          { reserved_bytes: file.reservedBytes, ...describeCause(cause) },
        );
      this.#hasNoRoom = true;
    }
    return !this.#hasNoRoom;
  }
}

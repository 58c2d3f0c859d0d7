import { closeSync, existsSync, ftruncateSync, readSync, renameSync, rmSync, writeSync } from "node:fs";
import { dirname } from "node:path";
import { findFileIdentity, toFileIdentity } from "#storage/files/file-watch.ts";
import { makePrivateFolder, openPrivateFile, putAside } from "#storage/files/private-file.ts";
import { UNFINISHED } from "./segments.ts";

/** Room that a segment has on the disk ahead of its lines: what some 10,000 requests use. */
const RESERVED_BYTES_MIN = 1024 * 1024;
/** Reserved at once: 0.1 ms of the thread that serves. */
const STEP_BYTES = 256 * 1024;
const ZEROS = new Uint8Array(STEP_BYTES);

/** Writes at a position and returns how much the disk took. */
export type WriteAt = (fd: number, bytes: Uint8Array, position: number) => number;

const writeAt: WriteAt = (fd, bytes, position) => writeSync(fd, bytes, 0, bytes.length, position);

/**
 * The file of a segment while lines are appended to it. Its room is taken ahead by writing zeros, which lines then
 * replace: a disk that fills up has a place for what is under way. A line holds no zero byte, so that readers take the first
 * one for the end. Where a file system gives each write a new place (btrfs, ZFS), this reserves nothing.
 */
export class SegmentFile {
  readonly path: string;
  readonly fd: number;
  readonly #write: WriteAt;
  #sizeBytes = 0;
  #endBytes = 0;

  /** Makes the file, which will have the name. Throws what the file system does. */
  constructor(path: string, write: WriteAt = writeAt, name = path) {
    this.path = name;
    this.#write = write;
    this.fd = openPrivateFile(path, "wx+");
  }

  /**
   * Makes the file, which gets its name only once its room is reserved: readers take a name for the end of the
   * segment before, which goes on when the disk has no room for another.
   */
  static makeWithRoom(path: string, write?: WriteAt): SegmentFile {
    // A rename would replace what another server has begun there.
    if (existsSync(path)) throw new Error("a segment of this number is there already");
    return SegmentFile.#make(path, write, (file) => file.reserve());
  }

  /** Makes a file under a name of its own, and moves it to its path once `fill` is done. */
  static #make(path: string, write: WriteAt | undefined, fill: (file: SegmentFile) => void): SegmentFile {
    const unfinished = `${path}${UNFINISHED}`;
    rmSync(unfinished, { force: true });
    const file = new SegmentFile(unfinished, write, path);
    try {
      fill(file);
      renameSync(unfinished, path);
      return file;
    } catch (cause) {
      file.close();
      rmSync(unfinished, { force: true });
      throw cause;
    }
  }

  /** The size of the lines alone, without the room ahead of them. */
  get sizeBytes(): number {
    return this.#sizeBytes;
  }

  /** Room that the disk has promised. */
  get reservedBytes(): number {
    return this.#endBytes - this.#sizeBytes;
  }

  /** Returns how much the disk took; throws what the file system does. */
  append(bytes: Uint8Array): number {
    const taken = this.#write(this.fd, bytes, this.#sizeBytes);
    this.#sizeBytes += taken;
    this.#endBytes = Math.max(this.#endBytes, this.#sizeBytes);
    return taken;
  }

  /** Takes room ahead unless there is enough. Throws what the file system does when it has none left. */
  reserve(): void {
    while (this.reservedBytes < RESERVED_BYTES_MIN) {
      const taken = this.#write(this.fd, ZEROS, this.#endBytes);
      if (taken === 0) throw new Error("the disk takes nothing");
      this.#endBytes += taken;
    }
  }

  /** False: another file, or none, is under its name. */
  isInPlace(): boolean {
    return findFileIdentity(this.path) === toFileIdentity(this.fd);
  }

  /** Copies the lines of a file that has lost its name into one under it; what has taken the name is put aside. */
  restore(): SegmentFile {
    const folder = dirname(this.path);
    if (!existsSync(folder)) makePrivateFolder(folder);
    const lines = Buffer.alloc(this.#sizeBytes);
    readSync(this.fd, lines, 0, lines.length, 0);
    return SegmentFile.#make(this.path, this.#write, (copy) => {
      for (let at = 0; at < lines.length;) at += copy.append(lines.subarray(at));
      putAside(this.path);
    });
  }

  /** Gives back what is reserved: no more lines come. */
  trim(): void {
    ftruncateSync(this.fd, this.#sizeBytes);
    this.#endBytes = this.#sizeBytes;
  }

  close(): void {
    closeSync(this.fd);
  }

  /** Gives back what is reserved and closes the file, also when that fails; throws what the file system does. */
  finish(): void {
    try {
      this.trim();
    } finally {
      this.close();
    }
  }
}

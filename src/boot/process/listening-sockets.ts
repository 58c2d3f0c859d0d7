import { ptr } from "bun:ffi";
import { readdirSync, readlinkSync, closeSync, openSync } from "node:fs";
import { systemCode } from "#kernel/system-code.ts";
import type { Log } from "#kernel/log.ts";
import { openSystemLibrary } from "./system-library.ts";

/**
 * SO_RCVBUF of connections that are accepted from now on: the most that a usual kernel grants (net.core.rmem_max), of which
 * it makes twice as much (socket(7)).
 *
 * The runtime reads 512 KiB at a time, and up to eleven times from one connection in one turn of the event loop while each
 * read is full. In chunks of one byte such a read takes 4.5 ms, so that twenty connections kept everybody else waiting for
 * more than a second. A buffer of less than one read makes it one read a turn.
 */
export const RECEIVE_BUFFER_BYTES = 208 * 1024;

/**
 * SO_SNDBUF of connections that are accepted from now on, of which the kernel makes twice as much. By default it grows to 4 MB
 * for a caller that does not read, and each such stream is only known for one once that is full: meanwhile the runtime reads
 * on from its upstream, and 1,000 streams at once were 947 MB (measured).
 */
export const SEND_BUFFER_BYTES = 208 * 1024;

/** In asm-generic/socket.h, as x64 and arm64 have it. */
const SOL_SOCKET = 1;
const SO_SNDBUF = 7;
const SO_RCVBUF = 8;
const SO_ATTACH_FILTER = 26;
const SO_DETACH_FILTER = 27;
const SO_ACCEPTCONN = 30;
const INT_BYTES = 4;

/**
 * A program of linux/filter.h that drops a packet which asks for a connection and takes all others: code, jumps when true and
 * false, and a value. Flags are the 14th byte of a TCP header, and SYN is their second bit (RFC 9293, section 3.1).
 */
const DROP_SYN = [
  { code: 0x30, ifTrue: 0, ifFalse: 0, value: 13 }, // load a byte
  { code: 0x45, ifTrue: 0, ifFalse: 1, value: 0x02 }, // test its bits
  { code: 0x06, ifTrue: 0, ifFalse: 0, value: 0 }, // take nothing
  { code: 0x06, ifTrue: 0, ifFalse: 0, value: 0xffff_ffff }, // take all
];
const INSTRUCTION_BYTES = 8;
const PROGRAM_BYTES = 16;
/** Above any socket address; the port stands behind the family in all of IPv4 and IPv6 (ip(7), ipv6(7)). */
const ADDRESS_BYTES = 128;
const PORT_AT = 2;

/** More than a queue holds (net.core.somaxconn is 4,096): a caller that connects faster ends no turn of the event loop. */
const DROPPED_MAX = 8_192;

/**
 * Bounds what the kernel keeps for a connection before the process, or its caller, reads it, on all sockets that the process
 * listens on; the runtime has no setting for it. Returns how many there are: none where the system is no Linux or has no such
 * library, which costs the bounds and nothing else.
 */
export function boundBuffers(): number {
  const received = new Int32Array([RECEIVE_BUFFER_BYTES]);
  const sent = new Int32Array([SEND_BUFFER_BYTES]);
  return withLibrary((library) =>
    library
      .listening()
      .filter((socket) => library.set(socket, SO_SNDBUF, sent) && library.set(socket, SO_RCVBUF, received)),
  ).length;
}

/**
 * No connection is made to this port from here on, and those that were made can still send and be accepted: a socket that is
 * closed with connections in its queue resets them, and the runtime leaves each there until its first bytes have come
 * (TCP_DEFER_ACCEPT). A caller's first packet is dropped, and its next one, a second later, is refused by a socket that is
 * closed by then. Returns whether the system does that.
 */
export function refuseConnections(port: number): boolean {
  // In one piece, which lives for as long as the system reads it: the head, which points to the instructions behind it.
  const bytes = new Uint8Array(PROGRAM_BYTES + DROP_SYN.length * INSTRUCTION_BYTES);
  const program = new DataView(bytes.buffer);
  program.setUint16(0, DROP_SYN.length, true);
  program.setBigUint64(8, BigInt(ptr(bytes) + PROGRAM_BYTES), true);
  for (const [index, { code, ifTrue, ifFalse, value }] of DROP_SYN.entries()) {
    const at = PROGRAM_BYTES + index * INSTRUCTION_BYTES;
    program.setUint16(at, code, true);
    program.setUint8(at + 2, ifTrue);
    program.setUint8(at + 3, ifFalse);
    program.setUint32(at + 4, value, true);
  }
  return setOption(port, SO_ATTACH_FILTER, bytes.subarray(0, PROGRAM_BYTES));
}

/** Connections to this port are made again. */
function admitConnections(port: number): boolean {
  return setOption(port, SO_DETACH_FILTER, new Int32Array(1));
}

/** Closes the connections to this port that wait to be accepted. Returns how many there were. */
function dropWaiting(port: number): number {
  return withLibrary((library) =>
    library
      .listening()
      .filter((socket) => library.findPort(socket) === port)
      .flatMap((socket) => library.drop(socket)),
  ).length;
}

/** Sets an option of every socket that listens on this port. Returns whether one took it. */
function setOption(port: number, option: number, value: Int32Array | Uint8Array): boolean {
  const set = withLibrary((library) =>
    library
      .listening()
      .filter((socket) => library.findPort(socket) === port)
      .filter((socket) => library.set(socket, option, value)),
  );
  return set.length > 0;
}

interface SocketLibrary {
  /** Descriptors of all sockets that the process listens on. */
  listening(): readonly number[];
  findPort(socket: number): number | null;
  /** True when the option was set. */
  set(socket: number, option: number, value: Int32Array | Uint8Array): boolean;
  /** Accepts what waits and closes it, each in turn, so that one free descriptor is enough. Returns what was closed. */
  drop(socket: number): readonly number[];
}

const SOCKET_FUNCTIONS = {
  accept: { args: ["i32", "ptr", "ptr"], returns: "i32" },
  close: { args: ["i32"], returns: "i32" },
  getsockname: { args: ["i32", "ptr", "ptr"], returns: "i32" },
  getsockopt: { args: ["i32", "i32", "i32", "ptr", "ptr"], returns: "i32" },
  setsockopt: { args: ["i32", "i32", "i32", "ptr", "u32"], returns: "i32" },
} as const;

/** Returns what `use` does; nothing where there is no such library. */
function withLibrary(use: (library: SocketLibrary) => readonly number[]): readonly number[] {
  const library = openSystemLibrary(SOCKET_FUNCTIONS);
  if (library === null) return [];
  const { accept, close, getsockname, getsockopt, setsockopt } = library.symbols;
  const isListening = (socket: number): boolean => {
    const value = new Int32Array(1);
    const length = new Uint32Array([INT_BYTES]);
    return getsockopt(socket, SOL_SOCKET, SO_ACCEPTCONN, ptr(value), ptr(length)) === 0 && value[0] === 1;
  };
  try {
    return use({
      listening: () => listSockets().filter(isListening),
      findPort(socket) {
        const address = new Uint8Array(ADDRESS_BYTES);
        const failed = getsockname(socket, ptr(address), ptr(new Uint32Array([ADDRESS_BYTES])));
        return failed === 0 ? new DataView(address.buffer).getUint16(PORT_AT) : null;
      },
      set: (socket, option, value) =>
        setsockopt(socket, SOL_SOCKET, option, ptr(value), value.byteLength) === 0,
      drop(socket) {
        const dropped: number[] = [];
        while (dropped.length < DROPPED_MAX) {
          const connection = accept(socket, null, null);
          if (connection < 0) break;
          close(connection);
          dropped.push(connection);
        }
        return dropped;
      },
    });
  } finally {
    library.close();
  }
}

function listSockets(): readonly number[] {
  const folder = "/proc/self/fd";
  try {
    return readdirSync(folder).flatMap((name) => (isSocket(`${folder}/${name}`) ? [Number(name)] : []));
  } catch {
    return [];
  }
}

function isSocket(path: string): boolean {
  try {
    return readlinkSync(path).startsWith("socket:");
  } catch {
    // The one by which the folder was read is closed already.
    return false;
  }
}

/** Kept, since finding the listener opens files itself. So many more must be free before connections are made again. */
const SPARE = 16;
const LOOK_INTERVAL_MS = 250;

/**
 * Without a free descriptor `accept` fails, the listener stays readable, and the runtime's loop spins on it with most of a
 * core. So a few descriptors are kept: once no other is free, the kept ones serve to close what waits in the listener's queue,
 * and no connection is made until some are free again. Open connections go on. Returns what ends it.
 * Other systems than Linux have no such means, and nothing is kept there.
 */
export function keepSpareDescriptors(port: number, log: Log): () => void {
  if (process.platform !== "linux") return () => undefined;
  let spare = openDescriptors(SPARE);
  let isRefusing = false;
  const relieve = () => {
    closeAll(spare);
    refuseConnections(port);
    const dropped = dropWaiting(port);
    spare = openDescriptors(SPARE);
    if (isRefusing) return;
    isRefusing = true;
    log.warn(
      "all descriptors are in use: no connection is made until some are free; give the process more (ulimit -n)",
      { dropped },
    );
  };
  const look = () => {
    const free = openDescriptors(isRefusing ? SPARE : 1);
    closeAll(free);
    if (free.length === 0 || spare.length < SPARE) return relieve();
    if (!isRefusing || free.length < SPARE) return;
    isRefusing = !admitConnections(port);
    log.info("descriptors are free again: connections are made");
  };
  const timer = setInterval(look, LOOK_INTERVAL_MS);
  timer.unref();
  return () => {
    clearInterval(timer);
    closeAll(spare);
  };
}

/** As many as there are free, at most `count`. */
function openDescriptors(count: number): readonly number[] {
  const opened: number[] = [];
  try {
    while (opened.length < count) opened.push(openSync("/dev/null", "r"));
  } catch (cause) {
    if (systemCode(cause) !== "EMFILE" && systemCode(cause) !== "ENFILE") throw cause;
  }
  return opened;
}

function closeAll(descriptors: readonly number[]): void {
  for (const descriptor of descriptors) closeSync(descriptor);
}

import { dlopen, ptr } from "bun:ffi";
import { readdirSync, readlinkSync } from "node:fs";

/**
 * SO_RCVBUF of connections that are accepted from now on: the most that a usual kernel grants (net.core.rmem_max), of which
 * it makes twice as much (socket(7)).
 *
 * The runtime reads 512 KiB at a time, and up to eleven times from one connection in one turn of the event loop while each
 * read is full. In chunks of one byte such a read takes 4.5 ms, so that twenty connections kept everybody else waiting for
 * more than a second. A buffer of less than one read makes it one read a turn.
 */
export const RECEIVE_BUFFER_BYTES = 208 * 1024;

/** In asm-generic/socket.h, as x64 and arm64 have it. */
const SOL_SOCKET = 1;
const SO_RCVBUF = 8;
const SO_ACCEPTCONN = 30;
const INT_BYTES = 4;

/** glibc's name, and musl's. */
const LIBRARIES = ["libc.so.6", "libc.musl-x86_64.so.1", "libc.musl-aarch64.so.1"];

/**
 * Bounds what the kernel takes in for a connection before the process reads it, on all sockets that the process listens on;
 * the runtime has no setting for it. Returns how many there are: none where the system is no Linux or has no such library,
 * which costs the bound and nothing else.
 */
export function boundReceiveBuffers(): number {
  if (process.platform !== "linux") return 0;
  const library = openLibrary();
  if (library === null) return 0;
  const { getsockopt, setsockopt } = library.symbols;
  const isListening = (socket: number): boolean => {
    const value = new Int32Array(1);
    const length = new Uint32Array([INT_BYTES]);
    return getsockopt(socket, SOL_SOCKET, SO_ACCEPTCONN, ptr(value), ptr(length)) === 0 && value[0] === 1;
  };
  const size = new Int32Array([RECEIVE_BUFFER_BYTES]);
  try {
    return listSockets()
      .filter(isListening)
      .filter((socket) => setsockopt(socket, SOL_SOCKET, SO_RCVBUF, ptr(size), INT_BYTES) === 0).length;
  } finally {
    library.close();
  }
}

function openLibrary() {
  for (const name of LIBRARIES) {
    try {
      return dlopen(name, {
        getsockopt: { args: ["i32", "i32", "i32", "ptr", "ptr"], returns: "i32" },
        setsockopt: { args: ["i32", "i32", "i32", "ptr", "u32"], returns: "i32" },
      });
    } catch {
      // The next name.
    }
  }
  return null;
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

import { dlopen, type FFIFunction } from "bun:ffi";

/** glibc's name, and musl's. */
const NAMES = ["libc.so.6", "libc.musl-x86_64.so.1", "libc.musl-aarch64.so.1"];

/** Functions of Linux's C library; null where the system is no Linux, or has no such library. */
export function openSystemLibrary<Functions extends Record<string, FFIFunction>>(functions: Functions) {
  if (process.platform !== "linux") return null;
  for (const name of NAMES) {
    try {
      return dlopen(name, functions);
    } catch {
      // The next name.
    }
  }
  return null;
}

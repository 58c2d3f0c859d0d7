import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { executable } from "../support/executable.ts";
import { makeFolder } from "../support/folder.ts";
import { runProcess, startProcess } from "../support/process.ts";

const WEAKENING = {
  NODE_TLS_REJECT_UNAUTHORIZED: "0",
  NODE_OPTIONS: "--max-old-space-size=64",
  BUN_CONFIG_VERBOSE_FETCH: "curl",
  BUN_OPTIONS: "--smol",
  BUN_JSC_useJIT: "0",
};

describe.skipIf(process.platform !== "linux")("variables of the runtime that weaken the server", () => {
  test.each([
    ["at its start", {}],
    ["also where the cap on requests is lifted already", { BUN_CONFIG_MAX_HTTP_REQUESTS: "65336" }],
  ])(
    "are unset %s, and one line of the log names them, never their values",
    async (_when, lifted) => {
      const lockport = await executable();
      const folder = makeFolder();
      const kept = { PROXY_DATA_DIR: folder.path, NODE_EXTRA_CA_CERTS: "/dev/null", TZ: "UTC" };
      const server = await startProcess([lockport], { env: { ...WEAKENING, ...lifted, ...kept } });
      try {
        const variables = readFileSync(`/proc/${server.pid}/environ`, "utf8").split("\0");
        const names = variables.map((variable) => variable.replace(/=.*$/s, ""));
        expect(names.filter((name) => Object.hasOwn(WEAKENING, name))).toEqual([]);
        expect(names).toContain("BUN_CONFIG_MAX_HTTP_REQUESTS");
        expect(names).toContain("NODE_EXTRA_CA_CERTS");
        const lines = server.output().split("\n");
        const telling = lines.filter((line) => line.includes("NODE_TLS_REJECT_UNAUTHORIZED"));
        expect(telling).toHaveLength(1);
        for (const name of Object.keys(WEAKENING)) expect(telling[0]).toContain(name);
        expect(server.output()).not.toContain("max-old-space-size");
      } finally {
        expect(await server.stop()).toBe(0);
        folder.remove();
      }
    },
    60_000,
  );

  test("are unset for a command too, whose output stays what it is", async () => {
    const lockport = await executable();
    const plain = await runProcess([lockport, "--version"]);
    expect(await runProcess([lockport, "--version"], { env: WEAKENING })).toEqual(plain);
  }, 60_000);
});

test.skipIf(process.platform !== "linux")(
  "a server sets the pace of the runtime's own collections and sweeps, and its operator's word stands",
  async () => {
    const lockport = await executable();
    const folder = makeFolder();
    const env = { PROXY_DATA_DIR: folder.path, BUN_GC_TIMER_INTERVAL: "700" };
    const server = await startProcess([lockport], { env });
    try {
      const variables = readFileSync(`/proc/${server.pid}/environ`, "utf8").split("\0");
      expect(variables.filter((variable) => /^(?:BUN_GC_|MIMALLOC_)/.test(variable)).toSorted()).toEqual([
        "BUN_GC_TIMER_INTERVAL=700",
        "MIMALLOC_PURGE_DELAY=100",
        "MIMALLOC_PURGE_HOLES_MIN_INTERVAL=5000",
      ]);
    } finally {
      expect(await server.stop()).toBe(0);
      folder.remove();
    }
  },
  60_000,
);

test.skipIf(process.platform !== "linux")(
  "a variable that other programs give that name is ignored with one warning that does not tell its value",
  async () => {
    const lockport = await executable();
    const folder = makeFolder();
    const env = { PROXY_DATA_DIR: folder.path, PROXY_PASSWORD: "hunter22hunter22", PROXY_URL: "" };
    const server = await startProcess([lockport], { env });
    try {
      const telling = server
        .output()
        .split("\n")
        .filter((line) => line.includes("PROXY_PASSWORD"));
      expect(telling).toHaveLength(1);
      expect(telling[0]).toContain("warn");
      expect(telling[0]).not.toContain("PROXY_URL");
      expect(server.output()).not.toContain("hunter22");
    } finally {
      expect(await server.stop()).toBe(0);
      folder.remove();
    }
  },
  60_000,
);

import { afterEach, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { SCHEMA_VERSION } from "#storage/sqlite/ledger/file/schema.ts";
import { createChance } from "../support/chance.ts";
import { callApi, makeInstallation, provide, type Installation } from "../support/installation.ts";
import { checkLedger, checkReports } from "../support/invariants.ts";
import { executable } from "../support/executable.ts";
import { runProcess, startProcess } from "../support/process.ts";
import { startLoad, startMixedUpstream, type Ledger, type Load, type MixedUpstream } from "./mixed-load.ts";
import { startUpstream } from "../support/upstream.ts";

const SETUP_MS_MAX = 120_000;
const TEST_MS_MAX = 180_000;
const BACKUPS = 4;
const CALLERS = 8;
const ENDED_BETWEEN_BACKUPS = 150;
const PRICES = { input_tokens: 2.5, output_tokens: 10 };

let lockport: string;
let installation: Installation;
let upstream: MixedUpstream;
let load: Load | null;

beforeAll(async () => {
  lockport = await executable();
}, SETUP_MS_MAX);
beforeEach(async () => {
  load = null;
  upstream = await startMixedUpstream();
  installation = await makeInstallation(lockport);
});
afterEach(async () => {
  await installation.remove();
  await load?.stop();
  await upstream.stop();
});

describe("a backup of a server under load", () => {
  test(
    "restored elsewhere after the original is lost holds every event recorded before it once, with the sums, the keys and the credentials",
    async () => {
      const chance = createChance();
      console.log(`backup: seed ${chance.seed}`);
      const server = await installation.start();
      const guarded = await startUpstream({
        script: (call) => call.reply({ body: '{"data":[{"id":"um"}]}' }),
      });
      await provide(server.url, installation.adminKey, {
        name: "mixed",
        baseUrl: upstream.baseUrl,
        models: { m: "um" },
        pricing: PRICES,
      });
      await provide(server.url, installation.adminKey, {
        name: "guarded",
        baseUrl: guarded.baseUrl,
        apiKey: "upstream credential 1",
        models: {},
      });

      const ledger: Ledger = { sent: new Set(), ended: new Map(), keys: new Set() };
      let waiting: { readonly count: number; readonly resolve: () => void } | null = null;
      load = startLoad({
        url: server.url,
        key: installation.adminKey,
        upstream,
        chance,
        ledger,
        callers: CALLERS,
        onEnded: () => {
          if (waiting !== null && ledger.ended.size >= waiting.count) waiting.resolve();
        },
      });
      const backups: {
        readonly file: string;
        readonly ended: readonly string[];
        readonly keys: readonly string[];
      }[] = [];
      for (let number = 0; number < BACKUPS; number += 1) {
        const enough = Promise.withResolvers<void>();
        waiting = { count: ledger.ended.size + ENDED_BETWEEN_BACKUPS, resolve: enough.resolve };
        await enough.promise;
        const file = join(installation.folder, `backup-${number}.tar.zst`);
        backups.push({ file, ended: [...ledger.ended.keys()], keys: [...ledger.keys] });
        const { code, data, messages } = await installation.run(
          "backup",
          file,
          "--with-secret-key",
          "--json",
        );
        expect(`${code} ${messages}`).toBe("0 ");
        expect(JSON.parse(data)).toMatchObject({ file, has_secret_key: true, usage_schema: SCHEMA_VERSION });
        expect(statSync(file).mode & 0o777).toBe(0o600);
      }
      await load.stop();
      server.signal("SIGKILL");
      await server.exited;
      rmSync(installation.dataDir, { recursive: true });

      for (const [number, { file, ended, keys }] of backups.entries()) {
        const dataDir = join(installation.folder, `restored-${number}`);
        const env = { PROXY_DATA_DIR: dataDir };
        const restored = await runProcess([lockport, "restore", file, "--json"], { env });
        expect(`${restored.code} ${restored.messages}`).toBe("0 ");
        expect(JSON.parse(restored.data)).toMatchObject({
          data_dir: dataDir,
          secret_key_from: "backup",
          aside: [],
        });

        const again = await startProcess([lockport], { env });
        try {
          await checkReports(again.url, installation.adminKey);
          const listed = await callApi(again.url, installation.adminKey, "GET", "/admin/v1/keys?limit=500");
          const found = new Set<string>(
            JSON.parse(await listed.text()).keys.map(({ id }: { id: string }) => id),
          );
          if (found.size < 500) expect(keys.filter((id) => !found.has(id))).toEqual([]);
          const discovered = await callApi(
            again.url,
            installation.adminKey,
            "GET",
            "/admin/v1/providers/guarded/discover",
          );
          expect(discovered.status).toBe(200);
          expect(guarded.lastRequest().headers.get("authorization")).toBe("Bearer upstream credential 1");
        } finally {
          expect(await again.stop()).toBe(0);
        }
        const events = checkLedger(dataDir, { ended, sent: ledger.sent, isAtRest: true });
        expect(events.length).toBeGreaterThanOrEqual(ended.length);
      }
      await guarded.stop();
    },
    TEST_MS_MAX,
  );
});

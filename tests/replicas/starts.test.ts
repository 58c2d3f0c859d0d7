import { expect, setDefaultTimeout, test } from "bun:test";
import { join } from "node:path";
import { executable } from "../support/executable.ts";
import { makeFolder } from "../support/folder.ts";
import { postgresMissing, sharedPostgres } from "../support/postgres.ts";
import { startProcess } from "../support/process.ts";
import { SHARED_SETTINGS } from "./site.ts";

setDefaultTimeout(120_000);

const STARTS = 4;

test.skipIf(postgresMissing !== null)(
  "replicas that start at once on an empty database apply each migration once, join once each, all serve, and leave when they end",
  async () => {
    const database = await sharedPostgres();
    await using target = database.schema();
    const folder = makeFolder();
    const { url, schema } = target;
    const env = { ...SHARED_SETTINGS, PROXY_DATABASE_URL: url, PROXY_DATABASE_SCHEMA: schema };
    const command = [await executable()];
    const all = await Promise.all(
      Array.from({ length: STARTS }, (_, index) =>
        startProcess(command, { env: { ...env, PROXY_DATA_DIR: join(folder.path, `data-${index}`) } }),
      ),
    );
    try {
      const applied = await database.sql<{ times: number }>(
        `SELECT count(*)::int AS times FROM ${schema}.migration GROUP BY name`,
      );
      expect(new Set(applied.map(({ times }) => times))).toEqual(new Set([1]));
      for (const table of ["spool", "replica"]) {
        const lanes = await database.sql<{ lane: number }>(
          `SELECT lane FROM ${schema}.${table} ORDER BY lane`,
        );
        expect(lanes.map(({ lane }) => lane)).toEqual([1, 2, 3, 4]);
      }
      for (const replica of all) expect((await fetch(`${replica.url}/healthz`)).status).toBe(200);
      expect(await Promise.all(all.map((replica) => replica.stop()))).toEqual([0, 0, 0, 0]);
      expect(await database.sql(`SELECT lane FROM ${schema}.replica`)).toEqual([]);
    } finally {
      for (const replica of all) replica.signal("SIGKILL");
      await Promise.all(all.map(({ exited }) => exited));
      folder.remove();
    }
  },
);

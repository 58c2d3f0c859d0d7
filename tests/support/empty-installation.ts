import { parseConfig } from "#boot/settings/config.ts";
import type { Environment } from "#boot/settings/environment.ts";
import { makeLocal } from "#boot/local.ts";
import { createSystem } from "#boot/process/system.ts";
import { engineEnvironment } from "./engine.ts";

/** Makes a data folder with an empty catalog and its key in it, as the first command does. `env` is beside the folder. */
export async function makeEmptyInstallation(dataDir: string, env: Environment = {}): Promise<void> {
  const config = parseConfig({
    PROXY_DATA_DIR: dataDir,
    ...(await engineEnvironment(dataDir)),
    ...env,
  });
  await (await makeLocal(config, createSystem({ logLevel: "error" }))).close();
}

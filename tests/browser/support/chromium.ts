import { existsSync } from "node:fs";
import { chromium, type Browser } from "playwright-core";

/** A name for this machine that is not loopback to a browser: an insecure origin, as `http://vm:4000` is. */
export const INSECURE_HOST = "vm.test";

/** The headless shell has the same engine and no window: a page in it costs a sixth less, a new profile half. */
const NAMES = [
  "chromium-headless-shell",
  "chromium",
  "chromium-browser",
  "google-chrome-stable",
  "google-chrome",
];
const LAUNCH_MS_MAX = 30_000;

/** The Chromium to test with: `CHROMIUM` when it is set, else one on the path. Null: this machine has none. */
export function findChromium(): string | null {
  const given = process.env["CHROMIUM"];
  if (given === undefined || given === "") return NAMES.map((name) => Bun.which(name)).find(Boolean) ?? null;
  const path = Bun.which(given);
  if (path === null || !existsSync(path)) throw new Error(`CHROMIUM is ${given}, where there is no program`);
  return path;
}

/**
 * Parts that only a window has, and that playwright turns off or that cost half of the time of every new page: the list
 * under the address bar is a page and a process of its own. A list on the command line replaces the one before it.
 */
const FEATURES_OFF = [
  "AvoidUnnecessaryBeforeUnloadCheckSync",
  "DestroyProfileOnBrowserClose",
  "HttpsUpgrades",
  "HttpsFirstBalancedModeAutoEnable",
  "LensOverlay",
  "MediaRouter",
  "PaintHolding",
  "ThirdPartyStoragePartitioning",
  "OptimizationHints",
  "NetworkTimeServiceQuerying",
  "AimEnabled",
  "PreconnectToSearch",
  "WebUIOmniboxPopup",
  "WebUIOmniboxAimPopup",
  "WebUIOmniboxFullPopup",
  "SpareRendererForSitePerProcess",
];

/** Starts it without a window. It reaches this machine and nothing else, whatever a page asks for. */
export async function launchChromium(executablePath: string): Promise<Browser> {
  const rules = [
    `MAP ${INSECURE_HOST} 127.0.0.1`,
    "MAP * ~NOTFOUND",
    "EXCLUDE localhost",
    "EXCLUDE *.localhost",
    "EXCLUDE 127.0.0.1",
  ];
  return await chromium.launch({
    executablePath,
    timeout: LAUNCH_MS_MAX,
    // Root may not make the namespaces of the sandbox; everybody else keeps it.
    chromiumSandbox: process.getuid?.() !== 0,
    args: [
      // A profile's pages share a process: one for each new page is a quarter of the time of a visit.
      "--renderer-process-limit=1",
      `--host-resolver-rules=${rules.join(", ")}`,
      `--disable-features=${FEATURES_OFF.join(",")}`,
    ],
  });
}

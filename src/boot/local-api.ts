import { createLocalApp, type LocalApp, listRoutes } from "#http/local.ts";
import { createKeyUse } from "#identity/key-use.ts";
import type { Log } from "#kernel/log.ts";
import type { System } from "#boot/process/system.ts";
import type { LocalServices } from "./local.ts";
import { toOpenApiDocument } from "#http/openapi/document.ts";

/** A failure is thrown to the command instead. */
const SILENT: Log = { debug: ignore, info: ignore, warn: ignore, error: ignore };

/** The interface over the services of a data folder: its routes answer a request without a socket. */
export function openLocalApi(services: LocalServices, { clock }: Pick<System, "clock">): LocalApp {
  const { ledger } = services;
  const store = { loadLastUsed: ledger.loadLastUsed, saveLastUsed: ignore };
  const keyUse = createKeyUse(store, clock);
  return createLocalApp({ ...services, clock, log: SILENT, keyUse, stats: ledger.stats });
}

function ignore(): void {}

/** The document as text that ends with a line break, for a command that needs neither a server nor a data folder. */
export function toOpenApiText(): string {
  return `${JSON.stringify(toOpenApiDocument(listRoutes()), null, 2)}\n`;
}

import { expect } from "bun:test";
import { callApi } from "../../support/installation.ts";
import type { Site, SiteOptions } from "./site.ts";

/** A provider whose every answer costs $2.50, and two models of it. */
export const PRICED_LAB = {
  upstream: {
    script: (call) =>
      call.reply({
        body: JSON.stringify({ choices: [], usage: { prompt_tokens: 1_000_000, completion_tokens: 0 } }),
      }),
    models: { fast: "vendor/fast", "team/slow": "vendor/slow" },
    pricing: { input_tokens: 2.5 },
  },
} satisfies SiteOptions;

export interface LimitedPeople {
  /** The interface's answer to an admin; fails when it refuses. */
  ask(method: string, path: string, body?: unknown): Promise<any>;
  /** The status that a request of `robin` gets, with the key `laptop`. */
  send(tags?: string): Promise<number>;
}

/** Adds `robin`, who has a key called `laptop`, and `sasha`, who has none. */
export async function addPeople(site: Site): Promise<LimitedPeople> {
  const ask = async (method: string, path: string, body?: unknown): Promise<any> => {
    const response = await callApi(site.url, await site.adminKey(), method, path, body);
    expect(response.ok).toBe(true);
    return await response.json();
  };
  for (const name of ["robin", "sasha"]) await ask("POST", "/admin/v1/principals", { name });
  const { key } = await ask("POST", "/admin/v1/keys", { principal: "robin", label: "laptop" });
  return {
    ask,
    async send(tags) {
      const headers = tags === undefined ? {} : { "x-proxy-tags": tags };
      const body = { model: "fast", messages: [] };
      const response = await callApi(site.url, key, "POST", "/v1/chat/completions", body, headers);
      await response.text();
      return response.status;
    },
  };
}

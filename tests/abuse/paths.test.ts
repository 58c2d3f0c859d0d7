import { expect, test } from "bun:test";
import { checkRefusal, type Answer } from "../invariants/answers.ts";
import type { Chance } from "../support/chance.ts";
import { callApi, provide } from "../support/installation.ts";
import type { Lane } from "./lane.ts";
import { forEachLane, noteWrong, tryMany } from "./many.ts";

/** Addresses of every kind, sent by a stranger and by a member to the executable. LOCKPORT_PATHS says how many. */

const MANY = tryMany("paths", { variable: "LOCKPORT_PATHS", usual: 1_000 });
const WIDTH = 24;
const METHODS = ["GET", "GET", "GET", "HEAD", "POST", "PATCH", "PUT", "DELETE", "OPTIONS"] as const;

test(
  "an address is served or refused, whatever it is, and opens nothing that its caller may not see or change",
  async () => {
    const chance = MANY.begin();
    const site = MANY.site();
    const admin = (method: string, path: string, body?: object) =>
      callApi(site.server.url, site.asked.key, method, path, body);
    const member = await makeMember(admin);
    // What only admins are shown.
    const secret = site.planted.plant("what admins alone are shown");
    await provide(site.server.url, site.asked.key, {
      name: "shown",
      baseUrl: `http://127.0.0.1:9/${secret}`,
      models: { shown: "um" },
    });
    const before = await readState(admin);
    const served = await readPaths();
    const statuses: Record<number, number> = {};
    const wrong: string[] = [];
    const lanes: Lane[] = [];
    const { port } = site;
    await forEachLane({ port, lanes }, { count: MANY.count, width: WIDTH }, async (lane) => {
      const method = chance.pick(METHODS);
      const target = mutate(chance.pick(served), chance);
      const answer = await lane.ask(
        toRequest(method, target, chance.below(2) === 0 ? null : member),
        method === "HEAD",
      );
      statuses[answer?.status ?? 0] = (statuses[answer?.status ?? 0] ?? 0) + 1;
      const found = judge(answer, method, secret);
      if (found !== null) noteWrong(wrong, `${method} ${JSON.stringify(target)}: ${found}`);
    });
    for (const lane of lanes) lane.close();
    expect(wrong).toEqual([]);
    expect(await readState(admin)).toEqual(before);
    const places = { "what admins alone are shown": /^catalog\.db(-wal)?$/ };
    const { peakMib } = await site.check({}, places);
    console.log(`paths: ${JSON.stringify(statuses)}, at most ${peakMib} MiB`);
  },
  MANY.testMsMax,
);

type Call = (method: string, path: string, body?: object) => Promise<Response>;

/** A member's key. */
async function makeMember(admin: Call): Promise<string> {
  await admin("POST", "/admin/v1/principals", { name: "ada" });
  const made = await admin("POST", "/admin/v1/keys", { principal: "ada", label: "paths" });
  return MANY.site().planted.plant("a member's key", Object(await made.json()).key);
}

/** Everything that somebody could have changed. */
async function readState(admin: Call): Promise<readonly string[]> {
  const paths = ["providers", "models", "pricing", "principals", "relay-tokens", "events"];
  const texts = await Promise.all(
    paths.map(async (path) => await (await admin("GET", `/admin/v1/${path}`)).text()),
  );
  return texts.map((text) => text.replaceAll(/"last_used_at":("[^"]*"|null)/g, ""));
}

/** Every path of the interface, with something in the place of its variables. */
async function readPaths(): Promise<readonly string[]> {
  const document = Object(await (await fetch(`${MANY.site().server.url}/openapi.json`)).json());
  const paths = Object.keys(document.paths).map((path) => path.replaceAll(/\{[^}]+\}/g, "shown"));
  // Signing in is slow on purpose.
  return [
    ...paths.filter((path) => !path.startsWith("/auth/")),
    "/auth/me",
    "/",
    "/overview",

    "/favicon.ico",
  ];
}

function toRequest(method: string, target: string, key: string | null): Buffer {
  const lines = [`${method} ${target} HTTP/1.1`, "Host: 127.0.0.1", "Content-Type: application/json"];
  if (key !== null) lines.push(`Authorization: Bearer ${key}`);
  // No object: whoever is let in changes nothing.
  const body = method === "GET" || method === "HEAD" ? "" : "[]";
  if (body !== "") lines.push(`Content-Length: ${body.length}`);
  return Buffer.from(`${lines.join("\r\n")}\r\n\r\n${body}`, "latin1");
}

/** Letters of an address that one reader takes for another than the next one does. */
const PARTS = [
  "/",
  "//",
  "/./",
  "/../",
  "/..;/",
  "/%2e%2e/",
  "%2f",
  "%2F",
  "%5c",
  "\\",
  ";",
  ";a=b",
  "%00",
  "%0a",
  "%0d%0a",
  "%",
  "%zz",
  "%c0%af",
  "%e2%80%ae",
  "?",
  "??",
  "&",
  "=",
  "#",
  "%23",
  "%3f",
  ":",
  "@",
  "*",
  "~",
  "'",
  '"',
  "<",
  "|",
  "{",
  "}",
  "\x7f",
  "\xe9",
  "\xff",
  "..",
  ".",
  ".json",
  "admin/v1/",
  "v1/",
  "my/",
  "?limit=1e9",
  "?since=%00",
  "?cursor=x",
  "?outcome[]=ok",
  "?client=%25",
  "?group_by=tag:",
  "?tag='%20OR%201=1--",
] as const;

function mutate(path: string, chance: Chance): string {
  let target = path;
  for (let count = chance.below(4); count > 0; count -= 1) {
    const at = chance.below(target.length + 1);
    const [before, after] = [target.slice(0, at), target.slice(at)];
    switch (chance.below(5)) {
      case 0:
      case 1:
        target = before + chance.pick(PARTS) + after;
        break;
      case 2:
        target = before + after.slice(1);
        break;
      case 3:
        target = `${before}%${(after.charCodeAt(0) || 65).toString(16).padStart(2, "0")}${after.slice(1)}`;
        break;
      default:
        target = before + after.toUpperCase();
    }
  }
  return target.startsWith("/") ? target : `/${target}`;
}

function judge(answer: Answer | null, method: string, secret: string): string | null {
  if (answer === null) return "the connection was closed";
  const { status, headers, body } = answer;
  // The runtime's own refusal of a target that is none.
  if (status === 400 && body === "" && headers.get("connection") === "close") return null;
  if (status >= 500) return `a ${status}`;
  if (body.includes(secret)) return "what admins alone are shown";
  const isPage = headers.get("content-type")?.startsWith("text/html") === true;
  if (isPage && method !== "GET" && method !== "HEAD") return "a page";
  try {
    if (method !== "HEAD") checkRefusal(answer);
    return null;
  } catch (error) {
    return String(error);
  }
}

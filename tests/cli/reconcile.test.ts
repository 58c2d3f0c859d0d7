import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { join } from "node:path";
import { useFolder } from "../support/folder.ts";
import { provide } from "../support/installation.ts";
import { chat, startBothWays, type BothWays } from "./both-ways.ts";

const folder = useFolder();
let both: BothWays;
beforeAll(async () => {
  both = await startBothWays();
  const { app, upstream } = both;
  await provide(app.url, app.adminKey, {
    name: "lab",
    baseUrl: upstream.baseUrl,
    models: { fast: "fast-2026" },
    pricing: { input_tokens: 1, output_tokens: 5 },
  });
  for (let count = 0; count < 20; count += 1) await chat(app, "fast");
});
afterAll(() => both.stop());

const MAP = "date=Day,model=Model,requests=Calls,input_tokens=In,output_tokens=Out,cost=Amount";
/** Twenty requests of 1,000 tokens in and 200 out: 20 × 0.002. */
const EQUAL = "Day,Model,Calls,In,Out,Amount\r\n2026-03-11,fast-2026,20,20000,4000,0.04\r\n";
const DEARER = EQUAL.replace("0.04", "0.05");

async function run(way: BothWays["ways"][number], text: string, ...options: readonly string[]) {
  const path = join(folder.path, "bill.csv");
  await Bun.write(path, text);
  return await way.run(["reconcile", path, "--map", MAP, ...options]);
}

describe("reconcile", () => {
  test("ends with 0 where every line agrees, and shows them only when all are asked for", async () => {
    for (const way of both.ways) {
      const { code, data, messages } = await run(way, EQUAL);
      expect({ code, data }).toEqual({ code: 0, data: "" });
      expect(messages).toContain(
        "1 line from 2026-03-11 to 2026-03-12: 1 equal\ncost: $0.04 here, $0.04 there\n",
      );
      const all = await run(way, EQUAL, "--all");
      expect(all.code).toBe(0);
      expect(
        all.data
          .trimEnd()
          .split("\n")
          .map((line) => line.split(/ {2,}/)),
      ).toEqual([
        [
          "DAY",
          "MODEL",
          "LINE",
          "REQUESTS HERE",
          "REQUESTS THERE",
          "COST HERE",
          "COST THERE",
          "LIKELY REASON",
        ],
        ["2026-03-11", "fast-2026", "equal", "20", "20", "$0.04", "$0.04", "-"],
      ]);
    }
  });

  test("ends with 1 where one differs, with its likely reason, as a table, as JSON and as CSV", async () => {
    for (const way of both.ways) {
      const table = await run(way, DEARER);
      expect(table.code).toBe(1);
      expect(table.data).toContain("bill more");
      expect(table.data).toContain("A million tokens cost $1.66667 here and $2.08333 there, on average.");
      expect(table.messages).not.toContain("lockport:");
      const json = await run(way, DEARER, "--json");
      expect([json.code, JSON.parse(json.data).counts.bill_more]).toEqual([1, 1]);
      const csv = await run(way, DEARER, "--csv");
      expect(csv.code).toBe(1);
      const [head, line, end] = csv.data.split("\r\n");
      expect(head).toStartWith(
        "compared_with,day,model,billed_as,tier,kind,requests_here,requests_there,input_tokens_here",
      );
      expect(line).toStartWith(
        "bill,2026-03-11,fast-2026,,,bill_more,20,20,20000,20000,,,4000,4000,,,,,0.04,0.05,0,0,",
      );
      expect(end).toBe("");
    }
  });

  test("reads several files and stdin, and takes a provider and a window", async () => {
    const [way] = both.ways;
    if (way === undefined) throw new Error("there is no way");
    const most = EQUAL.replace("20,20000,4000,0.04", "12,12000,2400,0.024");
    const rest = EQUAL.replace("20,20000,4000,0.04", "8,8000,1600,0.016");
    const path = join(folder.path, "most.csv");
    await Bun.write(path, most);
    const words = ["reconcile", path, "-", "--map", MAP, "--provider", "lab", "--since", "today"];
    expect((await way.run(words, { stdin: rest })).code).toBe(0);
    const other = await way.run([...words.slice(0, -2), "--until", "yesterday"], { stdin: rest });
    expect([other.code, other.messages]).toEqual([
      1,
      expect.stringContaining("The files tell of no day of this window"),
    ]);
    const twice = await way.run(words, { stdin: most });
    expect([twice.code, twice.messages]).toEqual([
      1,
      expect.stringContaining("most.csv and stdin tell the same of 2026-03-11, which would count twice"),
    ]);
    const gone = await way.run(["reconcile", path, "--map", MAP, "--provider", "lob"]);
    expect(gone.messages).toContain("provider_not_found");
  });

  test("says what is no bill, no field and no format", async () => {
    const [way] = both.ways;
    const path = join(folder.path, "no.csv");
    await Bun.write(path, "a,b\n1,2\n");
    const say = async (...words: readonly string[]) =>
      (await way?.run(["reconcile", ...words])) ?? { code: -1, messages: "" };
    expect(await say(path)).toMatchObject({
      code: 1,
      messages: expect.stringContaining("no.csv has the columns of no export"),
    });
    expect(await say(path, "--map", "dates=a")).toMatchObject({
      code: 2,
      messages: expect.stringContaining("dates is no field"),
    });
    expect(await say(path, "--format", "xls")).toMatchObject({ code: 2 });
    expect(await say(path, "--csv", "--json")).toMatchObject({ code: 2 });
    expect(await say(join(folder.path, "absent"))).toMatchObject({
      code: 1,
      messages: expect.stringContaining("does not exist"),
    });
  });
});

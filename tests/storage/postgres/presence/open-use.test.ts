import { describe, expect, test } from "bun:test";
import type { OpenUse } from "#limits/open-elsewhere.ts";
import { OpenUseBoard } from "#storage/replicas/open-use.ts";
import { postgresMissing } from "../../../support/postgres.ts";
import { ADD_REPLICA, createDatabase } from "../support.ts";

const ONE = "00000000-0000-4000-8000-000000000001";
const TWO = "00000000-0000-4000-8000-000000000002";
const USE: OpenUse = { limitId: "limit-1", value: "p1", label: 'ada "\u0000', open: 3, wanted: 5 };

describe.skipIf(postgresMissing !== null)("the board of what replicas have under way", () => {
  test("tells each what the others have said last, but not what one has that is fenced, stopped or started anew", async () => {
    await using database = await createDatabase();
    const { postgres } = database;
    await postgres.run(ADD_REPLICA, [ONE, 1]);
    await postgres.run(ADD_REPLICA, [TWO, 2]);
    const [one, two] = [new OpenUseBoard(postgres, ONE), new OpenUseBoard(postgres, TWO)];
    const { ownId, peers, turn } = await one.exchange([USE]);
    // It lives, and has said nothing yet.
    expect({ ownId, peers }).toEqual({ ownId: ONE, peers: [{ id: TWO, uses: [] }] });
    expect(Math.abs(turn - Date.now() / 1_000)).toBeLessThan(10);
    const heard = async () => (await two.exchange([])).peers;
    expect(await heard()).toEqual([{ id: ONE, uses: [USE] }]);
    await one.exchange([{ ...USE, open: 4 }]);
    expect(await heard()).toEqual([{ id: ONE, uses: [{ ...USE, open: 4 }] }]);
    await postgres.run("UPDATE replica SET is_fenced = true WHERE id = $1", [ONE]);
    expect(await heard()).toEqual([]);
    // It lives, and goes on.
    await postgres.run("UPDATE replica SET is_fenced = false WHERE id = $1", [ONE]);
    expect((await heard()).length).toBe(1);
    await postgres.run("DELETE FROM replica WHERE id = $1", [ONE]);
    expect(await heard()).toEqual([]);
    // Its row comes back with its next sign of life: until then it hears and has nothing to say.
    expect((await one.exchange([USE])).peers).toEqual([{ id: TWO, uses: [] }]);
    expect(await heard()).toEqual([]);
  });

  test("is written only when something new is said", async () => {
    await using database = await createDatabase();
    const { postgres } = database;
    await postgres.run(ADD_REPLICA, [ONE, 1]);
    const board = new OpenUseBoard(postgres, ONE);
    const version = async () => (await postgres.all("SELECT xmin::text, ctid::text FROM open_use"))[0];
    await board.exchange([USE]);
    const before = await version();
    await board.exchange([USE]);
    expect(await version()).toEqual(before);
    await board.exchange([]);
    expect(await version()).not.toEqual(before);
  });
});

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { startWorld, type Person, type World } from "../limits/world.ts";

let world: World;
let ada: Person;
let bob: Person;

beforeAll(async () => {
  world = await startWorld();
  ada = await world.person("ada");
  bob = await world.person("bob");
});
afterAll(() => world.stop());

const idOf = (response: Response) => response.headers.get("x-proxy-request-id");

async function find(id: string | null, key: string) {
  const response = await world.app.api("GET", `/my/requests/${id}`, undefined, {
    authorization: `Bearer ${key}`,
  });
  return { status: response.status, body: JSON.parse(await response.text()) };
}

describe("GET /my/requests/{x-proxy-request-id}", () => {
  test("is the row of the request log, at once, with the cost that the answer told, by any key of its principal", async () => {
    const answer = await world.chat({ key: ada.key });
    const id = idOf(answer);
    const { status, body } = await find(id, ada.key);
    expect(status).toBe(200);
    const log: any = await (await world.app.api("GET", "/stats/requests")).json();
    expect(body).toEqual(log.requests.find((row: any) => row.id === id));
    expect(body).toMatchObject({ id, principal: "ada", key_id: ada.keyId, cost: 0.1, outcome: "ok" });
    expect(Number(answer.headers.get("x-proxy-cost"))).toBe(body.cost);
    const other = await world.app.api(
      "POST",
      "/my/keys",
      { scope: "inference" },
      {
        authorization: `Bearer ${ada.key}`,
        "content-type": "application/json",
      },
    );
    const { key }: any = await other.json();
    expect(await find(` ${id?.toUpperCase()}`, key)).toEqual({ status: 200, body });
  });

  test("is none of another principal's, not even for an admin: that is 404 as an id that does not exist", async () => {
    const id = idOf(await world.chat({ key: ada.key }));
    const unknown = "019cdd2a-7c00-7000-8000-000000000000";
    const toRefusal = async (asked: string | null, key: string) => {
      const { status, body } = await find(asked, key);
      return { status, code: body.error.code, message: body.error.message.replace(/ \(request .*/, "") };
    };
    const refusal = await toRefusal(unknown, bob.key);
    expect(refusal).toMatchObject({ status: 404, code: "request_not_found" });
    for (const [asked, key] of [
      [id, bob.key],
      [id, world.app.adminKey],
      ["nothing", ada.key],
    ] as const)
      expect(await toRefusal(asked, key)).toEqual(refusal);
    expect((await find(id, ada.key)).status).toBe(200);
  });

  test("has an answer of an error, and of a refused request its refusal in place of a row, for its caller alone", async () => {
    await world.limit({
      name: "none",
      subject: { principal: "bob" },
      measure: "requests",
      amount: 1,
      window: "day",
    });
    const unpriced = await world.chat({ key: bob.key, model: "free" });
    expect(unpriced.headers.has("x-proxy-cost")).toBe(false);
    expect((await find(idOf(unpriced), bob.key)).body.cost).toBeNull();
    const refused = await world.chat({ key: bob.key });
    expect(refused.status).toBe(429);
    const { error }: any = await refused.json();
    const id = idOf(refused);
    const { status, body } = await find(id, bob.key);
    expect(status).toBe(200);
    expect(Object.keys(body)).toEqual(["refusal"]);
    expect(body.refusal).toMatchObject({ id, code: "limit_exceeded", principal: "bob", model: "m" });
    expect(error.message).toStartWith(body.refusal.message);
    for (const key of [ada.key, world.app.adminKey]) expect((await find(id, key)).status).toBe(404);
  });
});

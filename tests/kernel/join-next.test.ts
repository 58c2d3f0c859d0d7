import { expect, test } from "bun:test";
import { joinNext } from "#kernel/turns.ts";

test("who asks is answered by work that began after it came, and one piece of work serves all who wait", async () => {
  const begun: PromiseWithResolvers<void>[] = [];
  const shared = joinNext(() => {
    const one = Promise.withResolvers<void>();
    begun.push(one);
    return one.promise;
  });
  const answered: string[] = [];
  const ask = (name: string) => shared().then(() => answered.push(name));
  const first = ask("first");
  const second = ask("second");
  const third = ask("third");
  expect(begun.length).toBe(1);
  begun[0]?.resolve();
  await first;
  await Bun.sleep(0);
  expect(answered).toEqual(["first"]);
  expect(begun.length).toBe(2);
  begun[1]?.resolve();
  await Promise.all([second, third]);
  expect(begun.length).toBe(2);
});

test("no work begins beside another, also when its end makes who waited for it ask again", async () => {
  let underWay = 0;
  let most = 0;
  const shared = joinNext(async () => {
    most = Math.max(most, (underWay += 1));
    await Bun.sleep(1);
    underWay -= 1;
  });
  const askAgain = async () => {
    for (let index = 0; index < 20; index += 1) await shared();
  };
  await Promise.all([askAgain(), askAgain(), askAgain()]);
  expect(most).toBe(1);
});

test("work that fails fails those who waited for it alone", async () => {
  let count = 0;
  const shared = joinNext(async () => {
    count += 1;
    if (count === 1) throw new Error("away");
  });
  const first = shared();
  const second = shared();
  expect(await first.catch(String)).toBe("Error: away");
  await second;
  await shared();
  expect(count).toBe(3);
});

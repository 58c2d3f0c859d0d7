import { expect, test } from "bun:test";
import { pagesFor } from "../../ui/shell/navigation.tsx";
import { type PaletteSources, toCommandGroups } from "../../ui/shell/palette.tsx";

const NOTHING = { models: [], providers: [], people: [], keys: [] };

function found(sources: Partial<PaletteSources>, typed: string): string[] {
  const all = { pages: pagesFor("member"), isAdmin: false, ...NOTHING, ...sources };
  return toCommandGroups(all, typed).flatMap(({ label, items }) =>
    items.map((item) => `${label}: ${item.label}`),
  );
}

test("without a letter the palette has pages and actions and no names, and a member's has nothing of administrators", () => {
  const models = [{ id: "fast" }];
  const ofMember = found({ models }, "");
  expect(ofMember).toContain("Pages: Requests");
  expect(ofMember).not.toContain("Models: fast");
  expect(ofMember.filter((text) => /Providers|People|prices/i.test(text))).toEqual([]);
  expect(found({ models, isAdmin: true, pages: pagesFor("admin") }, "")).toContain("Pages: Providers");
});

test("what begins with the letters comes before what has them within, six names of a kind at most", () => {
  const models = ["a-fast-one", "fast", "slow"].map((id) => ({ id }));
  expect(found({ models }, "FAST")).toEqual(["Models: fast", "Models: a-fast-one"]);
  const many = Array.from({ length: 20 }, (_, index) => ({ id: `model-${index}` }));
  expect(found({ models: many }, "model-").length).toBe(6);
  expect(found({ models }, "nothing like it")).toEqual([]);
});

test("the whole id of a request opens it, and a part of one does not", () => {
  const id = "0190a1b2-0000-7000-8000-00000000abcd";
  expect(found({}, ` ${id} `)).toEqual([`Request: Open the request ${id}`]);
  expect(found({}, id.slice(0, 20))).toEqual([]);
});

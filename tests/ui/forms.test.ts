import { describe, expect, test } from "bun:test";
import { isName, NAME_LENGTH_MAX } from "#kernel/text.ts";
import { readTerms } from "../../ui/form/read-terms.ts" with { type: "macro" };
import { findFault, REQUIRED } from "../../ui/form/terms.ts";
import { toTags } from "../../ui/secrets/secret-terms.tsx";
import { findTermFaults, NOTHING_TYPED, toDraft, toPatch } from "../../ui/secrets/secret-terms.tsx";

const PRINCIPAL = readTerms("PrincipalCreateRequest");
const LIMIT = readTerms("LimitCreateRequest");
const MODEL = readTerms("ModelCreateRequest");
const PROVIDER = readTerms("ProviderCreateRequest");
const ROTATION = readTerms("AdminKeyRotateRequest");
const OPTIONAL = { isRequired: false };

describe("a field of a form", () => {
  test("takes the names that the server takes, and no others", () => {
    const names = [
      "ada",
      "a.b-c_d",
      "0",
      "Ada",
      "a b",
      "-a",
      "ä",
      "a".repeat(NAME_LENGTH_MAX),
      "a".repeat(121),
    ];
    for (const name of names) {
      expect([name, findFault(name, PRINCIPAL["name"] ?? OPTIONAL) === undefined]).toEqual([
        name,
        isName(name),
      ]);
    }
  });

  test("is asked for where the schema requires it, at any depth, and not elsewhere", () => {
    expect(findFault(" ", PRINCIPAL["name"] ?? OPTIONAL)).toBe(REQUIRED);
    expect(findFault(null, LIMIT["amount"] ?? OPTIONAL)).toBe(REQUIRED);
    expect(findFault("", LIMIT["subject.model"] ?? { isRequired: true })).toBeUndefined();
    expect(findFault("x".repeat(201), LIMIT["subject.model"] ?? OPTIONAL)).toBe(
      "Use at most 200 characters; these are 201",
    );
  });

  test("counts characters as the server does: one that takes two code units is one", () => {
    const terms = { isRequired: false, maxLength: 2 };
    expect([findFault("🙂🙂", terms), findFault("🙂🙂🙂", terms)]).toEqual([
      undefined,
      "Use at most 2 characters; these are 3",
    ]);
  });

  test.each([
    ["amount", 0, "Enter more than 0"],
    ["amount", 0.5, undefined],
    ["timeout_read", 0, "Enter more than 0"],
    ["timeout_read", 86_401, "Enter 86400 or less"],
    ["alias", "a/b:c", undefined],
    [
      "alias",
      "a b",
      "Use letters, digits, dots, dashes, colons, slashes and underscores, beginning with a letter or a digit",
    ],
    ["base_url", "", REQUIRED],
    ["grace_seconds", -1, "Enter 0 or more"],
    ["grace_seconds", 1.5, "Enter a whole number"],
    ["grace_seconds", 604_801, "Enter 604800 or less"],
    ["grace_seconds", 604_800, undefined],
  ])("%s is held to the bounds of the schema: %p %p", (field, value, fault) => {
    expect(
      findFault(value, { ...LIMIT, ...MODEL, ...PROVIDER, ...ROTATION }[field] ?? { isRequired: true }),
    ).toBe(fault);
  });

  test.each([
    ["", undefined],
    ["2126-01-31 12:00", undefined],
    ["2126-01-31T12:00:00Z", undefined],
    ["2020-01-31 12:00", "Enter a later date and time: this one has passed"],
    ["next year", "Enter a date and time such as 2027-01-31 12:00"],
  ])("an expiry of %p is %p", (expiry, fault) => {
    expect(findTermFaults({ ...NOTHING_TYPED, expiry })["expires_at"]).toBe(fault);
  });
});

describe("fixed tags", () => {
  test.each([
    ["", null],
    [" , ", null],
    ["team:search", ["team:search"]],
    [" team:search,app:wiki  env:prod,", ["team:search", "app:wiki", "env:prod"]],
  ])("typed as %p are sent as %p", (typed, tags) => {
    expect(toTags(typed)).toEqual(tags);
  });

  test("are sent only where they are typed, and taken away by an empty field", () => {
    expect(toDraft({ ...NOTHING_TYPED, label: "x" })).toEqual({ label: "x" });
    expect(toDraft({ ...NOTHING_TYPED, tags: "team:a" })).toMatchObject({ tags: ["team:a"] });
    const before = { ...NOTHING_TYPED, tags: "team:a" };
    expect(toPatch(before, { ...before, label: "x" })).toEqual({ label: "x" });
    expect(toPatch(before, { ...before, tags: "" })).toEqual({ tags: null });
    expect(toPatch(before, { ...before, tags: "team:b" })).toEqual({ tags: ["team:b"] });
  });
});

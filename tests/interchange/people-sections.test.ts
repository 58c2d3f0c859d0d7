import { describe, expect, test } from "bun:test";
import { parseCatalog } from "#interchange/catalog-parse.ts";
import { formatCatalog } from "#interchange/catalog-text.ts";

const SECRET = `lp_${"Ab3".repeat(14)}z`;
const HEAD = `lockport_catalog: 1
principals:
  alice:
    role: admin
keys:
  a.b:
    principal: alice
limits:
  "alice: day":
    measure: requests
    amount: 5
    window: day
`;

function problemsOf(text: string): readonly string[] {
  const parsed = parseCatalog(text);
  return parsed.kind === "refused" ? parsed.problems.map(({ line, sentence }) => `${line}: ${sentence}`) : [];
}
const withKey = (line: string) => HEAD.replace("principal: alice\n", `principal: alice\n    ${line}\n`);

describe("people in a catalog file", () => {
  test("are read with what the file says, and a file of them alone says nothing of the catalog", () => {
    expect(parseCatalog(HEAD)).toEqual({
      kind: "read",
      file: {
        lockport_catalog: 1,
        principals: { alice: { role: "admin" } },
        keys: { "a.b": { principal: "alice" } },
        limits: { "alice: day": { measure: "requests", amount: 5, window: "day" } },
      },
    });
    const read = parseCatalog("lockport_catalog: 1\nproviders: {}\nkeys: {}\nlimits:\n");
    expect(read.kind === "read" && Object.keys(read.file)).toEqual([
      "lockport_catalog",
      "providers",
      "models",
      "feeds",
      "keys",
    ]);
  });

  test("are the same after they were written, whatever they are called", () => {
    const file = {
      lockport_catalog: 1,
      providers: {},
      models: {},
      feeds: [],
      principals: { "1": {}, alice: { tags: ["a:b"] } },
      keys: { k: { principal: "1", models: ["a", "b"], label: "\u2028: #" } },
      limits: Object.fromEntries([
        ["__proto__", { subject: { model: "- x" }, measure: "cost", amount: 1e-12, window: "total" }],
      ]),
    } as const;
    const text = formatCatalog(file);
    expect(parseCatalog(text)).toEqual({ kind: "read", file });
    expect(text).toContain("models: [ a, b ]\n");
    expect(text).toContain(`subject: { model: "- x" }\n`);
  });

  const wrong: readonly (readonly [what: string, text: string, problem: string])[] = [
    ["a secret itself", withKey(`secret: ${SECRET}`), "8: A key has no field of this name."],
    [
      "a variable of Lockport's own",
      withKey("secret_env: PROXY_DATABASE_URL"),
      "8: secret_env must be the name",
    ],
    [
      "two places of a secret",
      withKey(`secret_file: a\n    secret_sha256: ${"a".repeat(64)}`),
      "9: A key has one of secret_env, secret_file, secret_sha256, not several.",
    ],
    [
      "a SHA-256 that is none",
      withKey(`secret_sha256: ${SECRET}`),
      "8: secret_sha256 is 64 hexadecimal digits",
    ],
    ["an expiry without a time", withKey('expires_at: "2030-01-31"'), "8: expires_at is a UTC date-time"],
    [
      "a key without an owner",
      HEAD.replace("    principal: alice\n", "    label: x\n"),
      "7: A key must have a",
    ],
    ["a role that is none", HEAD.replace("role: admin", "role: root"), "4: role is member or admin."],
    ["a name that is none", HEAD.replace("alice:\n", "Alice:\n"), "4: A principal's name is"],
    ["a limit without an amount", HEAD.replace("    amount: 5\n", ""), "10: A limit must have a measure"],
    [
      "an amount that is none",
      HEAD.replace("amount: 5", "amount: 0.5"),
      "11: An amount of requests is a whole",
    ],
    [
      "a subject that is none",
      HEAD.replace("    measure", "    subject: {principl: alice}\n    measure"),
      "10: A subject has no field of this name. Did you mean principal?",
    ],
    [
      "two subjects",
      HEAD.replace("    measure", "    subject: {principal: alice, key: k}\n    measure"),
      "10: A limit has one of principal, key",
    ],
  ];
  test.each(wrong)("with %s are refused at its line, and no secret is repeated", (_, text, problem) => {
    const problems = problemsOf(text);
    expect(problems).toHaveLength(1);
    expect(problems[0]).toStartWith(problem);
    expect(problems[0]).not.toContain(SECRET);
  });
});

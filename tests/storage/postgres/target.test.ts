import { describe, expect, test } from "bun:test";
import { SetupError } from "#kernel/errors.ts";
import { toAddress } from "#storage/postgres/connection/target.ts";

const PASSWORD = "p%40ss-geheim";
const ROOT = `${import.meta.dir}/../../fixtures/tls/upstream.cert.pem`;
const toUrl = (rest: string) => `postgres://keeper:${PASSWORD}@${rest}`;

function addressOf(rest: string) {
  return toAddress({ url: toUrl(rest), schema: "lockport" });
}

function refusalOf(url: string): string {
  try {
    toAddress({ url, schema: "lockport" });
  } catch (cause) {
    if (cause instanceof SetupError && cause.kind === "configuration") return cause.message;
    throw cause;
  }
  throw new Error("it was not refused");
}

describe("PROXY_DATABASE_URL", () => {
  test("user, password and database are decoded, and the port is PostgreSQL's own without one", () => {
    expect(addressOf("127.0.0.1/a%20b")).toMatchObject({
      hostname: "127.0.0.1",
      port: 5432,
      username: "keeper",
      password: "p@ss-geheim",
      database: "a b",
      tls: "disable",
    });
    expect(addressOf("[::1]:6000")).toMatchObject({ hostname: "::1", port: 6000, database: "keeper" });
  });

  test("loopback and unix sockets may be plain", () => {
    for (const rest of [
      "localhost/db",
      "127.0.0.1/db",
      "127.9.9.9/db?sslmode=prefer",
      "[::1]/db?sslmode=disable",
    ]) {
      expect(addressOf(rest).tls).toBe("disable");
    }
    expect(addressOf("/db?host=/run/postgresql")).toMatchObject({
      path: "/run/postgresql",
      tls: "disable",
    });
  });

  test.each(["db.example/db", "10.0.0.1/db", "127.0.0.1.example/db", "[2001:db8::1]/db"])(
    "%s is refused without TLS, and with each mode that falls back to it",
    (rest) => {
      for (const mode of ["", "?sslmode=disable", "?sslmode=allow", "?sslmode=prefer"]) {
        expect(refusalOf(toUrl(`${rest}${mode}`))).toContain("sslmode=verify-full");
      }
      expect(addressOf(`${rest}?sslmode=verify-full`).tls).toMatchObject({ rejectUnauthorized: true });
    },
  );

  test("verify-full checks the name, verify-ca the signature alone, require neither, and require with a root file the signature", () => {
    const host = "db.example/db";
    const root = `&sslrootcert=${encodeURIComponent(ROOT)}`;
    expect(addressOf(`${host}?sslmode=verify-full${root}`).tls).toEqual({
      rejectUnauthorized: true,
      serverName: "db.example",
      ca: expect.stringContaining("BEGIN CERTIFICATE"),
    });
    expect(addressOf(`${host}?sslmode=verify-ca${root}`).tls).toMatchObject({
      rejectUnauthorized: true,
      checkServerIdentity: expect.any(Function),
    });
    expect(addressOf(`${host}?sslmode=require`).tls).toMatchObject({ rejectUnauthorized: false });
    expect(addressOf(`${host}?sslmode=require${root}`).tls).toMatchObject({ rejectUnauthorized: true });
  });

  test.each([
    [toUrl("a:1,b:2/db"), "several hosts"],
    [toUrl("a,b/db?sslmode=verify-full"), "several hosts"],
    [toUrl("/db?host=a,b&sslmode=verify-full"), "several hosts"],
    [toUrl("localhost/db?options=-c%20x"), "the parameter options"],
    [toUrl("localhost/db?sslmode=always"), "unknown sslmode"],
    [toUrl("db.example/db?sslmode=verify-full&sslrootcert=/absent.pem"), "sslrootcert"],
    [toUrl(`db.example/db?sslmode=verify-full&sslrootcert=${import.meta.path}`), "PEM certificates"],
    [toUrl("db.example/db?sslmode=require&sslmode=verify-full"), "the parameter sslmode twice"],
    [toUrl("localhost/a%00b"), "no URL"],
    [toUrl("/db?host=/run%00"), "no URL"],
    [`postgres://keeper%00:${PASSWORD}@localhost/db`, "no URL"],
    [toUrl("localhost:99999/db"), "no URL"],
    [`mysql://keeper:${PASSWORD}@localhost/db`, "no URL"],
    [`keeper:${PASSWORD}@localhost`, "no URL"],
    [toUrl("localhost/%E0%A4%A"), "no URL"],
    ["postgres://localhost/db", "names no user"],
  ])("%s is refused with a sentence that holds nothing of it", (url, sentence) => {
    const message = refusalOf(url);
    expect(message).toContain(sentence);
    expect(message).not.toContain("geheim");
    expect(message).not.toContain("keeper");
  });
});

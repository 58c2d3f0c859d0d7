import { afterAll, describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { SetupError } from "#kernel/errors.ts";
import { postgresMissing, startPostgres, type TestServer } from "../../support/postgres.ts";
import { connect, failureOf } from "./support.ts";

const TLS = join(import.meta.dir, "../../fixtures/tls");
const PASSWORD = "geheim-password";

const startWith = (certificate: string) => {
  const read = (name: string) => readFileSync(join(TLS, name), "utf8");
  return startPostgres({ tls: { cert: read(certificate), key: read("upstream.key.pem") } });
};

let started: Promise<TestServer> | null = null;
/** It offers TLS with a certificate for 127.0.0.1 that signed itself. */
const server = () => (started ??= startWith("upstream.cert.pem"));
afterAll(async () => (await started)?.[Symbol.asyncDispose]());

/** Tells whether the one connection is encrypted, or what refused it. */
async function open(url: string): Promise<unknown> {
  await using postgres = await connect(url);
  const [row] = await postgres.all<{ ssl: boolean }>(
    "SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()",
  );
  return row?.ssl;
}

describe.skipIf(postgresMissing !== null)("TLS to PostgreSQL", () => {
  test("verify-full with the server's CA encrypts", async () => {
    const { url } = await server();
    expect(await open(`${url}?sslmode=verify-full&sslrootcert=${TLS}/upstream.cert.pem`)).toBe(true);
    expect(await open(`${url}?sslmode=require`)).toBe(true);
    expect(await open(url)).toBe(false);
  });

  test.each([
    ["a certificate of another CA", "verify-full", "127.0.0.1", "&sslrootcert=other.cert.pem"],
    ["a certificate of another CA", "verify-ca", "127.0.0.1", "&sslrootcert=other.cert.pem"],
    ["a certificate of another CA", "require", "127.0.0.1", "&sslrootcert=other.cert.pem"],
    ["a certificate of no public CA", "verify-full", "127.0.0.1", ""],
    ["a certificate for another host", "verify-full", "localhost", "&sslrootcert=upstream.cert.pem"],
  ])(
    "%s is refused with %s on %s, and the sentence holds no part of the URL",
    async (_, mode, host, root) => {
      const { url } = await server();
      const named = url.replace("127.0.0.1", host);
      const failure = await failureOf(open(`${named}?sslmode=${mode}${root.replace("=", `=${TLS}/`)}`));
      expect(failure).toBeInstanceOf(SetupError);
      expect(failure).toMatchObject({
        kind: "configuration",
        message: expect.stringContaining("certificate"),
      });
      expect(Bun.inspect(failure)).not.toMatch(/127\.0\.0\.1|cert\.pem|postgres:/);
    },
  );

  test("a certificate that a CA issued which is not given is a wrong setting, and no fault of the program", async () => {
    await using issued = await startWith("issued.cert.pem");
    for (const mode of ["verify-full", "verify-ca"]) {
      expect(await failureOf(open(`${issued.url}?sslmode=${mode}`))).toMatchObject({
        name: "SetupError",
        message: expect.stringContaining("set sslrootcert to the file of its CA"),
      });
    }
  });

  test("verify-ca takes a certificate for another host", async () => {
    const { url } = await server();
    const named = url.replace("127.0.0.1", "localhost");
    expect(await open(`${named}?sslmode=verify-ca&sslrootcert=${TLS}/upstream.cert.pem`)).toBe(true);
  });

  test("NODE_TLS_REJECT_UNAUTHORIZED and PGSSLMODE of the environment change nothing", async () => {
    const { url } = await server();
    const root = `${TLS}/other.cert.pem`;
    const program = `const { openPostgres } = await import(${JSON.stringify(join(import.meta.dir, "../../../src/storage/postgres/connection/postgres.ts"))});
      try {
        await openPostgres({ target: { url: ${JSON.stringify(`${url}?sslmode=verify-full&sslrootcert=${root}`)}, schema: "public" }, purpose: "test", connectionsMax: 1, callMsMax: 5000 });
        console.log("connected");
      } catch (cause) { console.log(cause.name); }
      process.exit();`;
    const env = {
      ...process.env,
      NODE_TLS_REJECT_UNAUTHORIZED: "0",
      PGSSLMODE: "disable",
      PGHOST: "absent.invalid",
      DATABASE_URL: url,
    };
    const child = Bun.spawn([process.execPath, "--no-env-file", "-e", program], {
      env,
      stdout: "pipe",
      stderr: "ignore",
    });
    expect((await child.stdout.text()).trim()).toBe("SetupError");
  });
});

describe.skipIf(postgresMissing !== null)("what PostgreSQL refuses", () => {
  test.each([
    ["a wrong password", (at: TestServer) => at.urlOf("keeper", `not-${PASSWORD}`), "password"],
    ["an unknown user", (at: TestServer) => at.urlOf("stranger", PASSWORD), "password"],
    [
      "an absent database",
      (at: TestServer) => at.url.replace(/postgres$/, "absent_database"),
      "does not exist",
    ],
  ])("%s is a wrong setting, and no part of it is told", async (_, urlOf, sentence) => {
    const at = await server();
    await at.sql(`DROP ROLE IF EXISTS keeper; CREATE ROLE keeper LOGIN PASSWORD '${PASSWORD}'`);
    const failure = await failureOf(open(urlOf(at)));
    expect(failure).toMatchObject({
      name: "SetupError",
      kind: "configuration",
      message: expect.stringContaining(sentence),
    });
    expect(Bun.inspect(failure)).not.toMatch(/geheim|stranger|absent_database|127\.0\.0\.1/);
  });

  test("a unix socket is a target, and needs no TLS", async () => {
    const { socketFolder, port } = await server();
    expect(await open(`postgres://lockport@:${port}/postgres?host=${socketFolder}`)).toBe(false);
  });
});

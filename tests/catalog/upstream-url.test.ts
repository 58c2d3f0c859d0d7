import { describe, expect, test } from "bun:test";
import * as fc from "fast-check";
import { parseUpstreamUrl, UPSTREAM_URL_LENGTH_MAX } from "#catalog/upstream-url.ts";

const REFUSED: readonly (readonly [why: string, text: string])[] = [
  ["empty", ""],
  ["no scheme", "api.example.com/v1"],
  ["no host", "http://"],
  ["no host, but a path", "http:///v1"],
  ["one slash", "http:/api.example.com/v1"],
  ["no slash", "http:api.example.com/v1"],
  ["another scheme", "ftp://api.example.com/v1"],
  ["a file", "file:///etc/passwd"],
  ["a file on a host", "file://localhost/etc/passwd"],
  ["data", "data:text/plain,hello"],
  ["a script", "javascript:alert(1)"],
  ["a blob", "blob:http://api.example.com/1"],
  ["a user", "http://user@api.example.com/v1"],
  ["a user and a password", "http://user:secret@api.example.com/v1"],
  ["an empty user", "http://@api.example.com/v1"],
  ["a user that looks like a host", "http://api.example.com:80@evil.example/v1"],
  ["a backslash before the user", "http://api.example.com\\@evil.example/v1"],
  ["backslashes for slashes", "http:\\\\api.example.com\\v1"],
  ["a backslash in the path", "http://api.example.com/v1\\x"],
  ["a tab in the host", "http://api.exa\tmple.com/v1"],
  ["a tab in the scheme", "ht\ttp://api.example.com/v1"],
  ["a line break", "http://api.example.com/v1\n"],
  ["a carriage return", "http://api.example.com\r/v1"],
  ["a leading blank", " http://api.example.com/v1"],
  ["a blank inside", "http://api.example.com/v 1"],
  ["a no-break space", "http://api.example.com/\u00A0v1"],
  ["a NUL", "http://api.example.com/\0"],
  ["a C1 control", "http://api.example.com/\u0085"],
  ["a fragment", "http://api.example.com/v1#x"],
  ["an empty fragment", "http://api.example.com/v1#"],
  ["a port out of range", "http://api.example.com:99999/v1"],
  ["port zero", "http://api.example.com:0/v1"],
  ["a host of dots", "http://./v1"],
  ["a broken IPv6 address", "http://[::1/v1"],
  ["an IPv6 zone", "http://[fe80::1%25eth0]/v1"],
  ["an IPv4 number out of range", "http://256.1.1.1/v1"],
  ["too long", `http://api.example.com/${"x".repeat(UPSTREAM_URL_LENGTH_MAX)}`],
  ["the metadata address", "http://169.254.169.254/v1"],
  ["the metadata address with a port", "http://169.254.169.254:80/v1"],
  ["the metadata address over TLS", "https://169.254.169.254/v1"],
  ["the metadata address with a last dot", "http://169.254.169.254./v1"],
  ["the metadata address in decimal", "http://2852039166/v1"],
  ["the metadata address in hexadecimal", "http://0xa9fea9fe/v1"],
  ["the metadata address in octal", "http://0251.0376.0251.0376/v1"],
  ["the metadata address in mixed notation", "http://0xa9.254.0251.254/v1"],
  ["the metadata address in three parts", "http://169.254.43518/v1"],
  ["the metadata address percent-encoded", "http://%31%36%39.254.169.254/v1"],
  ["the metadata address with ideographic dots", "http://169。254。169。254/v1"],
  ["the metadata address in full-width digits", "http://１６９.254.169.254/v1"],
  ["the metadata address with a soft hyphen", "http://1\u00AD69.254.169.254/v1"],
  ["the metadata address mapped to IPv6", "http://[::ffff:169.254.169.254]/v1"],
  ["the metadata address mapped to IPv6 in hexadecimal", "http://[::FFFF:A9FE:A9FE]/v1"],
  ["the metadata address compatible with IPv6", "http://[::169.254.169.254]/v1"],
  ["the metadata address through NAT64", "http://[64:ff9b::169.254.169.254]/v1"],
  ["the IPv6 metadata address", "http://[fd00:ec2::254]/v1"],
  ["the IPv6 metadata address in full", "http://[FD00:0EC2:0000:0000:0000:0000:0000:0254]/v1"],
  ["the address of a task's credentials", "http://169.254.170.2/v2/credentials"],
  ["the address of a pod's credentials", "http://169.254.170.23/v1/credentials"],
  ["the address of a pod's credentials in IPv6", "http://[fd00:ec2::23]/v1"],
  ["Alibaba's metadata address", "http://100.100.100.200/latest/meta-data"],
  ["Alibaba's metadata address in decimal", "http://1684301000/v1"],
  ["Alibaba's metadata address in hexadecimal", "http://0x646464c8/v1"],
  ["Alibaba's metadata address in octal", "http://0144.0144.0144.0310/v1"],
  ["Alibaba's metadata address mapped to IPv6", "http://[::ffff:100.100.100.200]/v1"],
  ["Oracle's metadata address", "http://192.0.0.192/v1"],
  ["Oracle's metadata address in two parts", "http://192.192/v1"],
  ["Oracle's metadata address through NAT64", "http://[64:ff9b::192.0.0.192]/v1"],
  ["Azure's wire server", "http://168.63.129.16/machine"],
  ["Azure's wire server in hexadecimal", "http://0xA83F8110/v1"],
  ["Azure's wire server through 6to4", "http://[2002:a83f:8110::1]/v1"],
  ["Scaleway's metadata address", "http://169.254.42.42/conf"],
  ["Scaleway's metadata address in IPv6", "http://[fd00:42::42]/conf"],
  ["Tencent's metadata address", "http://169.254.0.23/v1"],
  ["Google's metadata address in IPv6", "http://[FD20:CE:0:0:0:0:0:254]/v1"],
  ["OpenStack's metadata address in IPv6", "http://[fe80::a9fe:a9fe]/v1"],
  ["Google's metadata name", "http://metadata.google.internal/computeMetadata/v1"],
  ["Google's metadata name with a last dot and in capitals", "http://METADATA.google.INTERNAL./v1"],
  ["Google's metadata name with a soft hyphen", "http://meta\u00ADdata.google.internal/v1"],
  ["Google's short metadata name", "http://metadata/v1"],
  ["Google's other metadata name", "https://metadata.goog/v1"],
  ["AWS's metadata name", "http://instance-data/v1"],
];

const STORED: readonly (readonly [text: string, stored: string])[] = [
  ["https://api.example.com/v1", "https://api.example.com/v1"],
  ["HTTPS://API.Example.COM:443/v1", "https://api.example.com/v1"],
  ["http://127.0.0.1:11434/v1", "http://127.0.0.1:11434/v1"],
  ["http://localhost:8000", "http://localhost:8000/"],
  ["http://0x7f.1/v1", "http://127.0.0.1/v1"],
  ["http://[::1]:8000/v1", "http://[::1]:8000/v1"],
  ["http://10.0.0.7/v1", "http://10.0.0.7/v1"],
  ["http://169.254.1.1/v1", "http://169.254.1.1/v1"],
  ["http://100.100.100.201/v1", "http://100.100.100.201/v1"],
  ["http://metadata.example.com/v1", "http://metadata.example.com/v1"],
  ["http://[fd00::192.0.0.193]/v1", "http://[fd00::c000:c1]/v1"],
  ["https://gateway.example/a/@tenant/v1", "https://gateway.example/a/@tenant/v1"],
  ["https://bücher.example/v1", "https://xn--bcher-kva.example/v1"],
  ["https://api.example.com/a/../v1", "https://api.example.com/v1"],
];

describe("an upstream URL", () => {
  test.each(REFUSED)("with %s is refused, also where a query is allowed: %p", (_why, text) => {
    expect(parseUpstreamUrl(text, { allowQuery: false })).toBeNull();
    expect(parseUpstreamUrl(text, { allowQuery: true })).toBeNull();
  });

  test.each(STORED)("%p is stored in the one spelling that is called: %p", (text, stored) => {
    expect(parseUpstreamUrl(text, { allowQuery: false })).toBe(stored);
    expect(parseUpstreamUrl(stored, { allowQuery: false })).toBe(stored);
  });

  test("keeps its query only where one is allowed, and never loses it silently", () => {
    const text = "https://x.example/chat?api-version=1";
    expect(parseUpstreamUrl(text, { allowQuery: true })).toBe(text);
    expect(parseUpstreamUrl(text, { allowQuery: false })).toBeNull();
    expect(parseUpstreamUrl("https://x.example/v1?", { allowQuery: false })).toBeNull();
  });

  test("is either refused or names exactly the host that a client of it would contact", () => {
    const host = fc.oneof(
      fc.domain(),
      fc.ipV4Extended(),
      fc.ipV6().map((address) => `[${address}]`),
      fc.string({ unit: "binary", maxLength: 20 }),
      fc.constantFrom(
        "169.254.169.254",
        "0xa9fea9fe",
        "2852039166",
        "[::ffff:a9fe:a9fe]",
        "a@b",
        "a\\b",
        "a\tb",
      ),
    );
    const url = fc
      .tuple(
        fc.constantFrom("http://", "https://", "HTTP://", "http:/", "file://", ""),
        host,
        fc.constantFrom("", "/v1", ":8000/v1"),
      )
      .map((parts) => parts.join(""));
    fc.assert(
      fc.property(url, (text) => {
        const stored = parseUpstreamUrl(text, { allowQuery: false });
        if (stored === null) return;
        const parsed = new URL(stored);
        expect(parsed.href).toBe(stored);
        expect(["http:", "https:"]).toContain(parsed.protocol);
        expect(parsed.host).toBe(new URL(text).host);
        expect([parsed.username, parsed.password, parsed.search, parsed.hash]).toEqual(["", "", "", ""]);
        expect(parsed.hostname).not.toBe("169.254.169.254");
        expect(parsed.hostname).not.toEndWith(":a9fe:a9fe]");
      }),
    );
  }, 30_000);
});

const PEM_BLOCK_PATTERN = /-----BEGIN ([A-Z0-9 ]+)-----[\s\S]*?-----END \1-----/g;

/**
 * The certificates of a PEM text, one after the other, without what stood between them; null when there is none, or anything
 * else, such as a private key. One that does not parse would be no more than an unknown failure at the first connection.
 */
export function findCertificates(text: string): string | null {
  const blocks = [...text.matchAll(PEM_BLOCK_PATTERN)];
  if (blocks.length === 0 || !blocks.every(([block, label]) => isCertificate(block, label))) return null;
  return blocks.map(([block]) => `${block}\n`).join("");
}

function isCertificate(block: string, label: string | undefined): boolean {
  if (label !== "CERTIFICATE") return false;
  try {
    // Loaded here and not above, as in `kernel/crypto`.
    const { X509Certificate } = process.getBuiltinModule("node:crypto");
    return new X509Certificate(block).subject !== null;
  } catch {
    return false;
  }
}

import { describe, expect, test } from "bun:test";
import { join } from "node:path";
import { SETTINGS } from "#boot/settings/settings.ts";

const root = join(import.meta.dir, "../..");
const read = (path: string) => Bun.file(join(root, path)).text();
const SETTING_NAMES: ReadonlySet<string> = new Set(Object.values(SETTINGS).map(({ name }) => name));
const DRAIN_SECONDS = 30;

describe("the container", () => {
  test("is one layer on a base without a shell, runs as nobody in particular, and asks the server how it is", async () => {
    const lines = (await read("contrib/docker/Dockerfile"))
      .split("\n")
      .filter((line) => /^[A-Z]+ /.test(line));
    const words = lines.map((line) => line.split(" ")[0]);
    expect(words.filter((word) => word === "COPY" || word === "ADD" || word === "RUN")).toEqual(["COPY"]);
    expect(lines[0]).toMatch(/^FROM \S*distroless\S*:nonroot$/);
    expect(lines).toContain("USER 65532:65532");
    expect(lines.find((line) => line.startsWith("HEALTHCHECK"))).toContain(
      '"/usr/local/bin/lockport", "health"',
    );
    expect(lines.find((line) => line.startsWith("VOLUME"))).toBe("VOLUME /home/nonroot");
    expect(lines.find((line) => line.startsWith("ENV"))).toContain("PROXY_DATA_DIR=/home/nonroot/");
  });

  test("compose keeps the data in a volume, drops every right, and waits for running requests", async () => {
    const { services } = Object(Bun.YAML.parse(await read("contrib/docker/compose.yaml")));
    const { lockport } = services;
    expect(lockport.volumes).toEqual(["lockport-data:/home/nonroot"]);
    expect(lockport.cap_drop).toEqual(["ALL"]);
    expect(lockport.read_only).toBe(true);
    expect(Number.parseInt(lockport.stop_grace_period, 10)).toBeGreaterThan(DRAIN_SECONDS);
    expect(lockport.ports.every((port: string) => port.startsWith("127.0.0.1:"))).toBe(true);
    expect(Object.keys(lockport.environment).filter((name) => !SETTING_NAMES.has(name))).toEqual([]);
  });
});

describe("Kubernetes", () => {
  const documents = async () =>
    (await read("contrib/kubernetes/lockport.yaml"))
      .split(/^---$/m)
      .map((text) => Object(Bun.YAML.parse(text)));

  test("runs one server on one volume, without rights, probed, and with time to drain", async () => {
    const [service, set] = await documents();
    expect([service.kind, set.kind]).toEqual(["Service", "StatefulSet"]);
    const { spec } = set.spec.template;
    const [container] = spec.containers;
    expect(set.spec.replicas).toBe(1);
    expect(set.spec.volumeClaimTemplates[0].spec.accessModes).toEqual(["ReadWriteOnce"]);
    expect(spec.securityContext.runAsNonRoot).toBe(true);
    expect(spec.automountServiceAccountToken).toBe(false);
    expect(spec.terminationGracePeriodSeconds).toBeGreaterThan(DRAIN_SECONDS);
    expect(container.securityContext).toEqual({
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ["ALL"] },
    });
    for (const probe of [container.readinessProbe, container.livenessProbe]) {
      expect(probe.httpGet).toEqual({ path: "/healthz", port: "http" });
    }
    const mounts = container.volumeMounts.map(({ mountPath }: { mountPath: string }) => mountPath);
    const dataDir = container.env.find(({ name }: { name: string }) => name === "PROXY_DATA_DIR").value;
    expect(mounts.some((mount: string) => dataDir.startsWith(`${mount}/`))).toBe(true);
  });

  test("keeps the variables of other Services out, of which one called `proxy` would stop the start", async () => {
    const [, set] = await documents();
    expect(set.spec.template.spec.enableServiceLinks).toBe(false);
  });

  test("sets nothing that is no setting, and takes the secret key from a secret", async () => {
    const [service, set] = await documents();
    const [container] = set.spec.template.spec.containers;
    const names: string[] = container.env.map(({ name }: { name: string }) => name);
    expect(names.filter((name) => !SETTING_NAMES.has(name))).toEqual([]);
    const key = container.env.find(({ name }: { name: string }) => name === "PROXY_SECRET_KEY");
    expect(key.value).toBeUndefined();
    expect(key.valueFrom.secretKeyRef.name).toBe("lockport");
    expect(service.spec.selector).toEqual(set.spec.selector.matchLabels);
  });
});

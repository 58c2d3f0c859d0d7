import { describe, expect, test } from "bun:test";
import { join } from "node:path";
import { START_WAIT_MS_MAX } from "#boot/server.ts";
import { SETTINGS } from "#boot/settings/settings.ts";

const root = join(import.meta.dir, "../..");
const read = (path: string) => Bun.file(join(root, path)).text();
const SETTING_NAMES: ReadonlySet<string> = new Set(Object.values(SETTINGS).map(({ name }) => name));
const SECRETS = ["PROXY_DATABASE_URL", "PROXY_SECRET_KEY", "PROXY_ADMIN_PASSWORD"];
const DRAIN_SECONDS = 30;

interface Named {
  readonly name: string;
}

describe("three replicas on Kubernetes", () => {
  const documents = async () =>
    (await read("contrib/kubernetes/replicas.yaml"))
      .split(/^---$/m)
      .map((text) => Object(Bun.YAML.parse(text)));
  const findSet = async () => (await documents()).find(({ kind }) => kind === "StatefulSet");

  test("each come back to a spool of their own, which outlives them, and no data is kept elsewhere", async () => {
    const { spec } = await findSet();
    const [container] = spec.template.spec.containers;
    expect(spec.replicas).toBe(3);
    expect(spec.persistentVolumeClaimRetentionPolicy).toEqual({
      whenDeleted: "Retain",
      whenScaled: "Retain",
    });
    const [claim] = spec.volumeClaimTemplates;
    expect(claim.spec.accessModes).toEqual(["ReadWriteOnce"]);
    const mount = container.volumeMounts.find(({ name }: Named) => name === claim.metadata.name);
    const dataDir = container.env.find(({ name }: Named) => name === "PROXY_DATA_DIR").value;
    expect(dataDir.startsWith(`${mount.mountPath}/`)).toBe(true);
  });

  test("take their secrets from a secret alone, and set nothing that is no setting", async () => {
    const { spec } = await findSet();
    const [container] = spec.template.spec.containers;
    const env: readonly (Named & { value?: string; valueFrom?: { secretKeyRef: Named } })[] = container.env;
    expect(env.map(({ name }) => name).filter((name) => !SETTING_NAMES.has(name))).toEqual([]);
    for (const secret of SECRETS) {
      const { value, valueFrom } = env.find(({ name }) => name === secret)!;
      expect({ secret, value, from: valueFrom?.secretKeyRef.name }).toEqual({
        secret,
        value: undefined,
        from: "lockport",
      });
    }
    expect(spec.template.spec.enableServiceLinks).toBe(false);
  });

  test("leave the load balancer before they end, with time for running requests", async () => {
    const { spec } = await findSet();
    const pod = spec.template.spec;
    const [container] = pod.containers;
    const leaving = container.lifecycle.preStop.sleep.seconds;
    const drain = container.env.find(({ name }: Named) => name === "PROXY_DRAIN_TIMEOUT").value;
    expect(drain).toBe(`${DRAIN_SECONDS}s`);
    expect(pod.terminationGracePeriodSeconds).toBeGreaterThanOrEqual(leaving + DRAIN_SECONDS + 10);
    // Two probes notice it: it still serves then.
    expect(leaving).toBeGreaterThan(2 * container.readinessProbe.periodSeconds);
  });

  test("are taken out of service while PostgreSQL is away, and not restarted for it", async () => {
    const { spec } = await findSet();
    const [container] = spec.template.spec.containers;
    expect(container.readinessProbe.httpGet).toEqual({ path: "/healthz", port: "http" });
    expect(container.livenessProbe.httpGet.path).not.toBe("/healthz");
    expect(container.startupProbe.httpGet).toEqual(container.livenessProbe.httpGet);
    const { periodSeconds, failureThreshold } = container.startupProbe;
    expect(periodSeconds * failureThreshold * 1_000).toBeGreaterThan(2 * START_WAIT_MS_MAX);
  });

  test("are moved one at a time, and lie on different machines where there are some", async () => {
    const found = await documents();
    const { spec } = await findSet();
    const labels = spec.selector.matchLabels;
    const budget = found.find(({ kind }) => kind === "PodDisruptionBudget");
    expect(budget.spec).toEqual({ maxUnavailable: 1, selector: { matchLabels: labels } });
    const [rule] =
      spec.template.spec.affinity.podAntiAffinity.preferredDuringSchedulingIgnoredDuringExecution;
    expect(rule.podAffinityTerm).toEqual({
      topologyKey: "kubernetes.io/hostname",
      labelSelector: { matchLabels: labels },
    });
    const services = found.filter(({ kind }) => kind === "Service");
    for (const service of services) expect(service.spec.selector).toEqual(labels);
    expect(services.some(({ metadata }) => metadata.name === spec.serviceName)).toBe(true);
  });
});

describe("two replicas of compose", () => {
  const services = async () => Object(Bun.YAML.parse(await read("contrib/compose/compose.yaml"))).services;
  const replicas = async () => {
    const { "lockport-a": a, "lockport-b": b } = await services();
    return [a, b];
  };

  test("have spools of their own and nothing else that differs", async () => {
    const [{ volumes: ofA, ...a }, { volumes: ofB, ...b }] = await replicas();
    expect(a).toEqual(b);
    expect(ofA[0]).toBe("spool-a:/home/nonroot");
    expect(ofB[0]).toBe("spool-b:/home/nonroot");
    expect(ofA.slice(1)).toEqual(ofB.slice(1));
  });

  test("set nothing that is no setting, and do not start without each secret", async () => {
    const [{ environment, cap_drop, read_only, stop_grace_period }] = await replicas();
    expect(Object.keys(environment).filter((name) => !SETTING_NAMES.has(name))).toEqual([]);
    for (const secret of SECRETS)
      expect({ secret, value: environment[secret] }).toMatchObject({
        value: expect.stringMatching(/\$\{\w+:\?/),
      });
    expect(cap_drop).toEqual(["ALL"]);
    expect(read_only).toBe(true);
    expect(Number.parseInt(stop_grace_period, 10)).toBeGreaterThan(DRAIN_SECONDS);
  });

  test("reach PostgreSQL through its socket, so that nothing of it is on a network", async () => {
    const { postgres } = await services();
    const [{ environment, volumes }] = await replicas();
    const folder = new URL(environment.PROXY_DATABASE_URL.replace(/\$\{\w+:\?[^}]*\}/, "x")).searchParams.get(
      "host",
    );
    expect(volumes).toContain(`postgres-socket:${folder}:ro`);
    expect(postgres.volumes).toContain(`postgres-socket:${folder}`);
    expect(postgres.ports).toBeUndefined();
  });

  test("are reached through Caddy alone, on this machine", async () => {
    const { caddy, ...others } = await services();
    expect(caddy.ports.every((port: string) => port.startsWith("127.0.0.1:"))).toBe(true);
    for (const { ports } of Object.values<{ ports?: unknown }>(others)) expect(ports).toBeUndefined();
  });
});

import type { Command } from "commander";
import { addExamples } from "#cli/screen/help.ts";
import { CommandError } from "#cli/screen/failure.ts";
import type { Terminal } from "#cli/screen/terminal.ts";
import { writeJson, type OutputOptions } from "#cli/screen/output.ts";

interface ServiceOptions extends OutputOptions {
  readonly executable: string;
  readonly environmentFile: string;
  readonly user?: string;
}

/** A path or a name that systemd reads as one word. */
const WORD = /^[A-Za-z0-9_.@/-]+$/;

export function addCommands(program: Command, terminal: Terminal): void {
  const service = program.command("service").description("run it as a service of the system");
  const print = service
    .command("print")
    .description("print a hardened systemd unit")
    .option("--executable <path>", "where lockport lies", "/usr/local/bin/lockport")
    .option(
      "--environment-file <path>",
      "a file of PROXY_… settings, which need not exist",
      "/etc/lockport/env",
    )
    .option("--user <name>", "an existing user (else systemd makes one for the service)")
    .option("--json", "print JSON: {unit}")
    .action((options: ServiceOptions) => {
      const { executable, environmentFile, user } = options;
      checkPath("--executable", executable);
      checkPath("--environment-file", environmentFile);
      if (user !== undefined && !WORD.test(user)) {
        throw new CommandError("usage", "--user must be the name of a user of this system.");
      }
      const unit = toServiceUnit({ executable, environmentFile, user: user ?? null });
      if (options.json === true) writeJson(terminal, { unit });
      else terminal.writeData(unit);
    });
  addExamples(print, [
    "lockport service print | sudo tee /etc/systemd/system/lockport.service",
    "sudo systemctl daemon-reload && sudo systemctl enable --now lockport",
  ]);
}

/** A `%` would be a specifier of systemd's, a space the end of the path. */
function checkPath(option: string, path: string): void {
  if (path.startsWith("/") && WORD.test(path)) return;
  throw new CommandError("usage", `${option} must be an absolute path of letters, digits and ./_@-.`);
}

interface ServiceUnit {
  readonly executable: string;
  readonly environmentFile: string;
  /** Null lets systemd make a user that exists as long as the service runs. */
  readonly user: string | null;
}

/**
 * A unit of systemd (systemd.service(5), systemd.exec(5)) with as few rights as the server can do with. The data folder is
 * systemd's state directory, `/var/lib/lockport`.
 */
function toServiceUnit({ executable, environmentFile, user }: ServiceUnit): string {
  return `[Unit]
Description=Lockport, a model-routing proxy
After=network-online.target
Wants=network-online.target
# A broken setting does not get better by starting again and again.
StartLimitIntervalSec=60
StartLimitBurst=5

[Service]
Type=exec
ExecStart=${executable} serve
Environment=PROXY_DATA_DIR=/var/lib/lockport
EnvironmentFile=-${environmentFile}
# The executable's runtime would listen to these.
UnsetEnvironment=BUN_BE_BUN BUN_OPTIONS
Restart=on-failure
RestartSec=2
# 77: a file may not be read; 78: a setting is wrong.
RestartPreventExitStatus=77 78
# Running requests may finish for PROXY_DRAIN_TIMEOUT, 30 s by default: set this above it.
TimeoutStopSec=45
# Each open stream takes two descriptors.
LimitNOFILE=65536

${user === null ? "DynamicUser=yes" : `User=${user}`}
StateDirectory=lockport
StateDirectoryMode=0700
UMask=0077

CapabilityBoundingSet=
AmbientCapabilities=
NoNewPrivileges=yes
LockPersonality=yes
# MemoryDenyWriteExecute= is left out: JavaScript is compiled while it runs.
PrivateDevices=yes
PrivateTmp=yes
PrivateUsers=yes
PrivateMounts=yes
ProcSubset=pid
ProtectClock=yes
ProtectControlGroups=yes
ProtectHome=yes
ProtectHostname=yes
ProtectKernelLogs=yes
ProtectKernelModules=yes
ProtectKernelTunables=yes
ProtectProc=invisible
ProtectSystem=strict
RemoveIPC=yes
RestrictAddressFamilies=AF_INET AF_INET6 AF_NETLINK AF_UNIX
RestrictNamespaces=yes
RestrictRealtime=yes
RestrictSUIDSGID=yes
SystemCallArchitectures=native
SystemCallFilter=@system-service
SystemCallFilter=~@privileged @resources
# Threads that do not serve give way to those that do.
SystemCallFilter=sched_setattr setpriority
SystemCallErrorNumber=EPERM

[Install]
WantedBy=multi-user.target
`;
}

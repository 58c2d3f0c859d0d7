export interface ServiceUnit {
  readonly executable: string;
  readonly environmentFile: string;
  /** Null lets systemd make a user that exists as long as the service runs. */
  readonly user: string | null;
}

/**
 * A unit of systemd (systemd.service(5), systemd.exec(5)) with as few rights as the server can do with. The data folder is
 * systemd's state directory, `/var/lib/lockport`.
 */
export function toServiceUnit({ executable, environmentFile, user }: ServiceUnit): string {
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
SystemCallErrorNumber=EPERM

[Install]
WantedBy=multi-user.target
`;
}

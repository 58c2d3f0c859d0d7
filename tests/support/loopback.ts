// Everything here listens on loopback: a proxy that the environment names for the rest of the world has no part in it.
process.env["NO_PROXY"] = "127.0.0.1,localhost,::1";
process.env["no_proxy"] = process.env["NO_PROXY"];

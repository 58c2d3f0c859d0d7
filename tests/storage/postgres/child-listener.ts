/** Listens on `hints` until stdin ends, asks every 100 ms, and prints `notified`, and `lost` where there is no answer. */
import { connect } from "./support.ts";

const [, , url = ""] = process.argv;
const postgres = await connect(url, { callMsMax: 500 });
const stop = await postgres.listen("hints", () => console.log("notified"));
const asking = setInterval(() => void postgres.all("SELECT 1").catch(() => console.log("lost")), 100);
await Bun.stdin.text();
clearInterval(asking);
await stop();
await postgres.close();

/**
 * Asks for reports one after the other until it is ended: `bun bench/asker.ts <origin> <key> <at most so many a second> <path>…`.
 * Says how many, each second.
 */
const [origin = "", key = "", perSecond = "", ...paths] = process.argv.slice(2);
const startedMs = performance.now();
const init = { headers: { authorization: `Bearer ${key}` } };
let answers = 0;
let saidMs = performance.now();
for (let turn = 0; ; turn += 1) {
  const aheadMs = (turn / Number(perSecond)) * 1000 - (performance.now() - startedMs);
  if (aheadMs > 0) await Bun.sleep(aheadMs);
  const response = await fetch(origin + paths[turn % paths.length], init);
  await response.bytes();
  if (response.status !== 200) throw new Error(`${paths[turn % paths.length]}: ${response.status}`);
  answers += 1;
  if (performance.now() - saidMs < 1_000) continue;
  console.log(answers);
  answers = 0;
  saidMs = performance.now();
}

// Common code of the Node clients of the chaos run: workers that write, read back and print. See ../README.md.
import { setTimeout as sleep } from "node:timers/promises";

const KEYS = 8;
const PACE = 2;
const [kind, host, port, name, workers] = process.argv.slice(2);

const now = () => ((performance.timeOrigin + performance.now()) / 1000).toFixed(6);

async function timed(words, call, show) {
  const began = now();
  let shown;
  let outcome = "ok";
  try {
    shown = show(await call());
  } catch (error) {
    shown = show(null).map(() => "-");
    outcome = `${error.name} ${error.message}`.replaceAll("\n", " ").slice(0, 160);
  }
  process.stdout.write(`${[...words, ...shown, began, now(), outcome].join("\t")}\n`);
}

async function work(client, worker, isStopped) {
  for (let number = 1; !isStopped(); number += 1) {
    const key = `${worker}:${number % KEYS}`;
    await timed(["w", key, number], () => client.push(key, number), () => []);
    await timed(["r", key], () => client.last(key), (value) => [value ?? "none"]);
    if (kind === "plain" && number % 5 === 0) {
      await timed(["s", worker], () => client.wait(), (count) => [count]);
    }
    await sleep(PACE);
  }
  client.close();
}

export async function run(connect) {
  let stopped = false;
  const working = [];
  for (let number = 0; number < Number(workers); number += 1) {
    working.push(work(await connect(kind, host, Number(port)), `${name}:${number}`, () => stopped));
  }
  process.stdout.write("ready\n");
  process.stdin.on("end", () => {
    stopped = true;
  });
  process.stdin.resume();
  await Promise.all(working);
}

// A client of the chaos run: `node node-redis.mjs plain|cluster HOST PORT NAME WORKERS`. See ../README.md.
import { createClient, createCluster } from "redis";
import { run } from "./worker.mjs";

const socket = { reconnectStrategy: 50, connectTimeout: 5000 };

async function connect(kind, host, port) {
  const client =
    kind === "cluster"
      ? createCluster({ rootNodes: [{ url: `redis://${host}:${port}` }], defaults: { socket } })
      : createClient({ socket: { host, port, ...socket } });
  // Every failure is also reported by a command.
  client.on("error", () => {});
  await client.connect();
  return {
    push: (key, number) => client.rPush(key, String(number)),
    last: (key) => client.lIndex(key, -1),
    wait: () => client.sendCommand(["WAIT", "1", "200"]),
    close: () => client.destroy(),
  };
}

await run(connect);

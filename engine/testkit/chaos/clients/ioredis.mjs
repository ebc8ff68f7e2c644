// A client of the chaos run: `node ioredis.mjs plain|cluster HOST PORT NAME WORKERS`. See ../README.md.
import Redis from "ioredis";
import { run } from "./worker.mjs";

const options = {
  maxRetriesPerRequest: 0,
  autoResendUnfulfilledCommands: false,
  commandTimeout: 10_000,
  retryStrategy: () => 50,
};

function connect(kind, host, port) {
  const client =
    kind === "cluster"
      ? new Redis.Cluster([{ host, port }], { redisOptions: { commandTimeout: 10_000 } })
      : new Redis({ host, port, ...options });
  // Every failure is also reported by a command.
  client.on("error", () => {});
  return {
    push: (key, number) => client.rpush(key, number),
    last: (key) => client.lindex(key, -1),
    wait: () => client.wait(1, 200),
    close: () => client.disconnect(),
  };
}

await run(connect);

//! The text of `--help`.

pub const HELP: &str = "\
Usage: shardboard-load [options]
Puts load on a Redis or Valkey database or cluster. Options are those of memtier_benchmark.

Connection
  -h, -s, --host=, --server=ADDRESS  where to connect (localhost)
  -p, --port=PORT                    (6379)
  -S, --unix-socket=PATH             instead of an address
  -4, --ipv4  -6, --ipv6             only that family of addresses
  -P, --protocol=redis|resp2|resp3   (redis: RESP2)
  -a, --authenticate=[USER:]PASSWORD visible to all users of this machine; rather:
      --user=NAME --password-file=PATH, or the password in the environment's SHARDBOARD_LOAD_PASSWORD
  -u, --uri=URI                      redis[s]://[user[:password]@]host[:port][/db]
      --tls --cert= --key= --cacert= --tls-skip-verify --tls-protocols= --sni=
      --select-db=NUMBER             (0)
      --cluster-mode                 one connection of each client to each primary
      --seeds=HOST:PORT,...          further addresses to find the cluster by
      --connection-stage-timeout=S   give up when the target cannot be used by then (30)
      --request-timeout=MS           a request without a reply for so long is an error (30000)

Load
  -n, --requests=N|allkeys           requests of each client (10000)
      --test-time=SECONDS            instead of a number of requests
      --endless                      until SIGTERM or SIGINT: awaits a target that is not there,
                                     and keeps no seconds for the report
  -c, --clients=N                    clients of each thread (50)
  -t, --threads=N                    (4)
      --pipeline=N                   requests under way on each connection (1)
      --ratio=SETS:GETS              (1:10)
      --rate-limiting=N              requests a second of each connection, at most
      --rate=N                       requests a second of all, on a schedule that waits for nothing:
                                     latency counts from the time a request was due
      --rate-wave=PERCENT:SECONDS    the distances of --rate grow and shrink by so much, in waves of that length
      --wait-ratio=SETS:WAITS --num-slaves=MIN-MAX --wait-timeout=MIN-MAX
      --command=TEXT                 instead of SETs and GETs; with __key__ and __data__; again for more
      --command-ratio=N --command-key-pattern=R|S|P|G|Z   of the --command before
      --clients-start= --clients-step= --step-duration=   more clients step by step
      --find-max=avg:MS|p99:MS       search the highest rate that keeps this limit
      --find-max-step=SECONDS        time of each step of that search (3)
      --retry-on-error --max-retries=N   send again what failed transiently (without limit)
      --reconnect-interval=N         a new connection after N requests
      --max-reconnect-attempts= --reconnect-backoff-factor= --connection-timeout=SECONDS
      --thread-conn-start-min-jitter-micros= --thread-conn-start-max-jitter-micros=
      --pin-threads --client-no-touch
  -x, --run-count=N                  the whole test so many times (1)

Objects
  -d, --data-size=BYTES              (32); or one of
      --data-size-range=MIN-MAX      --data-size-list=SIZE:WEIGHT,...
      --data-size-pattern=R|S        random, or growing with the key
      --data-offset=N                SETRANGE and GETRANGE there
  -R, --random-data                  instead of letters x
      --expiry-range=MIN-MAX         seconds until keys expire
      --key-prefix=TEXT              (memtier-)
      --key-minimum=N                (0)
      --key-maximum=N                (10000000)
      --key-pattern=SETS:GETS        R random, S sequential, P parallel, G gaussian, Z zipf (R:R)
      --key-stddev= --key-median=    of G (a sixth of the range, its centre)
      --key-zipf-exp=                of Z (1)
      --distinct-client-seed         every client its own sequence of keys
      --randomize                    every run its own sequence of keys

Output
  -o, --out-file=FILE                the report, instead of the terminal
      --json-out-file=FILE           the report as JSON
      --hdr-file-prefix=PREFIX       HDR histogram files
      --print-percentiles=LIST       (50,99,99.9)
      --command-stats-breakdown=command|line --miss-rate-threshold=PERCENT (1)
      --hide-histogram --show-config --print-all-runs
      --live-lines=FD|-              a line of JSON each second

Exit status: 0 measured, 2 wrong options or unusable target, 3 nothing was measured.
";

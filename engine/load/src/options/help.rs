//! The text of `--help`.

pub const HELP: &str = "\
Usage: shardboard-load [options]
Generates load on a Redis or Valkey database or cluster. The options are those of memtier_benchmark.

Connection
  -h, -s, --host=, --server=ADDRESS  address to connect to (localhost)
  -p, --port=PORT                    (6379)
  -S, --unix-socket=PATH             Unix socket to connect to instead
  -4, --ipv4  -6, --ipv6             use only this address family
  -P, --protocol=redis|resp2|resp3   (redis: RESP2)
  -a, --authenticate=[USER:]PASSWORD visible to all users of this machine; alternatives:
      --user=NAME --password-file=PATH, or the environment variable SHARDBOARD_LOAD_PASSWORD
  -u, --uri=URI                      redis[s]://[user[:password]@]host[:port][/db]
      --tls --cert= --key= --cacert= --tls-skip-verify --tls-protocols= --sni=
      --select-db=NUMBER             (0)
      --cluster-mode                 each client connects to each primary
      --seeds=HOST:PORT,...          additional addresses for cluster discovery
      --connection-stage-timeout=S   exit if the target is not usable after S seconds (30)
      --request-timeout=MS           time after which a request without a reply fails (30000)

Load
  -n, --requests=N|allkeys           requests per client (10000)
      --test-time=SECONDS            duration, instead of a number of requests
      --endless                      run until SIGTERM or SIGINT: waits for an unavailable target
                                     and keeps no per-second data for the report
  -c, --clients=N                    clients per thread (50)
  -t, --threads=N                    (4)
      --pipeline=N                   requests in flight per connection (1)
      --ratio=SETS:GETS              (1:10)
      --rate-limiting=N              maximum number of requests per second per connection
      --rate=N                       total requests per second, on a schedule that does not wait for replies:
                                     latency counts from the time at which a request was due
      --rate-wave=PERCENT:SECONDS    vary the intervals of --rate by PERCENT, with a period of SECONDS
      --wait-ratio=SETS:WAITS --num-slaves=MIN-MAX --wait-timeout=MIN-MAX
      --command=TEXT                 send this instead of SET and GET; placeholders __key__ and __data__; repeatable
      --command-ratio=N --command-key-pattern=R|S|P|G|Z   for the preceding --command
      --clients-start= --clients-step= --step-duration=   add clients step by step
      --find-max=avg:MS|p99:MS       search for the highest rate within this latency limit
      --find-max-step=SECONDS        duration of each step of the search (3)
      --retry-on-error --max-retries=N   retry requests after transient errors (no limit)
      --reconnect-interval=N         reconnect after N requests
      --max-reconnect-attempts= --reconnect-backoff-factor= --connection-timeout=SECONDS
      --thread-conn-start-min-jitter-micros= --thread-conn-start-max-jitter-micros=
      --pin-threads --client-no-touch
  -x, --run-count=N                  number of times to run the test (1)

Objects
  -d, --data-size=BYTES              size of values (32); or one of
      --data-size-range=MIN-MAX      --data-size-list=SIZE:WEIGHT,...
      --data-size-pattern=R|S        random, or increasing with the key
      --data-offset=N                use SETRANGE and GETRANGE at this offset
  -R, --random-data                  random bytes instead of the letter x
      --data-verify                  derive values from the names of their keys, and check the values of GETs
      --verify-only                  only read and check the keys that SETs would write
      --expiry-range=MIN-MAX         time to live of keys, in seconds
      --key-prefix=TEXT              (memtier-)
      --key-minimum=N                (0)
      --key-maximum=N                (10000000)
      --key-pattern=SETS:GETS        R random, S sequential, P parallel, G gaussian, Z zipf (R:R)
      --key-stddev= --key-median=    for pattern G (a sixth of the range, its center)
      --key-zipf-exp=                for pattern Z (1)
      --distinct-client-seed         different sequence of keys for each client
      --randomize                    different sequence of keys for each run

Output
  -o, --out-file=FILE                write the report to a file instead of the terminal
      --json-out-file=FILE           write the report as JSON
      --hdr-file-prefix=PREFIX       write HDR histogram files
      --print-percentiles=LIST       (50,99,99.9)
      --command-stats-breakdown=command|line --miss-rate-threshold=PERCENT (1)
      --hide-histogram --show-config --print-all-runs
      --live-lines=FD|-              write a line of JSON every second

Exit status: 0 measured, 2 invalid options or unusable target, 3 nothing was measured.
";

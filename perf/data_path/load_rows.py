"""Rows of the load generator: compared with valkey-benchmark, with a server that adds known delays, and with a separate prober
while a primary is killed. Both sides of a ratio alternate within one run."""

import json
import os
import resource
import select
import signal
import socket
import struct
import subprocess
import tempfile
import threading
import time
from pathlib import Path
from statistics import median
from typing import Any

from lab import Lab, command
from perf.data_path.endpoint_rows import SMOKE

from perf.data_path.row_report import Report

from shardboard.local.loopback import claim_network

ADDRESS = f"{claim_network()}.2"
PORT = 21970
PRIMARIES, REPLICAS = [21971, 21972, 21973], [21974, 21975, 21976]
BINARY = Path(__file__).resolve().parents[2] / "engine/target/release/shardboard-load"
SO_TIMESTAMPNS = 35
ROUNDS = 1 if SMOKE else int(os.environ.get("SHARDBOARD_BENCH_ROUNDS", "5"))


def load(report: Report, _: Path) -> None:
    """Run all rows."""
    peak = against_valkey_benchmark(report)
    chosen_rate(report, peak / 2)
    known_delays(report)
    stall(report)
    killed_primary(report)
    verification(report)


def run(*options: str, port: int = PORT) -> dict[str, Any]:
    """Return the last live line of the load generator."""
    line = [str(BINARY), "-s", ADDRESS, "-p", str(port), "--live-lines=-", "--hide-histogram", *options]
    lines = subprocess.run(line, capture_output=True, text=True, check=True).stdout.splitlines()
    end: dict[str, Any] = json.loads(lines[-1])
    return end


def measure_times(work: Any) -> tuple[Any, float]:
    """Return the result of `work` and the CPU time of its child process."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    result = work()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return result, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def against_valkey_benchmark(report: Report) -> float:
    """Measure peak rate and CPU time per request with 50 connections on 2 threads. Return the peak of GETs without pipelining."""
    lab = Lab(ADDRESS)
    peak = 0.0
    try:
        lab.server(PORT)
        for pipeline, count in ((1, 200_000), (16, 1_600_000)):
            for test, ratio in (("SET", "1:0"), ("GET", "0:1")):
                load_results, competitor_results, endpoint_cpu_times, competitor_cpu_times = [], [], [], []
                for _ in range(ROUNDS):
                    options = ["-t", "2", "-c", "25", f"--pipeline={pipeline}", f"--ratio={ratio}", "-d", "32"]
                    options += ["-n", str(count // 50), "--key-minimum=1", "--key-maximum=100000"]
                    rate, cpu = measure_times(lambda options=options: run(*options)["ops_per_second"])
                    load_results.append(rate)
                    endpoint_cpu_times.append(cpu / count * 1e6)
                    rate, cpu = measure_times(lambda test=test, p=pipeline, n=count: valkey_benchmark(test, p, n))
                    competitor_results.append(rate)
                    competitor_cpu_times.append(cpu / count * 1e6)
                report.fact(f"{test} -P {pipeline}, shardboard-load", load_results, "requests/s")
                report.fact(f"{test} -P {pipeline}, valkey-benchmark", competitor_results, "requests/s")
                name = f"{test} -P {pipeline}, shardboard-load / valkey-benchmark"
                report.limit(f"{name}, rate", median(load_results) / median(competitor_results), 1.0, "", at_least=True)
                report.limit(f"{name}, processor time", median(endpoint_cpu_times) / median(competitor_cpu_times), 1.0, "")
                if (test, pipeline) == ("GET", 1):
                    peak = median(load_results)
    finally:
        lab.close()
    return peak


def valkey_benchmark(test: str, pipeline: int, count: int) -> float:
    """Return requests per second, with the same keys and values as the load generator."""
    options = [
        "-t",
        test,
        "-P",
        str(pipeline),
        "-n",
        str(count),
        "-c",
        "50",
        "--threads",
        "2",
        "-r",
        "100000",
        "-d",
        "32",
    ]
    target = ["valkey-benchmark", "-h", ADDRESS, "-p", str(PORT), "--csv"]
    output = subprocess.run([*target, *options], capture_output=True, text=True, check=True).stdout
    return float(output.strip().splitlines()[-1].split(",")[1].strip('"'))


def chosen_rate(report: Report, rate: float) -> None:
    """Check that a rate of half of the peak is reached."""
    lab = Lab(ADDRESS)
    try:
        lab.server(PORT)
        end = run("-t", "2", "-c", "25", f"--rate={rate:.0f}", "--test-time=5", "--key-maximum=100000")
        deviation = abs(end["ops_per_second"] / round(rate) - 1) * 100
        report.fact("chosen rate, half of the peak", [rate], "requests/s")
        report.limit("the chosen rate, off by", deviation, 0.5, "%")
    finally:
        lab.close()


def arrival(notes: list[tuple[int, int, bytes]]) -> float:
    """Return the time when the kernel received the bytes."""
    for _, kind, data in notes:
        if kind == SO_TIMESTAMPNS:
            seconds, nanos = struct.unpack("qq", data[:16])
            return float(seconds + nanos / 1e9)
    return time.time()


class Double(threading.Thread):
    """A server that answers OK after the given delays, and records the actual duration of each reply."""

    def __init__(self, delays: list[float]) -> None:
        super().__init__(daemon=True)
        self.listener = socket.create_server((ADDRESS, 0))
        self.port: int = self.listener.getsockname()[1]
        self.delays = delays
        self.took: list[float] = []

    def run(self) -> None:
        """Serve one connection after the other. Connections of the initial check receive PONG immediately."""
        while True:
            connection, _ = self.listener.accept()
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            buffer = b""
            # The delay counts from the arrival of the request, not from the wake-up of this thread.
            connection.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
            while True:
                data, notes, _, _ = connection.recvmsg(65536, 64)
                if not data:
                    break
                arrival_time = arrival(notes)
                buffer += data
                for _ in range(buffer.count(b"GET\r\n") or buffer.count(b"PING\r\n")):
                    self.answer(connection, arrival_time, b"PING" in buffer)
                buffer = b""

    def answer(self, connection: socket.socket, arrived: float, at_once: bool) -> None:
        """Answer after the next delay."""
        if not at_once and len(self.took) < len(self.delays):
            delay = self.delays[len(self.took)]
            time.sleep(max(0.0, delay - 0.0005))
            while time.time() - arrived < delay:
                pass
            self.took.append(time.time() - arrived)
        connection.sendall(b"+OK\r\n")


def known_delays(report: Report) -> None:
    """985 of 1,000 requests take 5 ms, 13 take 20 ms, and 2 take 80 ms."""
    kinds = [0.005] * 985 + [0.02] * 13 + [0.08] * 2
    delays = [kinds[(index * 619) % 1000] for index in range(1000 * max(1, ROUNDS // 2))]
    double = Double(delays)
    double.start()
    end = run("-t", "1", "-c", "1", "--ratio=0:1", "-n", str(len(delays)), port=double.port)
    for name, share, key in (("P50", 0.5, "p50_us"), ("P99", 0.99, "p99_us"), ("P99.9", 0.999, "p999_us")):
        expected_delay = sorted(double.took)[int(share * len(double.took))] * 1e6
        tolerance = expected_delay * 0.01 + 5
        report.fact(f"{name} of known delays", [expected_delay], "us")
        report.limit(f"{name} of known delays, off by", abs(end[key] - expected_delay), round(tolerance, 1), "us")


def stall(report: Report) -> None:
    """A server stalls for 500 ms while 200 requests per second are due."""
    double = Double([0.0] * 100 + [0.5] + [0.0] * 100_000)
    double.start()
    file = Path(tempfile.gettempdir()) / f"shardboard-load-{os.getpid()}.json"
    options = ["--rate=200", "--test-time=3", "--print-percentiles=91.66", f"--json-out-file={file}"]
    end = run("-t", "1", "-c", "1", "--ratio=0:1", *options, port=double.port)
    totals = json.loads(file.read_text())["ALL STATS"]["Totals"]
    file.unlink()
    report.limit("a stall of 500 ms at a chosen rate, longest latency", end["max_us"] / 1000, 499, "ms", at_least=True)
    # 100 requests were due during the stall. Half of them waited for more than 250 ms: a twelfth of all 600.
    slow = totals["Percentile Latencies"]["p91.66"]
    report.limit("the same, latency that a twelfth of all exceeds", slow, 240, "ms", at_least=True)


class Prober(threading.Thread):
    """Writes one key to primary and replica continuously. Records the last success before a gap and the first after it."""

    def __init__(self, ports: list[int], key: str) -> None:
        super().__init__(daemon=True)
        self.ports, self.key = ports, key
        self.good: list[float] = []
        self.running = True

    def run(self) -> None:
        """Try the primary and its replica alternately."""
        connections: dict[int, socket.socket] = {}
        while self.running:
            for port in self.ports:
                try:
                    if port not in connections:
                        connections[port] = socket.create_connection((ADDRESS, port), 0.05)
                    connections[port].sendall(command("SET", self.key, "1"))
                    ready = select.select([connections[port]], [], [], 0.05)[0]
                    if ready and connections[port].recv(4096).startswith(b"+OK"):
                        self.good.append(time.time())
                except OSError:
                    connections.pop(port, None)
            time.sleep(0.001)

    def gap(self) -> float:
        """Return the longest time without a success."""
        return max(after - before for before, after in zip(self.good, self.good[1:], strict=False))


def killed_primary(report: Report) -> None:
    """Kill a primary during the run. Its replica is promoted by an election of the engine."""
    errors_ms, late = [], []
    for _ in range(max(1, ROUNDS // 2)):
        lab = Lab(ADDRESS)
        try:
            lab.cluster(PRIMARIES, REPLICAS)
            for port in [*PRIMARIES, *REPLICAS]:
                with socket.create_connection((ADDRESS, port)) as connection:
                    connection.sendall(command("CONFIG", "SET", "cluster-node-timeout", "1000"))
                    connection.recv(100)
            # "b" is in slot 3300, of the first primary.
            prober = Prober([PRIMARIES[0], REPLICAS[0]], "b")
            prober.start()
            line = [str(BINARY), "-s", ADDRESS, "-p", str(PRIMARIES[1]), "--cluster-mode", "--live-lines=-"]
            line += ["-t", "1", "-c", "4", "--rate=4000", "--test-time=8", "--key-maximum=100000", "--hide-histogram"]
            start = time.monotonic()
            with subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
                assert process.stdout is not None
                for text in process.stdout:
                    message = json.loads(text)
                    if message.get("t") == 1:
                        lab.processes[0].send_signal(signal.SIGKILL)
            late.append(time.monotonic() - start - 8)
            prober.running = False
            prober.join()
            shard = f"{ADDRESS}:{PRIMARIES[0]}"
            outages = [outage["seconds"] for outage in message["outages"] if outage["shard"] == shard]
            reported_ms = max(outages, default=0.0)
            errors_ms.append(abs(reported_ms - prober.gap()) * 1000)
        finally:
            lab.close()
    report.fact("account of an outage, off from a prober's", errors_ms, "ms")
    report.limit("the same, worst", max(errors_ms), 50, "ms")
    report.limit("the run with it ended late by", max(late), 2, "s")


def verification(report: Report) -> None:
    """Compare rate and CPU time per request with and without the verification of values. GETs read the same values."""
    lab = Lab(ADDRESS)
    try:
        lab.server(PORT)
        for size, count in ((1_000, 200_000), (100_000, 10_000)):
            keys = ["-t", "2", "-c", "25", f"--data-size={size}", "--key-minimum=1", "--key-maximum=2000"]
            run(*keys, "--data-verify", "-n", "allkeys", "--key-pattern=P:P", "--ratio=1:0")
            for test, ratio in (("GET", "0:1"), ("SET", "1:0")):
                options = [*keys, f"--ratio={ratio}", "-n", str(count // 50)]
                rates: dict[str, list[float]] = {"": [], "--data-verify": []}
                cpu_times: dict[str, list[float]] = {"": [], "--data-verify": []}
                for _ in range(ROUNDS):
                    for option in rates:
                        end, cpu = measure_times(lambda more=option, base=options: run(*base, *filter(None, [more])))
                        assert not end["errors"], end["errors"]
                        rates[option].append(end["ops_per_second"])
                        cpu_times[option].append(cpu / count * 1e6)
                plain, verified = rates.values()
                report.fact(f"{test} of {size} bytes, not verified", plain, "requests/s")
                report.fact(f"{test} of {size} bytes, verified", verified, "requests/s")
                name = f"{test} of {size} bytes, verified / not verified"
                report.limit(f"{name}, rate", median(verified) / median(plain), 0.8, "", at_least=True)
                ratio_of_times = median(cpu_times["--data-verify"]) / median(cpu_times[""])
                report.limit(f"{name}, processor time", ratio_of_times, 1.3, "")
    finally:
        lab.close()

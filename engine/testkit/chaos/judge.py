"""Compare the output of a client with the data of the shards: wrong replies, lost or repeated writes, stuck connections."""

from collections import Counter, defaultdict
from dataclasses import dataclass, field

# A longer request was stuck, because nothing in the run justifies it. The timeout of the clients is 10 s.
STUCK_SECONDS = 8.0
# A write acknowledged less than this time before its primary was killed may not have reached the replica.
REPLICATION = 3.0


@dataclass
class Verdict:
    """Result of one client."""

    name: str
    requests: int = 0
    acknowledged: int = 0
    errors: Counter[str] = field(default_factory=Counter)
    longest: float = 0.0
    unconfirmed: int = 0
    excused: int = 0
    repeated: int = 0
    flaws: list[str] = field(default_factory=list)


@dataclass
class Key:
    """The writes to one key, in order. Only one worker writes it."""

    written: dict[int, tuple[float, float]] = field(default_factory=dict)
    unknown: set[int] = field(default_factory=set)
    confirmed: set[int] = field(default_factory=set)
    last: int = 0
    failing_since: float | None = None


class Judge:
    """Checks the output of one client, and then the lists on the shards."""

    def __init__(self, name: str, kind: str, events: list[tuple[float, str]]) -> None:
        self.verdict = Verdict(name)
        self.kind = kind
        self.events = events
        self.kills = [killed_at for killed_at, event in events if event == "kill"]
        self.keys: dict[str, Key] = defaultdict(Key)
        self.since_wait: dict[str, list[tuple[str, int]]] = defaultdict(list)
        self.values: dict[str, set[str]] = defaultdict(lambda: {"none"})

    def read(self, lines: list[str]) -> None:
        """Check all lines of the output."""
        for line in lines:
            fields = line.rstrip("\n").split("\t")
            if len(fields) > 3:
                self.request(fields[0], fields[1:-3], float(fields[-3]), float(fields[-2]), fields[-1])

    def request(self, what: str, words: list[str], began: float, ended: float, outcome: str) -> None:
        """Check one line."""
        verdict = self.verdict
        verdict.requests += 1
        verdict.longest = max(verdict.longest, ended - began)
        if ended - began > STUCK_SECONDS:
            verdict.flaws.append(f"stuck for {ended - began:.1f} s, {self.when(began)}: {what} {words}")
        if outcome != "ok":
            verdict.errors[kind_of(outcome)] += 1
        is_ok = outcome == "ok"
        if what in ("w", "t"):
            self.write(words[0], int(words[1]), (began, ended), is_ok)
            if what == "t" and is_ok and words[2] != words[3]:
                verdict.flaws.append(f"half a transaction: {words}")
        elif what == "r" and is_ok:
            self.last(words[0], words[1], began)
        elif what == "s":
            self.waited(words[0], is_ok and words[1] != "0")
        elif what == "m":
            self.values[words[0]] = {words[1]} | (set() if is_ok else self.values[words[0]])
        elif what == "g" and is_ok:
            self.several(words[0], set(words[1].split(",")), began)

    def when(self, at: float) -> str:
        """Return the last event before a time."""
        earlier = [(start, event) for start, event in self.events if start <= at]
        return f"{at - earlier[-1][0]:.1f} s after {earlier[-1][1]} started" if earlier else "before any event"

    def write(self, key: str, number: int, times: tuple[float, float], is_ok: bool) -> None:
        """Check a write: a number was appended to a list, or its result is unknown."""
        state = self.keys[key]
        failing_since = state.failing_since
        if failing_since is not None and times[1] - failing_since > STUCK_SECONDS:
            self.verdict.flaws.append(f"{key}: could not be written for {times[1] - failing_since:.1f} s, {self.when(failing_since)}")
            failing_since = times[1]
        state.failing_since = None if is_ok else failing_since or times[0]
        if not is_ok:
            state.unknown.add(number)
            return
        self.verdict.acknowledged += 1
        state.written[number] = times
        state.last = number
        self.since_wait[key.strip("{}").rsplit(":", 1)[0]].append((key, number))

    def several(self, worker: str, said: set[str], began: float) -> None:
        """Check the values of keys on several shards that were all set to the same number."""
        if not said <= self.values[worker] and not self.excuse(began):
            self.verdict.flaws.append(
                f"{worker}: MGET returned {sorted(said)} instead of {sorted(self.values[worker])}"
            )

    def waited(self, worker: str, is_confirmed: bool) -> None:
        """Record whether WAIT confirmed that all earlier writes are on a replica."""
        for key, number in self.since_wait.pop(worker, []):
            if is_confirmed:
                self.keys[key].confirmed.add(number)

    def last(self, key: str, value: str, began: float) -> None:
        """Check the last element of a list, which is read by the only worker that appends to it."""
        state = self.keys[key]
        allowed = {str(state.last) if state.last else "none"} | {str(number) for number in state.unknown}
        if value not in allowed and not self.excuse(state.written.get(state.last, (0, 0))[1]):
            self.verdict.flaws.append(f"{key} ends with {value} instead of {state.last}")

    def excuse(self, ended: float) -> bool:
        """Whether writes acknowledged at this time may be lost because a primary was killed."""
        return any(ended - REPLICATION <= kill <= ended + REPLICATION for kill in self.kills)

    def lists(self, lists: dict[str, list[str]]) -> Verdict:
        """Check the final lists of the shards."""
        for key, state in self.keys.items():
            values = [int(value) for value in lists.get(key, [])]
            counts = Counter(values)
            for number, (_, ended_at) in state.written.items():
                if counts[number] == 0:
                    self.missing(key, state, number, ended_at)
            repeated = [number for number, count in counts.items() if count > 1]
            self.verdict.repeated += len(repeated)
            if repeated and self.kind == "plain":
                self.verdict.flaws.append(f"{key}: written more than once: {repeated[:5]}")
            unexpected = set(values) - state.written.keys() - state.unknown
            if unexpected:
                self.verdict.flaws.append(f"{key}: never written: {sorted(unexpected)[:5]}")
            known = [number for number in values if number not in state.unknown and counts[number] == 1]
            if known != sorted(known):
                self.verdict.flaws.append(f"{key}: out of order")
            self.verdict.unconfirmed += len(state.unknown)
        return self.verdict

    def missing(self, key: str, state: Key, number: int, ended: float) -> None:
        """Record that an acknowledged write is missing."""
        if number not in state.confirmed and self.excuse(ended):
            self.verdict.excused += 1
        else:
            confirmed = ", although WAIT confirmed it" if number in state.confirmed else ""
            self.verdict.flaws.append(f"{key}: acknowledged {number} is lost{confirmed}")


def kind_of(outcome: str) -> str:
    """Return the error without numbers and addresses."""
    words = [word for word in outcome.split() if not any(character.isdigit() for character in word)]
    return " ".join(words)[:90]

# SPDX-License-Identifier: Apache-2.0
"""Judges what the holders of a soak run logged.

Three kinds of violation, always between two acquisitions of one lock:
  overlap    two holders were inside their own validity at the same time
  duplicate  the same token twice
  inversion  an acquisition whose request was sent after another had been granted has a lower token

docs/guarantees.md says which of them are expected. An overlap never is. A duplicate or an inversion
is expected only if the servers that had recorded the higher token lost their memory, no reachable
server remembered it, and the clocks of the rejoining server and of the client that ended its
quarantine, each plus 10 s, were not above it. Clocks count only where no majority of the other
servers grants: else a rejoining server takes its floor from them.

Pure: no clock, no file, no process. Times are microseconds on the validity clock of the machine.
"""

import bisect
from collections import Counter, defaultdict
from dataclasses import dataclass

HEADROOM = 10_000_000  # µs: tokens may run this far ahead of a clock
KINDS = ("overlap", "duplicate", "inversion")
ANSWER = 1_500_000  # µs: the library waits 1 s for an answer; the rest is for a loaded machine


@dataclass(frozen=True)
class Acquisition:
    client: str
    name: str
    token: int  # 0: the layout has no tokens
    sent: int  # the winning request was sent at this time or later
    granted: int  # the holder had the answer
    end: int  # the holder's claim ended: released, lost, killed, or its last promised deadline
    confirmed: int  # the store last recorded the hold at this time or later


@dataclass(frozen=True)
class Loss:
    """A server lost its memory: FLUSHALL, or a restart without data."""

    server: int
    at: int


@dataclass(frozen=True)
class Rejoin:
    """A server grants again. `clocks`: the later of its own clock and its client's, in µs."""

    server: int
    at: int
    clocks: int
    by: str = ""

    @property
    def floor(self):
        return self.clocks + HEADROOM


@dataclass(frozen=True)
class Silence:
    """A server was stopped or not running."""

    server: int
    begin: int
    end: int


@dataclass(frozen=True)
class Violation:
    kind: str
    expected: bool
    first: Acquisition
    second: Acquisition


class Memory:
    """Which tokens the servers of one store may have forgotten, and when."""

    def __init__(self, servers, events, silences=(), patience=0):
        """`patience`: a server silent for this long counts as one that has forgotten (max_ttl)."""
        self.servers = servers
        self.majority = servers // 2 + 1
        self.events = sorted(events, key=lambda e: e.at)
        self.times = [e.at for e in self.events]
        self.silences = list(silences)
        self.patience = patience
        self._thresholds = {}

    def epoch(self, at):
        """The number of events before a moment."""
        return bisect.bisect_left(self.times, at)

    def excuses(self, first, second):
        """Whether `second` may have a token at or below the one of `first`.

        The store granted at an unknown moment after the request and before the answer. A loss in
        between may have come after the grant, so each moment counts.
        """
        begin = self.epoch(first.confirmed)
        ends = range(max(begin, self.epoch(second.sent)), self.epoch(second.granted) + 1)
        return any(self._may_forget(begin, end, first.token) for end in ends)

    def _may_forget(self, begin, end, token):
        """Whether a token stored before event `begin` may come again after event `end` - 1."""
        key = (begin, end)
        if key not in self._thresholds:
            self._thresholds[key] = self._threshold(begin, end)
        threshold = self._thresholds[key]
        return threshold is not None and token >= threshold

    def _threshold(self, begin, end):
        """The lowest token that may be forgotten. A higher one is forgotten more easily."""
        if not any(isinstance(e, Loss) for e in self.events[begin:end]):
            return None
        floors = sorted({e.floor for e in self.events[begin:end] if isinstance(e, Rejoin)})
        at = bisect.bisect_left(floors, True, key=lambda f: self._forgotten(begin, end, f))
        return floors[at] if at < len(floors) else None

    def _forgotten(self, begin, end, token):
        """Whether at `end` a majority may exist that forgot or never had the token."""
        lost, knows, forgot = set(), set(), set()
        closed = self._closed_at(begin)
        for event in self.events[begin:end]:
            server = event.server
            if isinstance(event, Loss):
                lost.add(server)
                closed.add(server)
                knows.discard(server)
                forgot.discard(server)
                continue
            closed.discard(server)
            if server in lost and server not in knows:
                silent = self._silent(event.at) - {server}
                # A majority had the token. In the worst case it included every server that forgot.
                kept = self.majority - len(lost) - len(silent - lost)
                # Clocks give the floor only where no majority of other servers grants.
                by_clocks = self.servers - 1 - len(closed) < self.majority
                if (by_clocks and event.floor > token) or kept > 0 or knows - silent:
                    knows.add(server)
                    forgot.discard(server)
                else:
                    forgot.add(server)
        never_had = min(self.servers - len(lost), self.servers - self.majority)
        return bool(forgot) and len(forgot) + never_had >= self.majority

    def _closed_at(self, begin):
        """The servers that have lost their memory before event `begin` and do not grant yet."""
        closed = set()
        for event in self.events[:begin]:
            (closed.add if isinstance(event, Loss) else closed.discard)(event.server)
        return closed

    def _silent(self, at):
        return {s.server for s in self.silences
                if s.begin <= at - self.patience and s.end >= at - ANSWER}


def _overlaps(acquisitions):
    longest = None  # of those granted so far, the one whose claim ends last
    for a in sorted(acquisitions, key=lambda a: a.granted):
        if longest is not None and a.granted < min(longest.end, a.end):
            yield Violation("overlap", False, longest, a)
        if longest is None or a.end > longest.end:
            longest = a


def _duplicates(acquisitions, memory):
    seen = {}
    for a in sorted(acquisitions, key=lambda a: a.granted):
        first = seen.setdefault(a.token, a)
        if first is not a:
            yield Violation("duplicate", memory.excuses(first, a), first, a)


def _inversions(acquisitions, memory):
    """At most one per acquisition: an unexpected one where there is any."""
    by_grant = sorted(acquisitions, key=lambda a: a.granted)
    granted = 0
    tokens = defaultdict(list)  # by epoch: (token, place in by_grant) of those granted before
    for later in sorted(acquisitions, key=lambda a: a.sent):
        while granted < len(by_grant) and by_grant[granted].granted < later.sent:
            earlier = by_grant[granted]
            bisect.insort(tokens[memory.epoch(earlier.confirmed)], (earlier.token, granted))
            granted += 1
        found = None
        for known in tokens.values():
            at = bisect.bisect_left(known, (later.token + 1, -1))
            if at == len(known):
                continue
            _, place = known[at]  # the lowest that is too high is the hardest to forget
            expected = memory.excuses(by_grant[place], later)
            found = found if found and (expected or not found.expected) else Violation(
                "inversion", expected, by_grant[place], later)
            if not expected:
                break
        if found:
            yield found


def judge(acquisitions, memory):
    """All violations, lock by lock."""
    names = defaultdict(list)
    for a in acquisitions:
        names[a.name].append(a)
    found = []
    for of_name in names.values():
        found.extend(_overlaps(of_name))
        with_token = [a for a in of_name if a.token != 0]
        found.extend(_duplicates(with_token, memory))
        found.extend(_inversions(with_token, memory))
    return found


def count(violations):
    """{kind: {"expected": n, "unexpected": m}}, with each kind."""
    seen = Counter((v.kind, v.expected) for v in violations)
    return {kind: {"expected": seen[kind, True], "unexpected": seen[kind, False]}
            for kind in KINDS}


def parse_log(client, text, cut):
    """The acquisitions in the log of one process that was over at `cut`. The format: holder.cpp."""
    found = []
    open_hold = None  # [name, token, asked, granted, first deadline, ttl, last deadline, last seen]

    def close(end):
        name, token, asked, granted, first, ttl, last, _ = open_hold
        by_deadline = ttl > 0
        sent = max(asked, first - ttl) if by_deadline else asked
        found.append(Acquisition(
            client, name, token, sent, granted,
            max(granted, min(end, last) if by_deadline else end),
            last - ttl if by_deadline else sent))

    for line in text.split("\n")[:-1]:  # a last line without its newline was cut by a kill
        kind, *words = line.split()
        if kind == "G":
            if open_hold:
                close(min(cut, open_hold[7]))
            name, *numbers = words
            token, asked, granted, deadline, ttl = (int(n) for n in numbers)
            open_hold = [name, token, asked, granted, deadline, ttl, deadline, granted]
        elif kind == "D" and open_hold:
            open_hold[6] = max(open_hold[6], int(words[0]))
        elif kind == "S" and open_hold:
            open_hold[7] = int(words[0])
        elif kind == "E" and open_hold:
            close(min(cut, int(words[0])))
            open_hold = None
    if open_hold:  # killed; a holder's claim lasts until then, a child's until it was last alive
        close(cut if open_hold[5] > 0 else min(cut, open_hold[7]))
    return found

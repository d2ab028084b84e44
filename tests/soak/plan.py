# SPDX-License-Identifier: Apache-2.0
"""The faults of one group, drawn from a seed: the same seed, setup and length give the same plan.

Pure: it starts and breaks nothing. Times are seconds since the start of the group.
"""

import random
from dataclasses import dataclass

STEPS = (4, 30, 3600)  # seconds by which a clock is set, ahead or back
STEP_WEIGHTS = (45, 40, 15)  # an hour keeps quarantines closed, so it must be rare
CALM = 5  # seconds without faults at the end, after the last quarantine


@dataclass(frozen=True)
class Setup:
    """One store and its clients. A later store adds its own setups to SETUPS."""

    name: str
    servers: int
    max_ttl: int  # seconds
    layout: str = "record"
    holders: int = 3
    tools: int = 2

    @property
    def quarantine(self):
        return self.max_ttl + 1

    @property
    def options(self):
        """60 s is the default and needs no option; another max_ttl needs its own prefix."""
        if self.layout == "classic":
            return "?layout=classic"
        return "" if self.max_ttl == 60 else f"?prefix={self.prefix}&max_ttl={self.max_ttl}s"

    @property
    def prefix(self):
        return "cremone" if self.max_ttl == 60 else "soak"


SETUPS = (
    Setup("redis", 1, 60),
    Setup("redis-2s", 1, 2),
    Setup("redlock3", 3, 60),
    Setup("redlock3-2s", 3, 2),
    Setup("redlock5", 5, 60),
    Setup("redlock5-2s", 5, 2),
)

# Documented to break: it shows that the judge finds overlaps.
CLASSIC = Setup("classic", 1, 2, layout="classic")


@dataclass(frozen=True)
class Fault:
    at: float
    kind: str  # flush, empty, restart, stop, step, kill
    target: str  # "s0" is a server, "h0" a holder, "t0" a slot for `cremone run`
    value: float = 0  # step: the new offset of the clock; else: seconds until it is back


def clients(setup):
    return [f"h{i}" for i in range(setup.holders)] + [f"t{i}" for i in range(setup.tools)]


class _Planner:
    def __init__(self, setup, seed, seconds):
        self.setup = setup
        self.random = random.Random(f"{seed}/{setup.name}")
        self.end = seconds - setup.quarantine - CALM
        self.servers = [f"s{i}" for i in range(setup.servers)]
        self.offset = {t: 0 for t in self.servers + clients(setup)}
        self.faults = []

    def between(self, least, most):
        return round(self.random.uniform(least, most), 3)

    def every(self, least, most, first=None):
        """Moments until the end; at least one."""
        at = self.between(2, 8) if first is None else first
        yield at
        while (at := at + self.between(least, most)) < self.end:
            yield at

    def some_servers(self):
        """Mostly one, sometimes a minority, sometimes a majority or all."""
        n = self.setup.servers
        majority = n // 2 + 1
        luck = self.random.random()
        if n == 1 or luck < 0.55:
            how_many = 1
        elif luck < 0.75:
            how_many = n - majority
        else:
            how_many = self.random.randint(majority, n)
        return sorted(self.random.sample(self.servers, how_many))

    def losses(self):
        q = self.setup.quarantine
        rest = (2, 8) if q < 10 else (10, 50)
        share = 2 if self.setup.servers == 5 else 1  # five servers survive twice as many losses
        for at in self.every((q + rest[0]) / share, (q + rest[1]) / share):
            kind = self.random.choices(("flush", "empty", "restart"), (45, 35, 20))[0]
            kind = kind if self.faults else "flush"  # each run has a loss, however short it is
            targets = self.some_servers()
            # A clock that is set back just before the loss is what tokens must survive.
            back = self.random.choice((0, 0, -4, -30))
            for target in targets:
                if back:
                    self.faults.append(Fault(round(at - 0.5, 3), "set", target, back))
                self.faults.append(Fault(at, kind, target, self.between(0.1, 1.5)))

    def steps(self, targets, least, most, together):
        for at in self.every(least, most):
            chosen = targets if self.random.random() < together else [self.random.choice(targets)]
            by = self.random.choices(STEPS, STEP_WEIGHTS)[0] * self.random.choice((-1, 1))
            for target in chosen:
                self.faults.append(Fault(at, "step", target, by))

    def others(self):
        holders = [f"h{i}" for i in range(self.setup.holders)]
        for at in self.every(6, 15):
            victim = self.random.choice(self.servers)
            self.faults.append(Fault(at, "stop", victim, self.between(0.1, 3)))
        for at in self.every(4, 10):
            self.faults.append(Fault(at, "stop", self.random.choice(holders), self.between(0.2, 5)))
        for at in self.every(5, 12):
            victim = self.random.choice(clients(self.setup))
            self.faults.append(Fault(at, "kill", victim, self.between(0.1, 1)))

    def settled(self):
        """The faults in order, with steps as offsets. A target that is down or stopped gets none.
        Of two faults that collide, the loss of memory stays."""
        steps = [f for f in self.faults if f.kind in ("step", "set")]
        busy = {}
        plan = []
        for f in self.faults:  # losses were drawn first
            if f.kind in ("step", "set"):
                continue
            span = (f.at, f.at + (0 if f.kind == "flush" else f.value) + 0.2)
            taken = busy.setdefault(f.target, [])
            if all(span[1] <= begin or end <= span[0] for begin, end in taken):
                taken.append(span)
                plan.append(f)
        for f in sorted(steps, key=lambda f: (f.at, f.target)):
            now = self.offset[f.target]
            # From an offset a step leads back to the right time: every step has one of the sizes.
            value = f.value if f.kind == "set" or now == 0 else 0
            if value != now:
                self.offset[f.target] = value
                plan.append(Fault(f.at, "step", f.target, value))
        return sorted(plan, key=lambda f: (f.at, f.kind, f.target))


def make_plan(setup, seed, seconds):
    planner = _Planner(setup, seed, seconds)
    planner.losses()
    hurry = 1 if setup.max_ttl < 10 else 2
    planner.steps(planner.servers, 3 * hurry, 8 * hurry, together=0.3)
    planner.steps(clients(setup), 3 * hurry, 8 * hurry, together=0.2)
    planner.others()
    return planner.settled()

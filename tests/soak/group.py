# SPDX-License-Identifier: Apache-2.0
"""One group of a soak run: its servers, its clients, and the faults of its plan.

Runs in its own process, on one thread: servers and clients die with the thread that started them.
"""

import heapq
import itertools
import os
import random
import select
import subprocess
import time
from collections import Counter

from clients import Holder, Programs, Tool
from clocks import now, true_wall
from judge import ANSWER, HEADROOM, Loss, Memory, Rejoin, Silence, count, judge
from plan import make_plan
from servers import Flushed, Server, die_with_parent

NAMES = ("alpha", "beta")
CLOCK_BOUND = 60_000_000  # µs: where clocks differ by more, a quarantine waits for an operator
OVERDUE = 4_000_000  # µs: how long the operator waits beyond the quarantine for clients to end it
SAMPLING = 100_000  # µs: a client reads its clock at most this long before it sends
ENDING = 10  # seconds that holders have to end by themselves
REPORTED = 20  # unexpected violations that are reported; the journal has them all
OPERATOR = "operator"


class Group:
    def __init__(self, setup, seed, seconds, build, folder):
        self.setup = setup
        self.seconds = seconds
        self.folder = folder
        os.makedirs(folder)
        self.programs = Programs(build)
        self.plan = make_plan(setup, seed, seconds)
        with open(os.path.join(folder, "plan.txt"), "w", encoding="utf-8") as file:
            file.writelines(f"{f.at:9.3f} {f.kind:8}{f.target:4}{f.value}\n" for f in self.plan)
        self.journal = open(os.path.join(folder, "journal.txt"), "w", encoding="utf-8", buffering=1)
        self.random = random.Random(f"clients/{seed}/{setup.name}")
        self.events, self.silences, self.faults = [], [], Counter()
        self.timers, self.order = [], itertools.count()
        self.stuck = 0
        self.began = now()
        self.servers = [Server(i, os.path.join(folder, f"s{i}"), self.programs.shim, setup.prefix)
                        for i in range(setup.servers)]
        hosts = ",".join(s.node for s in self.servers)
        self.url = f"{'redis' if setup.servers == 1 else 'redlock'}://{hosts}{setup.options}"
        self.clients = {}
        for i in range(setup.holders):
            self._add(Holder, f"h{i}", max_ttl=setup.max_ttl)
        for i in range(setup.tools):
            self._add(Tool, f"t{i}", fresh=i % 2 == 0)

    def _add(self, kind, label, **more):
        self.clients[label] = kind(label, os.path.join(self.folder, label), self.url, NAMES,
                                   self.programs, random.Random(self.random.getrandbits(64)),
                                   **more)

    def note(self, text):
        self.journal.write(f"{(now() - self.began) / 1e6:9.3f} {text}\n")

    # Timers

    def later(self, seconds, what, *args):
        heapq.heappush(self.timers, (now() + int(seconds * 1e6), next(self.order), what, args))

    def run_timers(self):
        while self.timers and self.timers[0][0] <= now():
            _, _, what, args = heapq.heappop(self.timers)
            what(*args)

    # Faults

    def inject(self, fault):
        note = f"{fault.kind} {fault.target} {fault.value}"
        if fault.target[0] == "s":
            done = self._harm_server(self.servers[int(fault.target[1:])], fault)
        else:
            done = self._harm_client(self.clients[fault.target], fault)
        self.note(note if done else f"skipped: {note}")
        what = "server" if fault.target[0] == "s" else "client"
        self.faults[f"{what} {fault.kind}" if done else "skipped"] += 1

    def _harm_server(self, server, fault):
        if fault.kind == "step":
            # A server set ahead after its start seems to have been up for longer. No client notices
            # that: docs/redis.md says so.
            if server.restarted_empty and fault.value * 1e6 > server.clock.offset:
                return False
            server.clock.set(fault.value)
            return True
        if not server.running or server.stopped:
            return False
        if fault.kind == "flush":
            server.flush()
        elif fault.kind == "stop":
            server.stop()
            self.later(fault.value, self._resume_server, server, now())
        else:
            begin = now()
            self.take(server, server.kill(empty=fault.kind == "empty"))
            if fault.kind == "empty":
                self.events.append(Loss(server.index, now()))
            self.later(fault.value, self._restart_server, server, begin)
        return True

    def _resume_server(self, server, since):
        server.resume()
        self.silences.append(Silence(server.index, since, now()))

    def _restart_server(self, server, since):
        server.start()
        self.silences.append(Silence(server.index, since, now()))

    def _harm_client(self, client, fault):
        if fault.kind == "step":
            client.clock.set(fault.value)
            return True
        if not client.running:
            return False
        if fault.kind == "stop":
            client.stop()
            self.later(fault.value, self._resume_client, client, client.process)
        else:
            client.kill()
            self.later(fault.value, client.start)
        return True

    @staticmethod
    def _resume_client(client, process):
        if client.process is process and client.running:
            client.resume()

    # What servers report

    def take(self, server, reports):
        for seen in reports:
            if isinstance(seen, Flushed):
                self.events.append(Loss(server.index, seen.at))
            else:
                self.events.append(self._rejoin(server, seen))

    def _rejoin(self, server, seen):
        """The client read its clock some time before the server executed the request, and a stopped
        server let the request wait. So the lowest clock of that span counts."""
        waits = [s.begin for s in self.silences if s.server == server.index
                 and s.begin <= seen.at and s.end >= seen.at - ANSWER]
        read = min([seen.at, *waits]) - SAMPLING
        if seen.by in self.clients:
            offset = min(self.clients[seen.by].clock.offsets_between(read, seen.at))
        elif self.operating:
            offset = 0  # the operator's clock is right
        else:  # an unknown client counts as the one whose clock is the latest
            offset = max(c.clock.offset for c in self.clients.values())
        by = seen.by or (OPERATOR if self.operating else "unknown")
        client_clock = true_wall(read) + offset
        self.ended[by if by in (OPERATOR, "unknown") else "client"] += 1
        self.note(f"rejoin s{server.index} by {by} at {(seen.at - self.began) / 1e6:.3f}: "
                  f"server clock {(seen.server_clock - true_wall(seen.at)) / 1e6:+.3f} s, "
                  f"client clock {offset / 1e6:+.3f} s, floor {seen.floor}, "
                  f"clocks + 10 s {max(seen.server_clock, client_clock) + HEADROOM}")
        return Rejoin(server.index, seen.at, max(seen.server_clock, client_clock), by)

    def listen(self, seconds):
        running = [s for s in self.servers if s.running]
        readable, _, _ = select.select(running, [], [], max(0, seconds))
        for server in readable:
            self.take(server, server.read())

    # The operator

    operating = False
    ended = None  # counts of who ended quarantines

    def end_quarantine(self):
        """`cremone quarantine --end`, by an operator whose clock is right."""
        self.note("the operator ends the quarantine")
        state = os.path.join(self.folder, OPERATOR)
        os.makedirs(state, exist_ok=True)
        self.listen(0)
        self.operating = True
        done = subprocess.run(
            [self.programs.cremone, "quarantine", "--end", self.url], stdin=subprocess.DEVNULL,
            capture_output=True, text=True, timeout=60, preexec_fn=die_with_parent,
            env=dict(os.environ, CREMONE_STATE_DIR=state), check=False)
        self.note(f"status {done.returncode}: {done.stderr.strip()}")
        self.listen(0.2)
        self.listen(0)
        self.operating = False

    def watch_quarantines(self):
        self.later(0.5, self.watch_quarantines)
        closed = [s for s in self.servers if s.in_quarantine_since is not None]
        reachable = all(s.running and not s.stopped for s in self.servers)
        if not closed or not reachable or self.setup.layout != "record":
            return
        length = self.setup.quarantine * 1_000_000
        # The order ends all quarantines at once. One that has not lasted long enough would allow an
        # overlap.
        waited = now() - max(s.in_quarantine_since for s in closed)
        offsets = [c.clock.offset for c in self.clients.values()]
        apart = any(abs(s.clock.offset - o) > CLOCK_BOUND for s in closed for o in offsets)
        if waited > length + OVERDUE and apart:
            self.end_quarantine()
        elif waited > 3 * length + 10 * OVERDUE:
            self.stuck += 1
            self.note(f"stuck: {[s.index for s in closed]} in quarantine for {waited / 1e6:.1f} s")
            self.end_quarantine()

    # The run

    def tend_tools(self):
        self.later(0.05, self.tend_tools)
        for client in self.clients.values():
            if isinstance(client, Tool) and client.finished():
                self.later(client.random.uniform(0.2, 0.8), client.start)
            elif isinstance(client, Holder) and client.cuts[-1] is None and not client.running:
                status = client.process.returncode
                raise RuntimeError(f"{client.label} ended with {status}; see {client.folder}")

    def run(self, report):
        """Injects the plan and judges. `report` is called with progress now and then."""
        self.ended = Counter()
        if self.setup.layout == "record":
            self.end_quarantine()  # new servers: nothing was held before
        self.began = now()
        for client in self.clients.values():
            client.start()
        for fault in self.plan:
            self.later(fault.at, self.inject, fault)
        self.later(0.1, self.watch_quarantines)
        self.later(0.1, self.tend_tools)
        last_report = 0
        while (passed := (now() - self.began) / 1e6) < self.seconds:
            self.run_timers()
            self.listen(min(0.1, (self.timers[0][0] - now()) / 1e6))
            if passed - last_report >= 5:
                last_report = passed
                acquired = sum(c.grants() for c in self.clients.values())
                report({"seconds": passed, "acquired": acquired,
                        "faults": sum(self.faults.values())})
        self.end()
        return self.verdict()

    def end(self):
        for server in self.servers:
            if server.stopped:
                server.resume()
        holders = [c for c in self.clients.values() if isinstance(c, Holder) and c.running]
        for holder in holders:
            holder.resume()
            holder.process.terminate()
        deadline = time.monotonic() + ENDING
        while any(h.running for h in holders) and time.monotonic() < deadline:
            self.listen(0.05)
        for client in self.clients.values():
            client.kill()
        for server in self.servers:
            server.close()

    def verdict(self):
        by_client = {label: c.acquisitions() for label, c in self.clients.items()}
        acquisitions = [a for of_one in by_client.values() for a in of_one]
        memory = Memory(self.setup.servers, self.events, self.silences,
                        self.setup.max_ttl * 1_000_000)
        found = judge(acquisitions, memory)
        unexpected = [self.explain(v, memory) for v in found if not v.expected]
        for text in unexpected:
            self.note(text)
        return {
            "store": self.setup.name,
            "acquired": {"library": sum(len(a) for c, a in by_client.items() if c[0] == "h"),
                         "tool": sum(len(a) for c, a in by_client.items() if c[0] == "t")},
            "faults": dict(self.faults),
            "losses": sum(isinstance(e, Loss) for e in self.events),
            "rejoins": sum(isinstance(e, Rejoin) for e in self.events),
            "quarantines_ended_by": dict(self.ended),
            "stuck": self.stuck,
            "violations": count(found),
            "unexpected": unexpected[:REPORTED],
        }

    def explain(self, v, memory):
        def at(moment):
            return f"{(moment - self.began) / 1e6:.3f} s"

        def one(a):
            return (f"{a.client} sent {at(a.sent)}, held {at(a.granted)} to {at(a.end)}, "
                    f"token {a.token}")

        text = f"{v.kind} of {v.first.name}: {one(v.first)}; {one(v.second)}"
        between = memory.events[memory.epoch(v.first.confirmed):memory.epoch(v.second.granted)]
        if v.kind != "overlap":
            for e in between[-6:]:
                what = "lost its memory" if isinstance(e, Loss) else (
                    f"rejoined by {e.by}, clocks + 10 s were {e.floor} "
                    f"({e.floor - v.first.token:+} µs)")
                text += f"; s{e.server} {what} at {at(e.at)}"
        return text

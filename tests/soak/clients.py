# SPDX-License-Identifier: Apache-2.0
"""The clients of a soak run: holder programs that use the library, and `cremone run` in a loop.

Each client has its own wall clock and state directory, and each of its processes its own log.
"""

import os
import shutil
import signal
import subprocess

from clocks import SettableClock, now
from judge import parse_log
from servers import die_with_parent


class Programs:
    """Where the programs under test are."""

    def __init__(self, build):
        self.cremone = os.path.join(build, "cli", "cremone")
        self.holder = os.path.join(build, "tests", "soak", "soak_holder")
        self.shim = os.path.join(build, "tests", "libclock_shim.so")
        for path in (self.cremone, self.holder, self.shim):
            if not os.path.exists(path):
                raise FileNotFoundError(f"{path} is not built; './dev soak' builds it")


class Client:
    """What holders and tools have in common."""

    def __init__(self, label, folder, url, names, programs, random):
        self.label = label
        self.folder = folder
        self.url = url
        self.names = names
        self.programs = programs
        self.random = random
        os.makedirs(folder)
        self.clock = SettableClock(os.path.join(folder, "clock"), programs.shim)
        self.process = None
        self._granted, self._over = {}, set()
        self.cuts = []  # of each process: when it ended, or None while it runs

    def _log(self):
        return os.path.join(self.folder, f"{len(self.cuts):04}.log")

    def _launch(self, command, state, **environment):
        os.makedirs(state, exist_ok=True)
        with open(os.path.join(self.folder, "stderr"), "ab") as err:
            self.process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=err, stderr=err,
                preexec_fn=die_with_parent,
                env=dict(self.clock.environment(), CREMONE_STATE_DIR=state, **environment))
        self.cuts.append(None)

    @property
    def running(self):
        return self.process is not None and self.process.poll() is None

    def kill(self):
        """Kills the process. Its claim ends before the signal is sent."""
        if self.cuts and self.cuts[-1] is None:
            self.cuts[-1] = now()
        if self.process:
            self.process.kill()
            self.process.wait()

    def grants(self):
        """How many acquisitions the logs show so far, for progress."""
        for i, cut in enumerate(self.cuts):
            if i not in self._over:
                self._granted[i] = sum(line.startswith("G ") for line in self._lines(i))
                if cut is not None:
                    self._over.add(i)
        return sum(self._granted.values())

    def _lines(self, i):
        try:
            path = os.path.join(self.folder, f"{i:04}.log")
            with open(path, encoding="utf-8", errors="replace") as log:
                return log.read().splitlines(keepends=True)
        except FileNotFoundError:
            return []

    def acquisitions(self):
        found = []
        for i, cut in enumerate(self.cuts):
            found += parse_log(self.label, "".join(self._lines(i)), now() if cut is None else cut)
        return found


class Holder(Client):
    """Runs until it is killed or told to end."""

    def __init__(self, *args, max_ttl):
        super().__init__(*args)
        self.max_ttl = max_ttl

    def start(self):
        self._launch([self.programs.holder, self.url, self._log(), str(self.random.getrandbits(32)),
                      f"soak-{self.label}", str(self.max_ttl * 1000), *self.names],
                     os.path.join(self.folder, "state"))

    def stop(self):
        self.process.send_signal(signal.SIGSTOP)

    def resume(self):
        self.process.send_signal(signal.SIGCONT)


class Tool(Client):
    """`cremone run` in a loop. Never stopped: its child may run on then, a documented limit."""

    def __init__(self, *args, fresh):
        super().__init__(*args)
        self.fresh = fresh  # an empty state directory each time, as in a container
        self.statuses = {}

    def start(self):
        state = os.path.join(self.folder, "state")
        if self.fresh:
            shutil.rmtree(state, ignore_errors=True)
        once = self.fresh or self.random.random() < 0.3
        span = self.random.choice((50, 100, 300, 1500))
        self._launch([self.programs.cremone, "run", *(["--try"] if once else ["--wait", "4s"]),
                      "--ttl", self.random.choice(("500ms", "1s", "2s")),
                      "--label", f"soak-{self.label}", "--url", self.url,
                      self.random.choice(self.names), "--",
                      self.programs.holder, "child", self._log(), str(span)],
                     state, SOAK_ASKED=str(now()))

    def finished(self):
        """Whether the process has ended by itself since the last start."""
        if self.process is None or self.process.poll() is None or self.cuts[-1] is not None:
            return False
        status = self.process.returncode
        self.statuses[status] = self.statuses.get(status, 0) + 1
        self.cuts[-1] = now()
        return True

# SPDX-License-Identifier: Apache-2.0
"""The machine's validity clock, and wall clocks that the soak run sets for one process each.

A settable clock is the file that tests/support/clock_shim.cpp reads in the process it is preloaded
into. Only wall clocks move; the clock of a lease's validity does not.
"""

import mmap
import os
import struct
import time


def now():
    """The validity clock in microseconds: the one that the library and the holders' logs use."""
    read = time.clock_gettime_ns
    suspended = read(time.CLOCK_BOOTTIME) - read(time.CLOCK_MONOTONIC)
    return (read(time.CLOCK_MONOTONIC_RAW) + suspended) // 1000


def true_wall(at):
    """The machine's wall clock at a moment of the validity clock, in microseconds."""
    return at + time.clock_gettime_ns(time.CLOCK_REALTIME) // 1000 - now()


class SettableClock:
    """The wall clock of one process, and every offset it has had."""

    def __init__(self, path, shim):
        self.path = path
        self.shim = shim
        with open(path, "wb") as file:
            file.write(bytes(16))
        with open(path, "r+b") as file:
            self._map = mmap.mmap(file.fileno(), 16)
        self.history = [(0, 0)]  # (since, offset), both in microseconds

    @property
    def offset(self):
        return self.history[-1][1]

    def set(self, seconds):
        """Sets the clock this many seconds ahead of the right time."""
        offset = int(seconds * 1_000_000)
        struct.pack_into("q", self._map, 0, offset)
        self.history.append((now(), offset))

    def environment(self):
        return dict(os.environ, LD_PRELOAD=self.shim, CREMONE_TEST_CLOCK=self.path)

    def offsets_between(self, begin, end):
        """Each offset that was in force at some moment of this span."""
        until = [since for since, _ in self.history[1:]] + [end + 1]
        return [offset for (since, offset), over in zip(self.history, until)
                if since <= end and over > begin]

    def moment_of(self, shown, seen):
        """When the clock showed `shown`, which was reported at `seen`. None: it never did."""
        slack = 50_000  # µs: between a step and our note of it
        until = [since for since, _ in self.history[1:]] + [seen]
        for (since, offset), over in reversed(list(zip(self.history, until))):
            at = shown - offset - true_wall(0)
            if since - slack <= at <= over + slack:
                return at
        return None

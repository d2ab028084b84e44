# SPDX-License-Identifier: Apache-2.0
"""One redis-server of the soak run, its faults and its clock.

MONITOR shows when a server loses its memory. It also shows when, by which client and at which clock
reading its quarantine ends. The run does not rely on the clients for these facts.
"""

import ctypes
import os
import random
import re
import shutil
import signal
import socket
import subprocess
import time
from dataclasses import dataclass

from clocks import SettableClock, now

START = 20  # seconds: a server that takes longer to start counts as failed
LINE = re.compile(rb'^\+?(\d+)\.(\d+) \[\d+ (\S+)\] ')
LABEL = re.compile(rb"soak-(\w+)")

_libc = ctypes.CDLL(None)


def die_with_parent():
    """For preexec_fn: a server or client must not outlive a run that was killed."""
    _libc.prctl(1, signal.SIGKILL)


def free_port():
    """Below the ephemeral range: no client can take the port of a server that is down."""
    while True:
        port = random.SystemRandom().randint(20000, 32000)
        with socket.socket() as s:
            try:
                s.bind(("127.0.0.1", port))
                return port
            except OSError:
                continue


@dataclass(frozen=True)
class Granting:
    """A server began to grant: its marker was set."""

    at: int  # validity clock
    server_clock: int  # its wall clock
    by: str  # label of the client, "" if unknown
    floor: int  # what the marker says; for messages only


@dataclass(frozen=True)
class Flushed:
    """A server executed FLUSHALL."""

    at: int


class Server:
    def __init__(self, index, folder, shim, prefix):
        self.index = index
        self.folder = folder
        os.makedirs(folder)
        self.clock = SettableClock(os.path.join(folder, "clock"), shim)
        self.port = free_port()
        self.marker = f'"{prefix}:boot"'.encode()
        self.process = None
        self.stopped = False
        self.in_quarantine_since = None  # when its memory was lost or it restarted
        self.restarted_empty = False  # and is still in that quarantine
        self.quarantines = 0
        self._monitor = None
        self._rest = b""
        self._labels = {}  # by address of the connection
        self._asking = b""
        self.start()

    @property
    def node(self):
        return f"127.0.0.1:{self.port}"

    def start(self):
        data = os.path.join(self.folder, "data")
        os.makedirs(data, exist_ok=True)
        with open(os.path.join(self.folder, "log"), "ab") as log:
            # Redis writes before it replies: a kill loses nothing, and nothing waits for a disk.
            self.process = subprocess.Popen(
                ["redis-server", "--port", str(self.port), "--bind", "127.0.0.1", "--dir", data,
                 "--save", "", "--appendonly", "yes", "--appendfsync", "no",
                 "--auto-aof-rewrite-percentage", "0"],
                stdout=log, stderr=log, stdin=subprocess.DEVNULL, env=self.clock.environment(),
                preexec_fn=die_with_parent)
        deadline = time.monotonic() + START
        while True:
            try:
                if self.ask("PING").startswith(b"+PONG"):
                    break
            except OSError:
                pass
            if time.monotonic() > deadline or self.process.poll() is not None:
                raise RuntimeError(f"redis-server did not start; see {self.folder}/log")
            time.sleep(0.01)
        self._monitor = socket.create_connection(("127.0.0.1", self.port), timeout=START)
        self._monitor.sendall(b"MONITOR\r\n")
        if not self._monitor.recv(5, socket.MSG_WAITALL) == b"+OK\r\n":
            raise RuntimeError(f"redis-server refuses MONITOR; see {self.folder}/log")
        self._monitor.setblocking(False)
        self._rest, self._labels = b"", {}

    def ask(self, command):
        with socket.create_connection(("127.0.0.1", self.port), timeout=START) as s:
            s.sendall(command.encode() + b"\r\n")
            return s.recv(4096)

    def kill(self, empty):
        """kill -9, and with `empty` deletes the data. Returns the last reports."""
        self.process.kill()
        self.process.wait()
        last = []
        self._monitor.settimeout(START)
        while data := self._monitor.recv(1 << 20):
            last += self._take(data)
        self._monitor.close()
        self._monitor = None
        self.in_quarantine_since = now()
        if empty:
            self.restarted_empty = True
            shutil.rmtree(os.path.join(self.folder, "data"))
        return last

    def flush(self):
        self.ask("FLUSHALL")

    def stop(self):
        self.process.send_signal(signal.SIGSTOP)
        self.stopped = True

    def resume(self):
        self.process.send_signal(signal.SIGCONT)
        self.stopped = False

    @property
    def running(self):
        return self._monitor is not None

    def fileno(self):
        """For select(): the connection on which the server reports its commands."""
        return self._monitor.fileno()

    def read(self):
        """What the server reported, in order: Granting and Flushed. Usually nothing."""
        try:
            data = self._monitor.recv(1 << 20)
        except BlockingIOError:
            return []
        if not data:
            raise RuntimeError(f"the server {self.node} ended by itself; see {self.folder}/log")
        return self._take(data)

    def _take(self, data):
        *lines, self._rest = (self._rest + data).split(b"\r\n")
        return [seen for line in lines if (seen := self._look(line))]

    def _look(self, line):
        head = LINE.match(line)
        if not head:
            return None
        if head[3] != b"lua":
            self._asking = head[3]
            if line[head.end():] == b'"FLUSHALL"':
                self.in_quarantine_since = self._moment(head)
                self.restarted_empty = False
                return Flushed(self.in_quarantine_since)
            if label := LABEL.search(line):
                self._labels[head[3]] = label[1].decode()
            return None
        if self.marker not in line or not line[head.end():].startswith(b'"SET" '):
            return None
        value = line[line.index(self.marker) + len(self.marker) + 2:].rstrip(b'"')
        if value.startswith(b"Q "):
            self.quarantines += 1
            return None
        if not value.startswith(b"A "):
            return None
        self.in_quarantine_since = None
        self.restarted_empty = False
        return Granting(self._moment(head), self._shown(head), self._labels.get(self._asking, ""),
                        int(value.rsplit(b" ", 1)[1]))

    @staticmethod
    def _shown(head):
        return int(head[1]) * 1_000_000 + int(head[2])

    def _moment(self, head):
        at = self.clock.moment_of(self._shown(head), now())
        return now() if at is None else at

    def close(self):
        if self.running:
            self.kill(empty=True)

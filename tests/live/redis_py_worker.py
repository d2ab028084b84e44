# SPDX-License-Identifier: Apache-2.0
#
# Another program that locks in Redis: redis-py's own Lock, as everybody uses it, on the key that cremone uses too.
#   redis_py_worker.py PORT increment NAME FILE N   adds 1 to the number in FILE under the lock, N times
#   redis_py_worker.py PORT talk NAME               does what it is told on its input: try, wait, release
import os
import sys

import redis
from redis.lock import Lock


def lock_of(port, name):
    server = redis.Redis(host="127.0.0.1", port=port)
    return Lock(server, name, timeout=10, sleep=0.005)


def increment(lock, path, times):
    blocked = 0
    for _ in range(times):
        if not lock.acquire(blocking=False):
            blocked += 1
            lock.acquire()
        # Made by one and nobody else: a second one inside would find it there.
        os.close(os.open(path + ".inside", os.O_CREAT | os.O_EXCL | os.O_WRONLY))
        with open(path) as counter:
            value = int(counter.read() or 0)
        with open(path, "w") as counter:
            counter.write(str(value + 1))
        os.unlink(path + ".inside")
        lock.release()
    print("blocked", blocked, flush=True)


def talk(lock):
    print("ready", flush=True)
    for line in sys.stdin:
        what = line.strip()
        if what == "try":
            print("held" if lock.acquire(blocking=False) else "busy", flush=True)
        elif what == "wait":
            print("held" if lock.acquire(blocking_timeout=30) else "busy", flush=True)
        elif what == "release":
            lock.release()
            print("released", flush=True)


def main():
    port, what, name = int(sys.argv[1]), sys.argv[2], sys.argv[3]
    lock = lock_of(port, name)
    if what == "increment":
        increment(lock, sys.argv[4], int(sys.argv[5]))
    else:
        talk(lock)


main()

"""What else ran on the machine during a measurement.

/proc/stat counts what all cores did, in ticks. What remains of their busy time after the CPU time of the measured
process and its children is somebody else's: other programs, the kernel on their behalf, and other guests of the same
host as far as it says so ("steal").
"""
import os
import resource
import subprocess
import time
from typing import NamedTuple

_IDLE, _IOWAIT, _GUEST = 3, 4, 8  # columns; guest time is part of user time already


class Busy(NamedTuple):
    seconds: float  # of all cores together
    cores: int


def parse_stat(text, ticks_per_second):
    lines = text.splitlines()
    columns = [int(word) for word in lines[0].split()[1:]]
    busy = sum(ticks for i, ticks in enumerate(columns[:_GUEST]) if i not in (_IDLE, _IOWAIT))
    cores = sum(1 for line in lines[1:] if line.startswith("cpu"))
    return Busy(busy / ticks_per_second, cores)


def busy_now():
    with open("/proc/stat") as file:
        return parse_stat(file.read(), os.sysconf("SC_CLK_TCK"))


def foreign_share(busy_seconds, own_seconds, wall_seconds, cores):
    """The part of the cores' time, 0 to 1, that others used. Ticks are coarse: below 0 is 0."""
    if wall_seconds <= 0:
        return 0.0
    return min(1.0, max(0.0, busy_seconds - own_seconds) / (wall_seconds * cores))


def _own_seconds():
    """CPU time of this process and of all children that have ended and been waited for, with theirs."""
    uses = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(use.ru_utime + use.ru_stime for use in uses)


def run_watched(command, **options):
    """Runs a command to its end. Returns what subprocess.run does, and the foreign share meanwhile."""
    busy, own, wall = busy_now(), _own_seconds(), time.monotonic()
    done = subprocess.run(command, **options)
    after = busy_now()
    return done, foreign_share(after.seconds - busy.seconds, _own_seconds() - own, time.monotonic() - wall, after.cores)


def quietest(measure, limit, tries):
    """Repeats a measurement while others used more than `limit` of the machine, `tries` times at most, and returns the
    quietest. `measure` returns an object with a field `foreign`; its field `marked` is set if none was quiet."""
    best = None
    for _ in range(tries):
        result = measure()
        if best is None or result.foreign < best.foreign:
            best = result
        if best.foreign <= limit:
            break
    best.marked = best.foreign > limit
    return best

"""The program llama-bench of llama.cpp and its relatives. It runs ids of its own and does not tell what came out."""
import json
import re
import subprocess

from .errors import PeerError


class LlamaBench:
    name = "llama-bench"

    def __init__(self, program):
        self._program = program
        self._build = "unknown"

    def load(self, settings):
        if not settings.repack:
            raise PeerError("not every version of it can do without repacking")
        self._settings = settings
        help_text = subprocess.run([self._program, "--help"], capture_output=True, text=True).stdout
        self._flash = flash_word(help_text, settings.flash)

    def prompt(self, count):
        return self._run("-p", count, "-n", 0, "-d", self._settings.depth)

    def generate(self, count, depth):
        return self._run("-p", 0, "-n", count, "-d", depth), None

    def follow(self, ids, depth):
        return None

    def describe(self):
        return {"build": f"build {self._build}", "notes": []}

    def command(self, *what):
        s = self._settings
        return [str(word) for word in (
            self._program, "-m", s.model, *what, "-r", 1, "-t", s.threads, "-b", s.batch, "-ub", s.micro_batch,
            "-ctk", s.type_k, "-ctv", s.type_v, "-fa", self._flash, "-ngl", 0, "-o", "json")]

    def _run(self, *what):
        """Seconds. The program itself warms up before it measures."""
        done = subprocess.run(self.command(*what), capture_output=True, text=True, errors="replace")
        if done.returncode != 0:
            lines = done.stderr.strip().splitlines() or ["it says nothing"]
            raise PeerError(f"it ended with status {done.returncode}: {lines[-1]}")
        self._build, seconds = parse(done.stdout)
        return seconds


def flash_word(help_text, flash):
    """How this version spells it: older ones know 0 and 1, newer ones have a third choice and want words."""
    words = re.search(r"--flash-attn\s+<[^>]*\bon\b", help_text)
    return ("on" if flash else "off") if words else str(int(flash))


def parse(text):
    """Of its JSON: the build, and the seconds of the one measurement."""
    try:
        (row,) = json.loads(text)
        (nanoseconds,) = row["samples_ns"]
        return f"{row['build_number']} ({row['build_commit']})", nanoseconds / 1e9
    except (ValueError, KeyError, TypeError) as error:
        raise PeerError(f"its output is not as known: {error!r}") from None

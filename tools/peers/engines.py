"""One measurement of Plait or of a peer, each in processes of its own."""
import dataclasses
import json
import os
import pathlib
import shlex
import subprocess
import sys
import tempfile

from . import foreign, ids
from .errors import PeerError

TOOLS = pathlib.Path(__file__).resolve().parent.parent

# `plait logits` writes all its rows to a file. Above this size the ids are compared by their checksum alone.
MOST_LOGITS_BYTES = 1 << 30


@dataclasses.dataclass
class Measurement:
    """Tokens per second, the best of its passes; None for what was not asked for."""

    prompt_tps: float | None
    gen_tps: float | None
    foreign: float  # the part of the machine that others used meanwhile
    checksum: str | None = None  # of the greedy ids
    greedy: list | None = None
    details: dict = dataclasses.field(default_factory=dict)
    commands: list = dataclasses.field(default_factory=list)
    marked: bool = False  # others used more than the limit, and no try was quieter


def _last_line(text):
    lines = text.strip().splitlines()
    return lines[-1].strip() if lines else "it says nothing"


def _run(command, **options):
    return foreign.run_watched([str(word) for word in command], capture_output=True, text=True, **options)


class Plait:
    name = "plait"

    def __init__(self, program, arguments=()):
        self.program, self.arguments = program, list(arguments)
        done = subprocess.run([program, "--version"], capture_output=True, text=True)
        self.version = done.stdout.strip().removeprefix("plait ")

    def command(self, settings):
        s = settings
        return [self.program, "bench", "-m", s.model, "-p", s.prompt, "-n", s.generate, "-d", s.depth, "-t", s.threads,
                "-b", s.batch, "-ub", s.micro_batch, *self._caches(s), "-r", s.passes, *self.arguments, "--json"]

    def measure(self, settings):
        command = self.command(settings)
        done, share = _run(command)
        if done.returncode != 0:
            raise PeerError(_last_line(done.stderr))
        return self._result(json.loads(done.stdout), share, command, settings)

    def greedy(self, settings):
        """The ids that `bench` generates, found by `plait logits`; None where that would write too much."""
        start = ids.generation_start(settings.depth, settings.vocabulary)
        if (len(start) + settings.generate) * settings.vocabulary * 4 > MOST_LOGITS_BYTES:
            return None
        with tempfile.TemporaryDirectory(prefix="compare_peers.") as folder:
            command = [self.program, "logits", "-m", settings.model, "--tokens", ",".join(map(str, start)), "--greedy",
                       settings.generate, "-t", settings.threads, "-c", settings.context, *self._caches(settings),
                       *self.arguments, "-o", f"{folder}/logits.npy"]
            done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
        if done.returncode != 0:
            raise PeerError(_last_line(done.stderr))
        return json.loads(done.stdout)["greedy"]

    @staticmethod
    def _caches(settings):
        return ["-ctk", settings.type_k.upper(), "-ctv", settings.type_v.upper()]

    @staticmethod
    def _result(report, share, command, settings):
        return Measurement(
            prompt_tps=report["prompt"]["max"] if settings.prompt else None,
            gen_tps=report["generation"]["max"] if settings.generate else None,
            foreign=share,
            checksum=report["greedy_checksum"] if settings.generate else None,
            details={"device": report["device"]},
            commands=[shlex.join(map(str, command))],
        )


class Peer:
    """A peer by its name; `program` for those that are one."""

    def __init__(self, name, version, python=sys.executable, program=None):
        self.name, self.version, self._python = name, version, python
        self._program = [program] if program else []

    def follow(self, ids, settings):
        """The best id before each of these when they are fed to it; None if it does not tell."""
        return self._ask(settings, "follow", ",".join(map(str, ids)))[0]["followed"]

    def measure(self, settings):
        answer, share, command = self._ask(settings, "measure")
        greedy = answer["greedy"]
        return Measurement(
            prompt_tps=max(answer["prompt_tps"], default=None),
            gen_tps=max(answer["gen_tps"], default=None),
            foreign=share,
            checksum=ids.checksum(greedy) if greedy else None,
            greedy=greedy,
            details={"build": answer["build"], "notes": answer["notes"]},
            commands=[f"{shlex.join(map(str, command))} <<< {shlex.quote(settings.to_json())}"],
        )


    def _ask(self, settings, *task):
        command = [self._python, "-m", "peers.worker", *task, self.name, *self._program]
        environment = worker_environment(settings.wait)
        done, share = _run(command, input=settings.to_json(), env=environment, errors="replace")
        return _answer(done), share, command


def worker_environment(wait="default"):
    path = os.pathsep.join(filter(None, (str(TOOLS), os.environ.get("PYTHONPATH"))))
    return os.environ | {"PYTHONPATH": path} | ({} if wait == "default" else {"OMP_WAIT_POLICY": wait})


def _answer(done):
    """What a worker said; a PeerError if it died or gave up."""
    try:
        answer = json.loads(done.stdout)
    except ValueError:
        raise PeerError(f"its process ended with status {done.returncode}: {_last_line(done.stderr)}") from None
    if "error" in answer:
        raise PeerError(answer["error"])
    return answer


def installed_packages(python):
    """Peer name -> version, None if not installed, of the packages that this Python finds."""
    done = subprocess.run([python, "-m", "peers.worker", "list"], capture_output=True, text=True, env=worker_environment())
    return _answer(done)


def merge(prompt, gen):
    """One measurement of both kinds out of two that were taken with different settings."""
    return dataclasses.replace(
        gen,
        prompt_tps=prompt.prompt_tps,
        foreign=max(prompt.foreign, gen.foreign),
        commands=prompt.commands + gen.commands,
        details=gen.details | {"notes": prompt.details["notes"] + gen.details["notes"]},
    )

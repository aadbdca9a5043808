"""The process in which one peer is measured.

usage: python -m peers.worker list
       python -m peers.worker measure PEER [PROGRAM] < settings
       python -m peers.worker follow IDS PEER [PROGRAM] < settings
Writes one line of JSON to what was its standard output; whatever the peer prints goes to standard error.
"""
import json
import os
import sys

from . import adapters
from .errors import PeerError
from .settings import Settings


def take_stdout():
    """The standard output for ourselves alone: also C code that prints goes to standard error from now on."""
    ours = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    return ours


def list_packages():
    return {peer.name: peer.version() for peer in adapters.PACKAGES}


def loaded(name, program, settings):
    peer = adapters.named(name)(*program)
    peer.load(settings)
    return peer


def follow(ids, peer, settings):
    return {"followed": peer.follow([int(token) for token in ids.split(",")], settings.depth)}


def measure(peer, settings):
    prompt, generation, greedy = [], [], None
    for _ in range(settings.passes):
        if settings.prompt > 0:
            prompt.append(settings.prompt / peer.prompt(settings.prompt))
        if settings.generate > 0:
            seconds, ids = peer.generate(settings.generate, settings.depth)
            if greedy is not None and ids != greedy:
                raise PeerError("it generated different ids in two runs")
            generation.append(settings.generate / seconds)
            greedy = ids
    return {"prompt_tps": prompt, "gen_tps": generation, "greedy": greedy} | peer.describe()


def answer_to(task, *arguments):
    if task == "list":
        return list_packages()
    settings = Settings.from_json(sys.stdin.read())
    if task == "follow":
        ids, name, *program = arguments
        return follow(ids, loaded(name, program, settings), settings)
    name, *program = arguments
    return measure(loaded(name, program, settings), settings)


def main():
    out = take_stdout()
    try:
        answer = answer_to(*sys.argv[1:])
    except (PeerError, OSError, ImportError, AttributeError) as error:
        answer = {"error": str(error)}
    print(json.dumps(answer), file=out, flush=True)
    # Without the libraries' own destructors, which have nothing to do here that the system does not do.
    os._exit(1 if "error" in answer else 0)


if __name__ == "__main__":
    main()

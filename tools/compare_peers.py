#!/usr/bin/env python3
"""Compares Plait's speed with that of other engines on the same model file, in turns, on this machine.

Every engine processes the same token ids with the same number of threads and the same caches, each measurement in a
process of its own: Plait, peer, Plait, peer, ... What counts is the ratio within a pair. All generate greedily from the
same ids, and the summary says how far their answers agree, so that no wrong answer passes for a fast one. Exit status: 0
done, 1 an engine failed or its answer cannot be believed, 2 wrong usage.
"""
import argparse
import json
import os
import pathlib
import shlex
import shutil
import sys

from peers import comparison, engines, gguf_header, report
from peers.adapters import PACKAGES, LlamaBench
from peers.errors import PeerError
from peers.settings import CACHE_TYPES, Settings

BUILT_PLAIT = pathlib.Path(__file__).resolve().parent.parent / "build" / "release" / "plait"


def at_least(least):
    def number(text):
        value = int(text)
        if value < least:
            raise argparse.ArgumentTypeError(f"expected at least {least}, found {text}")
        return value

    return number


def percentage(text):
    value = float(text)
    if not 0 <= value <= 100:
        raise argparse.ArgumentTypeError(f"expected a percentage from 0 to 100, found {text}")
    return value / 100


def parser():
    summary, _, rest = __doc__.partition("\n\n")
    p = argparse.ArgumentParser(description=summary, epilog=rest, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--list", action="store_true", help="print which peers are found, and their versions")
    p.add_argument("--plait", metavar="PATH", default=str(BUILT_PLAIT),
                   help="the program plait (default: the release build)")
    p.add_argument("--plait-args", metavar="ARGS", default="",
                   help="further arguments for it, as in --plait-args='--simd avx2'")
    p.add_argument("--peers", metavar="NAMES", help="peers to compare with, with commas (default: all that are found)")
    p.add_argument("--peer-python", metavar="PATH", default=sys.executable,
                   help="the Python whose packages are searched for peers (default: this one)")
    p.add_argument("--llama-bench", metavar="PATH", help="llama.cpp's program llama-bench")
    p.add_argument("--peer-flash", choices=("on", "off", "best"), default="best",
                   help="the peers' flash attention; best: each is tried once, and the faster one taken (default)")
    p.add_argument("--peer-wait", choices=("default", "active", "passive"), default="default",
                   help="how the peers' threads wait for each other: spinning or asleep (OpenMP's wait policy)")
    p.add_argument("--peer-no-repack", action="store_true", help="without the peers' repacking of weights")
    p.add_argument("-m", "--model", metavar="FILE", action="append", help="model file; may be given several times")
    p.add_argument("-p", "--n-prompt", metavar="N", type=at_least(0), default=256, help="prompt tokens (default: 256)")
    p.add_argument("-n", "--n-gen", metavar="N", type=at_least(0), default=64, help="tokens to generate (default: 64)")
    p.add_argument("-d", "--depth", metavar="N", type=at_least(0), default=0,
                   help="tokens in the context before (default: 0)")
    p.add_argument("-t", "--threads", metavar="N", type=at_least(1), default=2, help="threads of every engine (default: 2)")
    p.add_argument("-b", "--batch-size", metavar="N", type=at_least(1), default=2048, help="default: 2048")
    p.add_argument("-ub", "--ubatch-size", metavar="N", type=at_least(1), default=512, help="default: 512")
    p.add_argument("-ctk", "--cache-type-k", metavar="TYPE", choices=CACHE_TYPES, type=str.lower, default="f16",
                   help="format of cached keys: " + ", ".join(CACHE_TYPES) + " (default: f16)")
    p.add_argument("-ctv", "--cache-type-v", metavar="TYPE", choices=CACHE_TYPES, type=str.lower, default="f16",
                   help="format of cached values (default: f16)")
    p.add_argument("-r", "--pairs", metavar="N", type=at_least(1), default=5, help="pairs of measurements (default: 5)")
    p.add_argument("--passes", metavar="N", type=at_least(1), default=2,
                   help="times each figure is taken within one process; the best counts (default: 2)")
    p.add_argument("--only", choices=comparison.KINDS, help="measure only one of the two")
    p.add_argument("--foreign-limit", metavar="PERCENT", type=percentage, default=0.10,
                   help="repeat a measurement while others used more of the cores' time than this (default: 10)")
    p.add_argument("--foreign-tries", metavar="N", type=at_least(1), default=3,
                   help="at most so often; the quietest is kept, and marked if it is not quiet (default: 3)")
    p.add_argument("--json", metavar="FILE", help="write everything that was measured to this file")
    return p


def find_peers(options, refuse):
    """Name -> engines.Peer, of all that are there."""
    found = {}
    try:
        packages = engines.installed_packages(options.peer_python)
    except (OSError, PeerError) as error:
        refuse(f"--peer-python {options.peer_python}: it cannot list its packages: {error}")
    for name, version in packages.items():
        if version is not None:
            found[name] = engines.Peer(name, version, options.peer_python)
    program = options.llama_bench or shutil.which("llama-bench")
    if program:
        if not os.access(program, os.X_OK) or os.path.isdir(program):
            refuse(f"--llama-bench {program}: expected a program")
        found[LlamaBench.name] = engines.Peer(LlamaBench.name, f"at {program}", program=program)
    return found


def list_peers(found):
    for name in [peer.name for peer in PACKAGES] + [LlamaBench.name]:
        print(f"{name:22}{found[name].version if name in found else 'not found'}")


def chosen_peers(options, found, refuse):
    names = options.peers.split(",") if options.peers else list(found)
    if not names:
        refuse("no peer was found; --peer-python names the Python that has one, --llama-bench the program")
    for name in names:
        if name not in found:
            refuse(f"--peers {name}: expected one of those that are there: {', '.join(found) or 'none'}")
    return [found[name] for name in names]


def settings_for(options, path, model):
    kinds = (options.only,) if options.only else comparison.KINDS
    return Settings(
        model=path,
        vocabulary=model.vocabulary,
        threads=options.threads,
        prompt=options.n_prompt if "prompt" in kinds else 0,
        generate=options.n_gen if "gen" in kinds else 0,
        depth=options.depth,
        batch=options.batch_size,
        micro_batch=options.ubatch_size,
        type_k=options.cache_type_k,
        type_v=options.cache_type_v,
        repack=not options.peer_no_repack,
        wait=options.peer_wait,
        passes=options.passes,
    )


def read_models(options, refuse):
    if not options.model:
        refuse("expected a model (-m)")
    for path in options.model:
        try:
            settings = settings_for(options, path, gguf_header.read_model(path))
        except (OSError, gguf_header.FormatError) as error:
            refuse(f"-m {path}: {error}")
        if not comparison.kinds(settings):
            refuse("expected at least one token to process (-p) or to generate (-n)")
    return [(path, gguf_header.read_model(path)) for path in options.model]


def require_writable(path, refuse):
    """Before anything is measured: minutes later it would be too late."""
    if not path:
        return
    folder = pathlib.Path(path).resolve().parent
    target = path if os.path.exists(path) else folder
    if os.path.isdir(path) or not folder.is_dir() or not os.access(target, os.W_OK):
        refuse(f"--json {path}: cannot be written")


def write_json(path, options, results):
    document = {
        "processor": report.processor_name(),
        "cores": os.cpu_count(),
        "command": shlex.join(sys.argv),
        "foreign_limit": options.foreign_limit,
        "models": [report.as_json(result) for result in results],
    }
    pathlib.Path(path).write_text(json.dumps(document, indent=2) + "\n")


def main():
    options_parser = parser()
    options = options_parser.parse_args()
    refuse = options_parser.error  # ends with status 2
    found = find_peers(options, refuse)
    if options.list:
        list_peers(found)
        return 0
    models = read_models(options, refuse)
    require_writable(options.json, refuse)
    peers = chosen_peers(options, found, refuse)
    try:
        plait = engines.Plait(options.plait, shlex.split(options.plait_args))
    except OSError as error:
        refuse(f"--plait {options.plait}: {error.strerror}")
    plan = comparison.Plan(options.pairs, options.peer_flash, options.foreign_limit, options.foreign_tries)
    results = []
    for path, model in models:
        settings = settings_for(options, path, model)
        result = comparison.compare(plait, peers, settings, model, plan, lambda line: print(line, file=sys.stderr))
        print(report.text(result, options.foreign_limit) + "\n", flush=True)
        results.append(result)
        if options.json:
            write_json(options.json, options, results)
    return 1 if any(result.failed() for result in results) else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except PeerError as error:
        sys.exit(f"plait: {error}")
    except KeyboardInterrupt:
        sys.exit(1)

"""The summary on the terminal, and the same with everything else as JSON."""
import dataclasses
import platform

from . import comparison, figures

_TITLES = {"prompt": "prompt", "gen": "generation"}


def processor_name():
    try:
        with open("/proc/cpuinfo") as file:
            names = [line.split(":", 1)[1].strip() for line in file if line.startswith("model name")]
        return names[0] if names else platform.machine()
    except OSError:
        return platform.machine()


def text(result, limit):
    lines = [heading(result), ""]
    lines += table([HEADER, *rows(result)])
    lines += ["", *(f"{engine}: {what}" for engine, what in remarks(result))]
    marked, every = result.marked()
    lines.append(f"{marked} of {every} measurements ran while others used more than {limit:.0%} of the machine.")
    return "\n".join(lines)


def heading(result):
    s = result.settings
    return (f"{s.model} ({result.model.architecture}, {result.model.matmul_parameters / 1e6:.1f} M matmul parameters): "
            f"prompt {s.prompt}, generation {s.generate}, depth {s.depth}, {s.threads} threads, "
            f"caches {s.type_k}/{s.type_v}, peers' wait policy {s.wait}, {len(result.plait)} pairs, {processor_name()}")


HEADER = ("", "engine", "tokens/s", "GOPS", "plait / peer", "least", "greatest")


def rows(result):
    for kind in comparison.kinds(result.settings):
        yield (_TITLES[kind], "plait", *speed(result, result.plait, kind), "", "", "")
        for peer in result.peers:
            if not peer.measurements:
                continue
            ratio = figures.spread(comparison.ratios(result, peer, kind))
            yield ("", label(peer, kind), *speed(result, peer.measurements, kind), *(f"{value:.3f}" for value in ratio))


def label(peer, kind):
    return f"{peer.name} (flash {'on' if peer.flash[kind] else 'off'})"


def speed(result, measurements, kind):
    """The median, and for prompts the operations per second that it means."""
    median = figures.spread(comparison.speeds(measurements, kind)).median
    gops = figures.gops(result.model.matmul_parameters, median)
    return f"{median:.0f}" if median >= 1000 else f"{median:.1f}", f"{gops:.1f}" if kind == "prompt" else ""


def table(lines):
    widths = [max(len(line[i]) for line in lines) for i in range(len(lines[0]))]
    left = 2  # columns of text; the others are numbers
    return ["  ".join(cell.ljust(width) if i < left else cell.rjust(width)
                      for i, (cell, width) in enumerate(zip(line, widths))).rstrip() for line in lines]


def remarks(result):
    yield f"plait {result.plait_version}", result.plait[0].details["device"]
    for fault in result.faults:
        yield "plait", f"FAULT: {fault}"
    for peer in result.peers:
        name = f"{peer.name} {peer.version}"
        if peer.measurements:
            yield name, peer.measurements[0].details["build"]
            if result.settings.generate:
                yield name, agreement(peer)
        for fault in peer.faults:
            yield name, f"FAULT: {fault}"


def agreement(peer):
    greedy = peer.measurements[0].greedy
    if greedy is None:
        return "does not tell its ids, so nothing is known about its answer"
    if peer.agreeing is None:
        return "its greedy ids are not all Plait's; where they part is not known"
    if peer.agreeing == len(greedy):
        return f"all {len(greedy)} greedy ids are Plait's"
    return (f"the first {peer.agreeing} of {len(greedy)} greedy ids are Plait's; "
            f"fed Plait's ids, it finds {peer.following} of them best")


def as_json(result):
    kinds = comparison.kinds(result.settings)
    peers = []
    for peer in result.peers:
        entry = dataclasses.asdict(peer)
        entry["ratios"] = {kind: comparison.ratios(result, peer, kind) for kind in kinds}
        entry["summary"] = {kind: summary(result, peer, kind) for kind in kinds if peer.measurements}
        peers.append(entry)
    return {
        "settings": dataclasses.asdict(result.settings),
        "model": result.model._asdict(),
        "plait": {
            "version": result.plait_version,
            "greedy": result.greedy,
            "faults": result.faults,
            "measurements": [dataclasses.asdict(m) for m in result.plait],
            "summary": {kind: absolute(result, result.plait, kind) for kind in kinds},
        },
        "peers": peers,
    }


def absolute(result, measurements, kind):
    spread = figures.spread(comparison.speeds(measurements, kind))
    out = {"tokens_per_second": spread._asdict()}
    if kind == "prompt":
        out["gops"] = figures.gops(result.model.matmul_parameters, spread.median)
    return out


def summary(result, peer, kind):
    ratio = figures.spread(comparison.ratios(result, peer, kind))
    return absolute(result, peer.measurements, kind) | {"plait_over_peer": ratio._asdict()}

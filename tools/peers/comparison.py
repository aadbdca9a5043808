"""Measures Plait and its peers on one model in turns, and judges what came out."""
import dataclasses

from . import engines, figures, foreign, ids
from .errors import PeerError

KINDS = ("prompt", "gen")

# A peer is believed if it finds at least this part of Plait's ids best when it is fed them. Chance finds none; ties of
# random weights cost a few.
LEAST_FOLLOWING = 0.5
FEWEST_IDS = 8  # with fewer, nothing is concluded


@dataclasses.dataclass
class Plan:
    """How to measure."""

    pairs: int
    flash: str  # "on", "off" or "best", of the peers
    limit: float  # foreign share above which a measurement is repeated
    tries: int

    def quietest(self, measure):
        return foreign.quietest(measure, self.limit, self.tries)


@dataclasses.dataclass
class PeerResult:
    name: str
    version: str
    flash: dict = dataclasses.field(default_factory=dict)  # kind -> bool
    measurements: list = dataclasses.field(default_factory=list)
    agreeing: int | None = None  # leading greedy ids that are Plait's
    following: int | None = None  # best ids that are Plait's when Plait's ids are fed
    faults: list = dataclasses.field(default_factory=list)  # sentences; its figures must not be believed


@dataclasses.dataclass
class Comparison:
    settings: object
    model: object
    plait_version: str
    plait: list = dataclasses.field(default_factory=list)  # measurements, one per round
    greedy: list | None = None  # Plait's ids
    peers: list = dataclasses.field(default_factory=list)
    faults: list = dataclasses.field(default_factory=list)  # sentences about Plait

    def marked(self):
        """Measurements that ran beside other work, and how many there are."""
        every = [*self.plait, *(m for peer in self.peers for m in peer.measurements)]
        return sum(m.marked for m in every), len(every)

    def failed(self):
        return bool(self.faults or any(peer.faults for peer in self.peers))


def speeds(measurements, kind):
    return [getattr(m, f"{kind}_tps") for m in measurements]


def ratios(comparison, peer, kind):
    """Plait over peer within each round."""
    count = len(peer.measurements)
    return figures.ratios(speeds(comparison.plait[:count], kind), speeds(peer.measurements, kind))


def kinds(settings):
    return [kind for kind, count in zip(KINDS, (settings.prompt, settings.generate)) if count > 0]


def compare(plait, peers, settings, model, plan, say):
    """`say` is called with a line of progress now and then."""
    result = Comparison(settings, model, plait.version)
    running = []
    for peer in peers:
        outcome = PeerResult(peer.name, peer.version)
        result.peers.append(outcome)
        say(f"{peer.name}: choosing its settings")
        with _Faults(outcome.faults):
            outcome.flash = choose_flash(peer, settings, plan)
            running.append((peer, outcome))
    if settings.generate:
        result.greedy = plait.greedy(settings)
        for peer, outcome in running:
            follow(peer, outcome, result.greedy, settings)
    for i in range(plan.pairs):
        say(f"pair {i + 1} of {plan.pairs}")
        result.plait.append(plan.quietest(lambda: plait.measure(settings)))
        for peer, outcome in list(running):
            try:
                outcome.measurements.append(plan.quietest(lambda: measure_peer(peer, settings, outcome.flash)))
            except PeerError as error:
                outcome.faults.append(str(error))
                running.remove((peer, outcome))
    judge(result)
    return result


class _Faults:
    """Turns a PeerError into a line of a list."""

    def __init__(self, lines):
        self._lines = lines

    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        if isinstance(error, PeerError):
            self._lines.append(str(error))
            return True
        return False


def choose_flash(peer, settings, plan):
    """Kind -> whether the peer uses flash attention for it. "best" tries both once; one that cannot run loses."""
    asked = kinds(settings)
    if plan.flash != "best":
        return dict.fromkeys(asked, plan.flash == "on")
    tried, refusals = {}, []
    for flash in (True, False):
        try:
            tried[flash] = plan.quietest(lambda: peer.measure(dataclasses.replace(settings, flash=flash)))
        except PeerError as error:
            refusals.append(error)
    if not tried:
        raise refusals[0]
    return {kind: max(tried, key=lambda flash: getattr(tried[flash], f"{kind}_tps")) for kind in asked}


def follow(peer, outcome, greedy, settings):
    """Feeds Plait's ids to the peer. Unlike its own greedy ids, which may go another way for good after one near tie,
    this says of every position whether the two agree."""
    if greedy is None:
        return
    with _Faults(outcome.faults):
        found = peer.follow(greedy, dataclasses.replace(settings.only("gen"), flash=outcome.flash["gen"]))
        if found is None:
            return
        outcome.following = sum(a == b for a, b in zip(found, greedy))
        if len(greedy) >= FEWEST_IDS and outcome.following < LEAST_FOLLOWING * len(greedy):
            outcome.faults.append(f"fed Plait's ids, it finds only {outcome.following} of {len(greedy)} of them best")


def measure_peer(peer, settings, flash):
    """In one process, or in two if prompt and generation are best with different settings."""
    if len(set(flash.values())) == 1:
        return peer.measure(dataclasses.replace(settings, flash=next(iter(flash.values()))))
    parts = {kind: peer.measure(dataclasses.replace(settings.only(kind), flash=flash[kind])) for kind in flash}
    return engines.merge(parts["prompt"], parts["gen"])


def judge(result):
    """Fills in how far greedy ids agree, and the faults."""
    if not result.settings.generate:
        return
    sums = {m.checksum for m in result.plait}
    if len(sums) > 1:
        result.faults.append("plait generated different ids in different runs")
    elif result.greedy is not None and sums != {ids.checksum(result.greedy)}:
        result.faults.append("`plait bench` and `plait logits` generated different ids")
        result.greedy = None
    for peer in result.peers:
        judge_peer(peer, result.greedy, sums)


def judge_peer(peer, ours, our_sums):
    theirs = [m for m in peer.measurements if m.greedy is not None]
    if not theirs:
        return
    if len({m.checksum for m in theirs}) > 1:
        peer.faults.append("it generated different ids in different runs")
    greedy = theirs[0].greedy
    if ours is not None:
        peer.agreeing = ids.agreement(ours, greedy)
    elif theirs[0].checksum in our_sums:
        peer.agreeing = len(greedy)
    if ids.is_constant(greedy) and peer.agreeing != len(greedy) and peer.following is None:
        peer.faults.append(f"it generated nothing but the id {greedy[0]}")

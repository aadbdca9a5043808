"""Medians and ratios of pairs."""
import statistics
from typing import NamedTuple


class Spread(NamedTuple):
    median: float
    least: float
    greatest: float


def spread(values):
    """Of at least one value."""
    return Spread(statistics.median(values), min(values), max(values))


def ratios(ours, theirs):
    """Speed over speed within each pair."""
    return [a / b for a, b in zip(ours, theirs, strict=True)]


def gops(parameters, tokens_per_second):
    """Billions of operations per second in the matrix products of a prompt; a multiplication with its addition is 2."""
    return 2 * parameters * tokens_per_second / 1e9

"""The token ids that all engines are fed, and how their greedy continuations are compared.

The prompt is that of `plait bench`. An id is only a row of the embedding table here: no engine treats a control token
unlike others when it is handed over as an id.
"""
import array
import ctypes
import math
import struct

_MASK = (1 << 64) - 1
_P1, _P2, _P3 = 0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9
_P4, _P5 = 0x85EBCA77C2B2AE63, 0x27D4EB2F165667C5

# So many equal ids in a row, where Plait's are not, are no answer.
CONSTANT_RUN = 16


def prompt_ids(count, vocabulary):
    return [(i * 7919 + 13) % vocabulary for i in range(count)]


def generation_start(depth, vocabulary):
    """What stands in the context before the first generated token."""
    return prompt_ids(depth, vocabulary) if depth > 0 else [1 % vocabulary]


def best_id(logits):
    """Of one row of logits, an array of floats. The lowest of equal ones, as Plait has it."""
    if not math.isfinite(sum(logits)):
        raise ValueError("its logits are not finite")
    best = max(logits)
    if len(logits) > 1 and best == min(logits):
        raise ValueError("its logits are all equal")
    return logits.index(best)


def checksum(ids):
    """The greedy_checksum of `plait bench`: XXH64 of the ids as little-endian int32."""
    return f"{xxh64(struct.pack(f'<{len(ids)}i', *ids)):016x}"


def agreement(ours, theirs):
    """How many leading ids are the same."""
    for i, (a, b) in enumerate(zip(ours, theirs)):
        if a != b:
            return i
    return min(len(ours), len(theirs))


def is_constant(ids):
    return len(ids) >= CONSTANT_RUN and len(set(ids)) == 1


def floats_at(pointer, count):
    """A copy of `count` floats behind a ctypes pointer."""
    row = array.array("f")
    row.frombytes(ctypes.string_at(pointer, 4 * count))
    return row


def _rotl(x, bits):
    return ((x << bits) | (x >> (64 - bits))) & _MASK


def _round(lane, word):
    return _rotl((lane + word * _P2) & _MASK, 31) * _P1 & _MASK


def xxh64(data):
    """XXH64 with seed 0."""
    at = 0
    if len(data) >= 32:
        lanes = [(_P1 + _P2) & _MASK, _P2, 0, -_P1 & _MASK]
        while at + 32 <= len(data):
            lanes = [_round(lane, word) for lane, word in zip(lanes, struct.unpack_from("<4Q", data, at))]
            at += 32
        h = sum(_rotl(lane, bits) for lane, bits in zip(lanes, (1, 7, 12, 18))) & _MASK
        for lane in lanes:
            h = ((h ^ _round(0, lane)) * _P1 + _P4) & _MASK
    else:
        h = _P5
    h = (h + len(data)) & _MASK
    while at + 8 <= len(data):
        (word,) = struct.unpack_from("<Q", data, at)
        h = (_rotl(h ^ _round(0, word), 27) * _P1 + _P4) & _MASK
        at += 8
    if at + 4 <= len(data):
        (word,) = struct.unpack_from("<I", data, at)
        h = (_rotl(h ^ (word * _P1 & _MASK), 23) * _P2 + _P3) & _MASK
        at += 4
    for byte in data[at:]:
        h = _rotl(h ^ (byte * _P5 & _MASK), 11) * _P1 & _MASK
    h = (h ^ (h >> 33)) * _P2 & _MASK
    h = (h ^ (h >> 29)) * _P3 & _MASK
    return h ^ (h >> 32)

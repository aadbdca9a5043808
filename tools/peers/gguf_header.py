"""The facts about a model that the figures need, read from the header of its GGUF file (and of its other shards)."""
import math
import pathlib
import re
import struct
from typing import NamedTuple

_SCALARS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
_STRING, _ARRAY = 8, 9
_SHARD = re.compile(r"-(\d{5})-of-(\d{5})\.gguf$")


class Header(NamedTuple):
    metadata: dict  # arrays are left out
    shapes: dict  # tensor name -> sizes, in the file's order


class Model(NamedTuple):
    architecture: str
    vocabulary: int
    matmul_parameters: float  # that one prompt token is multiplied with; without token table and output head


class FormatError(Exception):
    """The file is not what it should be; the text is a sentence."""


class _Reader:
    def __init__(self, file):
        self._file = file

    def number(self, code):
        size = struct.calcsize("<" + code)
        data = self._file.read(size)
        if len(data) < size:
            raise FormatError("the file ends within its header")
        return struct.unpack("<" + code, data)[0]

    def string(self):
        return self._take(self.number("Q")).decode(errors="replace")

    def _take(self, size):
        if size > 1 << 30:
            raise FormatError(f"the header has a text of {size} bytes")
        data = self._file.read(size)
        if len(data) < size:
            raise FormatError("the file ends within its header")
        return data

    def value(self, kind):
        if kind in _SCALARS:
            return self.number(_SCALARS[kind])
        if kind == _STRING:
            return self.string()
        if kind != _ARRAY:
            raise FormatError(f"the header has a value of the unknown type {kind}")
        item, count = self.number("I"), self.number("Q")
        if item in _SCALARS:
            self._file.seek(count * struct.calcsize("<" + _SCALARS[item]), 1)
        else:
            for _ in range(count):
                self.value(item)
        return None


def read_header(file):
    reader = _Reader(file)
    if file.read(4) != b"GGUF":
        raise FormatError("it is not a GGUF file")
    version, tensors, pairs = reader.number("I"), reader.number("Q"), reader.number("Q")
    if version not in (2, 3):
        raise FormatError(f"expected GGUF version 2 or 3, found {version}")
    metadata = {}
    for _ in range(pairs):
        key = reader.string()
        value = reader.value(reader.number("I"))
        if value is not None:
            metadata[key] = value
    shapes = {}
    for _ in range(tensors):
        name = reader.string()
        shapes[name] = tuple(reader.number("Q") for _ in range(reader.number("I")))
        reader.number("I")  # type
        reader.number("Q")  # offset
    return Header(metadata, shapes)


def matmul_parameters(header):
    """Weights of matrix products in the layers; of stacked experts the share that a token uses."""
    architecture = header.metadata.get("general.architecture", "")
    experts = header.metadata.get(f"{architecture}.expert_count", 0)
    used = header.metadata.get(f"{architecture}.expert_used_count", 0)
    total = 0.0
    for name, shape in header.shapes.items():
        if not name.startswith("blk.") or not name.endswith(".weight") or "embd" in name:
            continue
        if "_norm." in name:  # a row for each head
            continue
        if sum(size > 1 for size in shape) < 2:
            continue
        share = used / experts if "_exps." in name and experts else 1
        total += math.prod(shape) * share
    return total


def shards(path):
    """All files of a model in parts, given any one of them."""
    path = pathlib.Path(path)
    match = _SHARD.search(path.name)
    if not match:
        return [path]
    count = int(match[2])
    return [path.with_name(f"{path.name[: match.start()]}-{i:05d}-of-{count:05d}.gguf") for i in range(1, count + 1)]


def read_model(path):
    metadata, shapes = {}, {}
    for part in shards(path):
        with open(part, "rb") as file:
            header = read_header(file)
        metadata = header.metadata | metadata
        shapes |= header.shapes
    if "token_embd.weight" not in shapes:
        raise FormatError("it has no tensor token_embd.weight")
    whole = Header(metadata, shapes)
    return Model(metadata.get("general.architecture", "?"), shapes["token_embd.weight"][1], matmul_parameters(whole))

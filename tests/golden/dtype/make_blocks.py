#!/usr/bin/env python3
"""Writes blocks.json: per format, blocks and the values they hold, as the Python package `gguf` sees them.

usage: make_blocks.py > blocks.json        (needs the packages gguf and numpy)
"decode": random bytes, under scales that are zero, subnormal, negative, large, infinite and NaN in the first blocks, and
one digest per block of its values: FNV-1a over their little-endian bytes, every NaN as 0x7FC00000. Formats with a grid
also have blocks that go through all of its points.
"encode": random values and the blocks made of them, for formats the package encodes with the same rule as Plait. Values
that fall within 1e-4 of a tie are redrawn: there the package rounds half up and Plait rounds half to even.
Everything is hexadecimal: blocks as bytes, values as the little-endian bytes of binary32.
"""
import json

import gguf
import numpy as np

# name -> where a block keeps F16 numbers (IQ1_M: in four parts; MXFP4 and NVFP4 have other scales)
FORMATS = {
    "Q8_0": [0], "Q4_0": [0], "Q4_1": [0, 2], "Q5_0": [0], "Q5_1": [0, 2], "IQ4_NL": [0], "Q2_K": [80, 82],
    "Q3_K": [108], "Q4_K": [0, 2], "Q5_K": [0, 2], "Q6_K": [208], "IQ4_XS": [0], "IQ3_S": [0], "IQ3_XXS": [0],
    "IQ2_S": [0], "IQ2_XS": [0], "IQ2_XXS": [0], "IQ1_M": [], "IQ1_S": [0], "TQ1_0": [52], "TQ2_0": [64], "MXFP4": [],
    "NVFP4": [],
}
SPECIAL = [0, 65504, 6e-8, -3e-5, np.inf, -np.inf, np.nan, -0.0]
ENCODED = {"Q8_0": 127, "Q4_0": 8, "Q4_1": 15, "Q5_0": 16, "Q5_1": 31}  # steps from 0 (or the minimum) to the extreme
BLOCKS = 24


def put_halves(blocks, places, numbers):
    halves = np.asarray(numbers, dtype=np.float16)
    for i, place in enumerate(places):
        column = np.ascontiguousarray(halves[:, i])
        blocks[:, place : place + 2] = column.view(np.uint8).reshape(-1, 2)


def put_iq1_m_scale(blocks, numbers):
    bits = np.asarray(numbers, dtype=np.float16).view(np.uint16)
    for part in range(4):
        quarter = (bits >> (4 * part) & 15).astype(np.uint8)
        blocks[:, 49 + 2 * part] = blocks[:, 49 + 2 * part] & 15 | quarter << 4


def random_blocks(rng, name, count=BLOCKS):
    kind = gguf.GGMLQuantizationType[name]
    blocks = rng.integers(0, 256, (count, gguf.GGML_QUANT_SIZES[kind][1]), dtype=np.uint8)
    places = FORMATS[name]
    scales = rng.normal(0, 1, (count, max(1, len(places))))
    scales[: len(SPECIAL), 0] = SPECIAL[:count]
    if name == "IQ1_M":
        put_iq1_m_scale(blocks, scales[:, 0])
    elif name == "MXFP4":
        blocks[:6, 0] = [0, 1, 2, 127, 254, 255]
    elif name == "NVFP4":
        blocks[:4, :4] = [[0, 1, 7, 8], [0x7E, 0x7F, 0x80, 0x81], [0xFE, 0xFF, 0x77, 0x78], [0x38, 0x30, 0x40, 0]]
    else:
        put_halves(blocks, places, scales)
    return blocks


def every_point(rng, name):
    """Blocks with scale 1 whose points are those of the grid in order."""
    points = {"IQ3_S": 512, "IQ3_XXS": 256, "IQ2_S": 1024, "IQ2_XS": 512, "IQ2_XXS": 256, "IQ1_M": 2048, "IQ1_S": 2048}[name]
    per_block = 64 if name.startswith("IQ3") else 32
    index = np.arange(points).reshape(-1, per_block)
    blocks = random_blocks(rng, name, len(index))
    low, high = (index & 255).astype(np.uint8), index >> 8
    if name == "IQ1_M":
        put_iq1_m_scale(blocks, np.ones(len(index)))
    else:
        blocks[:, 0:2] = [0x00, 0x3C]
    if name == "IQ2_XS":
        words = blocks[:, 2:66].copy().view(np.uint16)
        blocks[:, 2:66] = (words & 0xFE00 | index.astype(np.uint16)).view(np.uint8)
    elif name == "IQ2_XXS":
        blocks[:, 2:66].reshape(-1, 8, 8)[:, :, :4] = low.reshape(-1, 8, 4)
    elif name == "IQ1_M":
        blocks[:, :32] = low
        nibbles = (high | (index & 8)).astype(np.uint8)
        blocks[:, 32:48] = nibbles[:, 0::2] | nibbles[:, 1::2] << 4
    else:
        blocks[:, 2 : 2 + per_block] = low
    if name == "IQ1_S":
        words = blocks[:, 34:50].copy().view(np.uint16) & 0xF000
        for i in range(4):
            words |= (high[:, i::4] << (3 * i)).astype(np.uint16)
        blocks[:, 34:50] = words.view(np.uint8)
    if name == "IQ2_S":
        blocks[:, 66:74] = sum(high[:, i::4] << (2 * i) for i in range(4)).astype(np.uint8)
    if name == "IQ3_S":
        blocks[:, 66:74] = sum(high[:, i::8] << i for i in range(8)).astype(np.uint8)
    return blocks


def digest(values):
    canonical = np.where(np.isnan(values), np.uint32(0x7FC00000), values.view(np.uint32))
    hashed = 0xCBF29CE484222325
    for byte in canonical.astype("<u4").tobytes():
        hashed = (hashed ^ byte) * 0x100000001B3 & 0xFFFFFFFFFFFFFFFF
    return f"{hashed:016x}"


def decoded(name, blocks):
    with np.errstate(all="ignore"):
        values = gguf.quants.dequantize(blocks, gguf.GGMLQuantizationType[name])
    return {"blocks": text(blocks), "digests": [digest(row) for row in values]}


def steps(values, name):
    """Each value in units of its block's step, as the encoder rounds it."""
    extreme = ENCODED[name]
    if name.endswith("_0"):
        return values / (abs(values).max(axis=1, keepdims=True) / extreme)
    low = values.min(axis=1, keepdims=True)
    return (values - low) / ((values.max(axis=1, keepdims=True) - low) / extreme)


def random_values(rng, name):
    values = np.zeros((BLOCKS, 32), dtype=np.float32)
    for block in range(BLOCKS):
        while True:
            row = (rng.normal(rng.normal(0, 1), 1, 32) * 10.0 ** rng.uniform(-3, 3)).astype(np.float32)
            if (abs(steps(row[None].astype(np.float64), name) % 1 - 0.5) > 1e-4).all():
                values[block] = row
                break
    return values


def text(array):
    return array.tobytes().hex()


def main():
    rng = np.random.default_rng(20)
    out = {}
    for name in FORMATS:
        out[name] = {"decode": [decoded(name, random_blocks(rng, name))]}
        if name.startswith("IQ") and not name.startswith("IQ4"):
            out[name]["decode"].append(decoded(name, every_point(rng, name)))
        if name in ENCODED:
            values = random_values(rng, name)
            blocks = gguf.quants.quantize(values, gguf.GGMLQuantizationType[name])
            out[name]["encode"] = {"values": text(values), "blocks": text(blocks)}
    print(json.dumps(out, indent=1))


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""Writes blocks.json: per format, blocks and the values they hold, as the Python package `gguf` sees them.

usage: make_blocks.py > blocks.json        (needs the packages gguf and numpy)
"decode": random bytes with finite scales (subnormal and negative ones too) and their values.
"encode": random values and the blocks made of them. Values that fall within 1e-4 of a tie are redrawn: there the
package rounds half up and Plait rounds half to even.
Everything is hexadecimal: blocks as bytes, values as the little-endian bytes of binary32.
"""
import json

import gguf
import numpy as np

FORMATS = {"Q8_0": 1, "Q4_0": 1, "Q4_1": 2}  # name -> leading F16 numbers of a block
BLOCKS = 24


def random_blocks(rng, kind, halves):
    bytes_per_block = gguf.GGML_QUANT_SIZES[kind][1]
    blocks = rng.integers(0, 256, (BLOCKS, bytes_per_block), dtype=np.uint8)
    scales = rng.normal(0, 1, (BLOCKS, halves)).astype(np.float16)
    scales[0], scales[1], scales[2], scales[3] = 0, 65504, 6e-8, -3e-5
    blocks[:, : 2 * halves] = scales.view(np.uint8)
    return blocks


def steps(values, name):
    """Each value in units of its block's step, as the encoder rounds it."""
    if name == "Q8_0":
        return values / (abs(values).max(axis=1, keepdims=True) / 127)
    if name == "Q4_0":
        return values / (abs(values).max(axis=1, keepdims=True) / 8)
    low = values.min(axis=1, keepdims=True)
    return (values - low) / ((values.max(axis=1, keepdims=True) - low) / 15)


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
    for name, halves in FORMATS.items():
        kind = gguf.GGMLQuantizationType[name]
        blocks, values = random_blocks(rng, kind, halves), random_values(rng, name)
        out[name] = {
            "decode": {"blocks": text(blocks), "values": text(gguf.quants.dequantize(blocks, kind))},
            "encode": {"values": text(values), "blocks": text(gguf.quants.quantize(values, kind))},
        }
    print(json.dumps(out, indent=1))


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""Writes corpus/gguf: models of one or two layers, whole and spoiled in one place each. usage: make_gguf_corpus.py FOLDER

Standard library only: the files are made byte by byte after the GGUF specification (docs/gguf.md in the ggml repository).
"""
import pathlib
import struct
import sys

U32, I32, F32, BOOL, STRING, ARRAY, U64 = 4, 5, 6, 7, 8, 9, 10
PACKED = {U32: "<I", I32: "<i", F32: "<f", BOOL: "<B", U64: "<Q"}
FORMATS = {"F32": (0, 1, 4), "Q8_0": (8, 32, 34), "Q4_0": (2, 32, 18)}  # number, elements and bytes of a block


def string(text):
    data = text.encode()
    return struct.pack("<Q", len(data)) + data


def packed(kind, value):
    return string(value) if kind == STRING else struct.pack(PACKED[kind], value)


def entry(key, kind, value):
    if isinstance(value, list):
        return (string(key) + struct.pack("<IIQ", ARRAY, kind, len(value)) +
                b"".join(packed(kind, item) for item in value))
    return string(key) + struct.pack("<I", kind) + packed(kind, value)


def data_bytes(kind, shape):
    _, elements, size = FORMATS[kind]
    count = 1
    for extent in shape:
        count *= extent
    return count // elements * size


def padded(data):
    return data + bytes(-len(data) % 32)


def gguf(entries, tensors, version=3):
    """entries: (key, kind, value); tensors: (name, format, shape with the innermost dimension last)."""
    head = b"GGUF" + struct.pack("<IQQ", version, len(tensors), len(entries))
    head += b"".join(entry(*item) for item in entries)
    data = b""
    for name, kind, shape in tensors:
        head += string(name) + struct.pack("<I", len(shape)) + struct.pack(f"<{len(shape)}Q", *reversed(shape))
        head += struct.pack("<IQ", FORMATS[kind][0], len(data))
        data += padded(bytes(data_bytes(kind, shape)))
    return padded(head) + data


VOCABULARY = [
    ("tokenizer.ggml.model", STRING, "gpt2"),
    ("tokenizer.ggml.pre", STRING, "gpt-2"),
    ("tokenizer.ggml.tokens", STRING, ["a", "b", "ab", "<|end|>"]),
    ("tokenizer.ggml.token_type", I32, [1, 1, 1, 3]),
    ("tokenizer.ggml.merges", STRING, ["a b"]),
    ("tokenizer.ggml.bos_token_id", U32, 3),
    ("tokenizer.ggml.add_bos_token", BOOL, 1),
]


def llama(experts=0):
    entries = [
        ("general.architecture", STRING, "llama"),
        ("general.name", STRING, "tiny"),
        ("general.alignment", U32, 32),
        ("llama.block_count", U32, 1),
        ("llama.context_length", U32, 32),
        ("llama.embedding_length", U32, 32),
        ("llama.feed_forward_length", U32, 32),
        ("llama.attention.head_count", U32, 4),
        ("llama.attention.head_count_kv", U32, 2),
        ("llama.attention.layer_norm_rms_epsilon", F32, 1e-5),
        ("llama.rope.freq_base", F32, 1e4),
    ] + VOCABULARY
    tensors = [
        ("token_embd.weight", "Q4_0", (4, 32)),
        ("blk.0.attn_norm.weight", "F32", (32, )),
        ("blk.0.attn_q.weight", "Q8_0", (32, 32)),
        ("blk.0.attn_k.weight", "Q4_0", (16, 32)),
        ("blk.0.attn_v.weight", "Q4_0", (16, 32)),
        ("blk.0.attn_output.weight", "Q4_0", (32, 32)),
        ("blk.0.ffn_norm.weight", "F32", (32, )),
        ("output_norm.weight", "F32", (32, )),
    ]
    if experts:
        entries += [("llama.expert_count", U32, experts), ("llama.expert_used_count", U32, 1)]
        tensors.append(("blk.0.ffn_gate_inp.weight", "F32", (experts, 32)))
    for part in ("gate", "up", "down"):
        name, shape = (f"ffn_{part}_exps", (experts, 32, 32)) if experts else (f"ffn_{part}", (32, 32))
        tensors.append((f"blk.0.{name}.weight", "Q4_0", shape))
    return entries, tensors


def gpt2():
    sizes = {"block_count": 1, "context_length": 4, "embedding_length": 8, "feed_forward_length": 8,
             "attention.head_count": 2}
    entries = [("general.architecture", STRING, "gpt2")] + [(f"gpt2.{key}", U32, n) for key, n in sizes.items()]
    entries += [("gpt2.attention.layer_norm_epsilon", F32, 1e-5)] + VOCABULARY
    shapes = {"blk.0.attn_norm": (8, ), "blk.0.attn_qkv": (24, 8), "blk.0.attn_output": (8, 8), "blk.0.ffn_norm": (8, ),
              "blk.0.ffn_up": (8, 8), "blk.0.ffn_down": (8, 8), "output_norm": (8, )}
    tensors = [("token_embd.weight", "F32", (4, 8)), ("position_embd.weight", "F32", (4, 8))]
    for name, shape in shapes.items():
        tensors += [(f"{name}.weight", "F32", shape), (f"{name}.bias", "F32", shape[:1])]
    return entries, tensors


def replaced(model, key, kind, value):
    entries, tensors = model
    return [(key, kind, value) if item[0] == key else item for item in entries], tensors


def files():
    whole = gguf(*llama())
    yield "llama", whole
    yield "llama-experts", gguf(*llama(experts=2))
    yield "gpt2", gguf(*gpt2())
    yield "nothing-version-2", gguf([], [], version=2)
    yield "cut-in-metadata", whole[:300]
    yield "cut-in-data", whole[:-100]
    yield "big-endian", b"GGUF" + struct.pack(">IQQ", 3, 0, 0)
    yield "web-page", b"<!DOCTYPE html><html></html>"
    yield "huge-counts", b"GGUF" + struct.pack("<IQQ", 3, 2**64 - 1, 2**63)
    yield "huge-array", gguf([], [])[:16] + struct.pack("<Q", 1) + string("k") + struct.pack("<IIQ", ARRAY, U64, 2**61)
    yield "huge-layers", gguf(*replaced(llama(), "llama.block_count", U32, 2**31 - 1))
    yield "huge-heads", gguf(*replaced(llama(), "llama.attention.head_count", U32, 2**31 - 1))
    yield "alignment-2-31", gguf(*replaced(llama(), "general.alignment", U32, 2**31))
    yield "epsilon-nan", gguf(*replaced(llama(), "llama.attention.layer_norm_rms_epsilon", F32, float("nan")))


def main():
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for name, data in files():
        (folder / name).write_bytes(data)


if __name__ == "__main__":
    main()

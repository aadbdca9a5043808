#!/usr/bin/env python3
"""Writes corpus/tokenizer: texts for the small vocabularies, and vocabularies with a text. usage:
make_tokenizer_corpus.py FOLDER

The first byte's lowest bit says which. A text: number of the tokenizer, whether special tokens are parsed, then the text.
A vocabulary: algorithm, number of the pre-tokenizer; tokens, types, merges and scores, each list with its length before
it and each string with its own; six special ids (0: none, else id + 2); three flags (0: unset, 1: yes, 2: no); whether
special tokens take white space, whether they are parsed; then the text.
"""
import pathlib
import sys

GPT2, LLAMA, TEST = 0, 1, 2


def string(text):
    data = text.encode() if isinstance(text, str) else text
    return bytes([len(data)]) + data


def strings(items):
    return bytes([len(items)]) + b"".join(map(string, items))


def text(number, data, parse_special=1):
    return bytes([0, number, parse_special]) + (data.encode() if isinstance(data, str) else data)


def vocabulary(model, tokens, data, types=(), merges=(), scores=(), ids=(0,) * 6, flags=(0,) * 3, strips=0, pre=1):
    return (bytes([1, model, pre]) + strings(tokens) + bytes([len(types), *types]) + strings(merges) +
            bytes([len(scores), *scores, *ids, *flags, strips, 1]) + data.encode())


MIXED = "It's 2024\u00bd:  <|im_end|> the\u0301 \u6f22\u304b\ud55c \u0661 A\u0301Bc\r\n\n\t<fold>/\u2581 "
PIECES = ["<unk>", "<s>", "</s>", "<0x61>", "\u2581", "b", "\u2581b", "<tag>"]
TYPES = [2, 3, 3, 6, 1, 1, 1, 4]
SCORES = [0, 0, 0, 0, 1, 1, 3, 0]

CORPUS = {
    **{f"text-{number}": text(number, MIXED) for number in range(25)},
    "text-not-utf-8": text(1, b"ab\xff\xe2\x82 \x80c\xf0\x9f"),
    "text-special-is-text": text(1, MIXED, parse_special=0),
    "text-empty": b"",
    "byte-level": vocabulary(GPT2, ["a", "b", "ab", "\u0120", "<|im_end|>"], "ab a<|im_end|>?", types=[1, 1, 1, 1, 3],
                             merges=["a b"], ids=(0, 6, 0, 0, 0, 0), flags=(2, 1, 0)),
    "byte-level-merge-without-halves": vocabulary(GPT2, ["a"], "a", merges=["a"]),
    "byte-level-merge-of-nothing-known": vocabulary(GPT2, ["a"], "ax", merges=["a x", "y z"]),
    "sentencepiece": vocabulary(LLAMA, PIECES, "b ab<tag> b</s>c", types=TYPES, scores=SCORES),
    "sentencepiece-strips": vocabulary(LLAMA, PIECES, "<tag> \n b", types=TYPES, scores=SCORES, strips=1),
    "sentencepiece-bad-byte": vocabulary(LLAMA, ["<0xZZ>"], "a", types=[6], scores=[0]),
    "sentencepiece-no-scores": vocabulary(LLAMA, PIECES, "b", types=TYPES),
    "sentencepiece-twice": vocabulary(LLAMA, ["a", "a", "aa"], "aaa", scores=[1, 2, 3]),
    "id-out-of-range": vocabulary(LLAMA, PIECES, "b", types=TYPES, scores=SCORES, ids=(99, 0, 0, 0, 0, 0)),
    "no-tokens": vocabulary(LLAMA, [], "b"),
    "type-unknown": vocabulary(GPT2, ["a"], "a", types=[9]),
    "model-unknown": vocabulary(TEST, ["a"], "a"),
}


def main():
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for name, data in CORPUS.items():
        (folder / name).write_bytes(data)


main()

"""Writes small_sentencepiece.json: a small SentencePiece vocabulary (BPE, byte fallback), and what the library
`sentencepiece` itself makes of some texts. Needs `pip install sentencepiece protobuf`.

    python3 make_small_sentencepiece.py > small_sentencepiece.json

What the library does not decide is how special tokens are found in a text: as in other engines that read GGUF, they
cut it (leftmost, longest), and what lies between is encoded as if it were a text of its own, space prefix included.
"""

import io
import json
import re

import sentencepiece
from sentencepiece import sentencepiece_model_pb2

from make_pre_rules import TEXTS
from make_small_bpe import CORPUS

CONTROL = ["<|im_start|>", "<|im_end|>"]
USER_DEFINED = ["<fold>", "<folder>"]
MORE_TEXTS = ["<s>hold</s>", "</s>the", "<unk>", " <s> the <|im_end|>", "a\u2581b \u2581", "the<fold> strand", "<0x41>"]
NORMAL, UNKNOWN, CONTROL_TYPE, USER_DEFINED_TYPE, UNUSED, BYTE = range(1, 7)  # in GGUF and here alike


def train():
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(line for text in CORPUS for line in text.splitlines()), model_writer=model,
        model_type="bpe", vocab_size=3 + 256 + 4 + 330, byte_fallback=True, character_coverage=0.98,
        normalization_rule_name="identity", remove_extra_whitespaces=False, control_symbols=CONTROL,
        user_defined_symbols=USER_DEFINED, minloglevel=2)
    proto = sentencepiece_model_pb2.ModelProto()
    proto.ParseFromString(model.getvalue())
    return proto


def processor(trained, prefix, bytes_known):
    proto = sentencepiece_model_pb2.ModelProto()
    proto.CopyFrom(trained)
    proto.normalizer_spec.add_dummy_prefix = prefix
    if not bytes_known:
        proto.trainer_spec.byte_fallback = False
        for piece in proto.pieces:
            if piece.type == BYTE:
                piece.type = CONTROL_TYPE
    return sentencepiece.SentencePieceProcessor(model_proto=proto.SerializeToString())


def encode(variant, marked, text):
    if not marked:
        return variant.encode(text)
    longest_first = sorted(marked, key=len, reverse=True)
    ids = []
    for part in re.split("(" + "|".join(map(re.escape, longest_first)) + ")", text):
        ids += [marked[part]] if part in marked else variant.encode(part)
    return ids


def main():
    proto = train()
    pieces = list(proto.pieces)
    of_type = {kind: {p.piece: i for i, p in enumerate(pieces) if p.type == kind} for kind in range(1, 7)}
    always = of_type[USER_DEFINED_TYPE]
    parsed = always | of_type[CONTROL_TYPE] | of_type[UNKNOWN]
    variants = {
        "prefix": processor(proto, prefix=True, bytes_known=True),
        "no-prefix": processor(proto, prefix=False, bytes_known=True),
        "no-bytes": processor(proto, prefix=True, bytes_known=False),
    }
    cases = [
        {"variants": [name], "text": text, "parse_special": parse_special,
         "ids": encode(variant, parsed if parse_special else always, text)}
        for name, variant in variants.items() for text in TEXTS + MORE_TEXTS
        for parse_special in ([False, True] if "<" in text else [False])
    ]
    head = {
        "tokens": [p.piece for p in pieces],
        "token_types": [p.type for p in pieces],
        "scores": [p.score for p in pieces],
    }
    lines = [json.dumps(case, separators=(",", ":")) for case in cases]
    parts = [f"{json.dumps(key)}:{json.dumps(value, separators=(',', ':'))}" for key, value in head.items()]
    print("{" + ",\n".join(parts) + ',\n"cases":[\n' + ",\n".join(lines) + "\n]}")


if __name__ == "__main__":
    main()

"""Writes small_bpe.json: a small byte-level vocabulary, and what the Python library `tokenizers` (an independent
implementation) makes of some texts with some of Plait's pre-tokenizer rules. Needs `pip install tokenizers`.

    python3 make_small_bpe.py > small_bpe.json
"""

import json

from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, trainers

from make_pre_rules import RULES, TEXTS, splitter

CORPUS = [
    "The plait is made of three strands, and the three strands hold together what one strand would not.",
    "It isn't the longest strand that they'd choose; they'll take the one that's there. We've seen 3 of 12 strands.",
    "In the year 2024 there were 1024 strands and 365 of them held. 100 000, 333, 12, 2 and 20.",
    "der die das und nicht ein Zopf aus drei Strängen, schön geflochten; über, für, Öl",
    "    if (strand == other) {\n        return hold(strand);\n    }\n\n    // hold the rest\n",
    "третья прядь держит первую и вторую прядь",
    "三股编成一条辫子 三股",
]

CONTROL = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
USER_DEFINED = ["<fold>", "<folder>"]

# By name, whether a piece that is a token is taken whole.
WHOLE_TOKENS = {"gpt-2": False, "smollm": False, "llama-bpe": True, "qwen2": False}
BYTES = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)


def pre_tokenizer(name):
    return pre_tokenizers.Sequence([splitter(RULES[name]), BYTES])


def train():
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizer("qwen2")
    trainer = trainers.BpeTrainer(
        vocab_size=256 + 110, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False)
    tokenizer.train_from_iterator(CORPUS * 3, trainer)
    state = json.loads(tokenizer.to_str())["model"]
    vocab = dict(state["vocab"])
    # A token that no merge leads to: only a rule that takes whole pieces finds it.
    vocab[" rest".replace(" ", "Ġ") + "less"] = len(vocab)
    return vocab, [tuple(merge) for merge in state["merges"]]


def encode(vocab, merges, rule, text, parse_special):
    tokenizer = Tokenizer(models.BPE(vocab=vocab, merges=merges, ignore_merges=WHOLE_TOKENS[rule]))
    tokenizer.pre_tokenizer = pre_tokenizer(rule)
    tokenizer.decoder = decoders.ByteLevel()
    # Ids follow the vocabulary in the order of adding, whatever is matched.
    tokenizer.add_special_tokens([AddedToken(t, normalized=False, special=True) for t in CONTROL])
    tokenizer.add_tokens([AddedToken(t, normalized=False, special=False) for t in USER_DEFINED])
    tokenizer.encode_special_tokens = not parse_special
    return tokenizer.encode(text, add_special_tokens=False).ids


def main():
    vocab, merges = train()
    tokens = sorted(vocab, key=vocab.get)
    cases = []
    for text in [*TEXTS, "a restless strand"]:
        for parse_special in [False, True] if "<" in text else [False]:
            by_ids = {}
            for name in WHOLE_TOKENS:
                by_ids.setdefault(tuple(encode(vocab, merges, name, text, parse_special)), []).append(name)
            cases += [{"variants": names, "text": text, "parse_special": parse_special, "ids": ids}
                      for ids, names in by_ids.items()]
    head = {
        "tokens": tokens + CONTROL + USER_DEFINED,
        "token_types": [1] * len(tokens) + [3] * len(CONTROL) + [4] * len(USER_DEFINED),
        "merges": [" ".join(merge) for merge in merges],
    }
    lines = [json.dumps(case, separators=(",", ":")) for case in cases]
    parts = [f"{json.dumps(key)}:{json.dumps(value, separators=(',', ':'))}" for key, value in head.items()]
    print("{" + ",\n".join(parts) + ',\n"cases":[\n' + ",\n".join(lines) + "\n]}")


if __name__ == "__main__":
    main()

"""Writes small_bpe.json: a small byte-level vocabulary, and what the Python library `tokenizers` (an independent
implementation) makes of some texts with each of Plait's pre-tokenizer rules. Needs `pip install tokenizers`.

    python3 make_small_bpe.py > small_bpe.json
"""

import json

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, pre_tokenizers, trainers

CORPUS = [
    "The plait is made of three strands, and the three strands hold together what one strand would not.",
    "It isn't the longest strand that they'd choose; they'll take the one that's there. We've seen 3 of 12 strands.",
    "In the year 2024 there were 1024 strands and 365 of them held. 100 000, 333, 12, 2 and 20.",
    "der die das und nicht ein Zopf aus drei Strängen, schön geflochten; über, für, Öl",
    "    if (strand == other) {\n        return hold(strand);\n    }\n\n    // hold the rest\n",
    "третья прядь держит первую и вторую прядь",
    "三股编成一条辫子 三股",
]

TEXTS = [
    "", " ", "  ", "\n", "\t\n \n", "a", "the", " the", "the ", "the three strands hold together",
    "It isn't that they'd, THEY'LL or We'Ve; it's 'S and 'ſ", "in 2024, 1024 of 123456789 strands; 3 33 333 3333",
    "٣٣٣٣ ½ Ⅷ ²³", "Strängen schön über Öl", "третья прядь", "三股编成一条辫子三股", "   hold   the \n\n   rest   \n",
    "\r\n\r\nhold\r\n", "a\u00a0b \u3000c\u2028d\u0085e\u180ef", "strand==other){ //!?..\n\n", "🧶 🧶🏽", "e\u0301 é",
    "\u200bzero\u200d", "_under_score-and.dots", "\x00\x1f\x7f", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
    "<|im_start|>user\nhold<|im_end|>\n", "<|im_end|><|im_end|", "a<fold>b <fold><folder>", " <folder> <fold",
]

CONTROL = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
USER_DEFINED = ["<fold>", "<folder>"]

GPT2 = r"""'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"""
LLAMA3 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|"
          r"\s*[\r\n]+|\s+(?!\S)|\s+")
QWEN2 = LLAMA3.replace("{1,3}", "")
BYTES = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)


def split(*patterns):
    cuts = [pre_tokenizers.Split(Regex(pattern), "isolated") for pattern in patterns]
    return pre_tokenizers.Sequence([*cuts, BYTES])


RULES = {
    "gpt-2": (split(GPT2), False),
    "smollm": (split(r"\p{N}", GPT2), False),
    "llama-bpe": (split(LLAMA3), True),
    "qwen2": (split(QWEN2), False),
}


def train():
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = split(QWEN2)
    trainer = trainers.BpeTrainer(
        vocab_size=256 + 110, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False)
    tokenizer.train_from_iterator(CORPUS * 3, trainer)
    state = json.loads(tokenizer.to_str())["model"]
    vocab = dict(state["vocab"])
    # A token that no merge leads to: only a rule that takes whole pieces finds it.
    vocab[" rest".replace(" ", "Ġ") + "less"] = len(vocab)
    return vocab, [tuple(merge) for merge in state["merges"]]


def encode(vocab, merges, rule, text, parse_special):
    pre, ignore_merges = rule
    tokenizer = Tokenizer(models.BPE(vocab=vocab, merges=merges, ignore_merges=ignore_merges))
    tokenizer.pre_tokenizer = pre
    tokenizer.decoder = decoders.ByteLevel()
    # Ids follow the vocabulary in the order of adding, whatever is matched.
    tokenizer.add_special_tokens([AddedToken(t, normalized=False, special=True) for t in CONTROL])
    tokenizer.add_tokens([AddedToken(t, normalized=False, special=False) for t in USER_DEFINED])
    tokenizer.encode_special_tokens = not parse_special
    return tokenizer.encode(text, add_special_tokens=False).ids


def main():
    vocab, merges = train()
    tokens = sorted(vocab, key=vocab.get)
    cases = [
        {"pre": pre, "text": text, "parse_special": parse_special,
         "ids": encode(vocab, merges, rule, text, parse_special)}
        for pre, rule in RULES.items() for text in [*TEXTS, "a restless strand"]
        for parse_special in ([False, True] if "<" in text else [False])
    ]
    head = {
        "tokens": tokens + CONTROL + USER_DEFINED,
        "token_types": [1] * len(tokens) + [3] * len(CONTROL) + [4] * len(USER_DEFINED),
        "merges": [" ".join(merge) for merge in merges],
    }
    lines = [json.dumps(case, separators=(",", ":")) for case in cases]
    parts = [f"{json.dumps(key)}:{json.dumps(value, separators=(',', ':'))}" for key, value in head.items()]
    print("{" + ",\n".join(parts) + ',\n"cases":[\n' + ",\n".join(lines) + "\n]}")


main()

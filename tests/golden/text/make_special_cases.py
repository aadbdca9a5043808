"""Writes special_cases.json: what independent implementations make of texts with special tokens in whole vocabularies.
Needs `pip install gguf sentencepiece protobuf tokenizers`, and the vocabularies (`vocab/*.gguf` of the full golden set).

    python3 make_special_cases.py VOCAB_FOLDER > special_cases.json

Byte-level vocabularies go through `tokenizers`. SentencePiece ones go through `sentencepiece`, which gets the tokens and
scores of the GGUF file; as in other engines that read GGUF, special tokens cut the text (leftmost, longest), and what
lies between is encoded as if it were a text of its own, space prefix included. Tokens known to end a turn are control
tokens, whatever the file says. Phi-3's special tokens take the white space after them, but for those that begin and
pad a text (its tokenizer_config.json: `rstrip`).
"""

import json
import pathlib
import re
import sys

import gguf
import sentencepiece
from sentencepiece import sentencepiece_model_pb2
from tokenizers import AddedToken, Tokenizer, models, pre_tokenizers

from make_pre_rules import RULES, splitter

NORMAL, UNKNOWN, CONTROL, USER_DEFINED, UNUSED, BYTE = range(1, 7)
TURN_ENDS = ["</s>", "<|endoftext|>", "<|im_end|>", "<|eot_id|>", "<|end_of_text|>", "<|end|>"]
UNSTRIPPED = ["<unk>", "<s>", "<|endoftext|>"]
TEXTS = [
    "<s>[INST] Hold the strand. [/INST] It holds. </s><s>[INST] Good", "</s>", "<unk>", " <s> ", "<s", "a<s>b</s> c",
    "<0x0A>", "<|endoftext|>", "a <|endoftext|> b", "<|endoftext", "<|endoftext|><|endoftext|>\n",
    "<|im_start|>system\nHold.<|im_end|>\n<|im_start|>user\nWhat?<|im_end|>\n<|im_start|>assistant\n",
    "<|begin_of_text|><|start_header_id|>user<|end_header_id|>\n\nHold the strand!<|eot_id|>", "\n<|eot_id|>\n ",
    "a<|reserved_special_token_12|>b<|reserved_special_token_120|>", "<|end_of_text|>",
    "<|system|>\nHold.<|end|>\n<|user|>\n What?<|end|>\n<|assistant|>\n", "<|user|> \t\r\n\v\f x", "<|end|>  <|end|>",
    "</s>  y", "<s>  z", "<|placeholder1|>\u00a0a", "[PAD151646] a[PAD151999]", "[PAD32011]  b", "[PAD32011",
]


class Vocabulary:
    def __init__(self, path):
        fields = gguf.GGUFReader(path).fields
        self.values = {key.removeprefix("tokenizer.ggml."): field.contents() for key, field in fields.items()
                       if key.startswith("tokenizer.ggml.")}
        self.tokens = self.values["tokens"]
        self.types = [CONTROL if token in TURN_ENDS else kind
                      for token, kind in zip(self.tokens, self.values["token_type"])]
        self.strips = fields["general.architecture"].contents() == "phi3"
        self.is_sentencepiece = self.values["model"] == "llama"
        self.encoder = self.make_sentencepiece() if self.is_sentencepiece else self.make_byte_level()

    def of_types(self, *types):
        return {token: i for i, (token, kind) in enumerate(zip(self.tokens, self.types)) if kind in types}

    def make_sentencepiece(self):
        proto = sentencepiece_model_pb2.ModelProto()
        proto.trainer_spec.model_type = proto.trainer_spec.BPE
        proto.trainer_spec.byte_fallback = True
        proto.normalizer_spec.name = "identity"
        proto.normalizer_spec.remove_extra_whitespaces = False
        unknown = self.values["unknown_token_id"]
        for i, (token, kind, score) in enumerate(zip(self.tokens, self.types, self.values["scores"])):
            # The library wants just one unknown token; none but normal and byte tokens comes from a text.
            kind = UNKNOWN if i == unknown else kind if kind in (NORMAL, BYTE) else CONTROL
            proto.pieces.add(piece=token, score=score, type=kind)
        return sentencepiece.SentencePieceProcessor(model_proto=proto.SerializeToString())

    def make_byte_level(self):
        rule = self.values["pre"]
        merges = [tuple(merge.split(" ")) for merge in self.values["merges"]]
        vocab = {token: i for i, token in enumerate(self.tokens)}
        tokenizer = Tokenizer(models.BPE(vocab=vocab, merges=merges, ignore_merges=rule == "llama-bpe"))
        tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
            [splitter(RULES[rule]), pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
        tokenizer.add_special_tokens(
            [AddedToken(token, normalized=False, special=True) for token in self.of_types(CONTROL, UNKNOWN)])
        tokenizer.add_tokens([AddedToken(token, normalized=False, special=False) for token in self.of_types(USER_DEFINED)])
        return tokenizer

    def encode(self, text, parse_special):
        if self.is_sentencepiece:
            return self.encode_sentencepiece(text, parse_special)
        self.encoder.encode_special_tokens = not parse_special
        return self.encoder.encode(text, add_special_tokens=False).ids

    def encode_sentencepiece(self, text, parse_special):
        marked = self.of_types(USER_DEFINED, *((CONTROL, UNKNOWN) if parse_special else ()))
        ids = []
        while text:
            found = re.search("|".join(map(re.escape, sorted(marked, key=len, reverse=True))), text) if marked else None
            before, text = (text[:found.start()], text[found.end():]) if found else (text, "")
            ids += self.encoder.encode(before)
            if found:
                ids.append(marked[found[0]])
                if self.strips and found[0] not in UNSTRIPPED:
                    text = text.lstrip(" \t\n\v\f\r")
        return ids


def main():
    lines = []
    for path in sorted(pathlib.Path(sys.argv[1]).glob("*.gguf")):
        vocabulary = Vocabulary(path)
        lines += [json.dumps({"vocabulary": path.stem, "text": text, "parse_special": parse_special,
                              "ids": vocabulary.encode(text, parse_special)}, separators=(",", ":"))
                  for text in TEXTS for parse_special in (False, True)]
    print("[\n" + ",\n".join(lines) + "\n]")


if __name__ == "__main__":
    main()

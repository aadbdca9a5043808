"""Writes pre_rules.json: how the Python library `tokenizers` (an independent implementation, with the regular
expressions of Oniguruma) cuts some texts by the published patterns of each family. Needs `pip install tokenizers`.

    python3 make_pre_rules.py > pre_rules.json
"""

import json

from tokenizers import Regex, pre_tokenizers

TEXTS = [
    "", " ", "  ", "\n", "\t\n \n", "a", "the", " the", "the ", "the three strands hold together",
    "It isn't that they'd, THEY'LL or We'Ve; it's 'S and 'ſ", "in 2024, 1024 of 123456789 strands; 3 33 333 3333",
    "٣٣٣٣ ½ Ⅷ ²³", "Strängen schön über Öl", "третья прядь", "三股编成一条辫子三股", "   hold   the \n\n   rest   \n",
    "\r\n\r\nhold\r\n", "a\u00a0b \u3000c\u2028d\u0085e\u180ef", "strand==other){ //!?..\n\n", "🧶 🧶🏽", "e\u0301 é",
    "\u200bzero\u200d", "_under_score-and.dots", "\x00\x1f\x7f", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
    "HoldStrand HOLDstrand holdSTRAND ABC Abc aBc ÄrgerÄRGER ǅǆ ªº ʰa", "DON'T don't/ITS it's/they'Llama", "x\u0301y A\u0301B \u0301\u0302 क्षि नमस्ते",
    "漢字 かなカナ 漢字かな々〇⺀ 한국어 ㄅㄆ  漢", "！？全角、文。“引用” ‘x’ ：；", "हिन्दी। اردو۔ عربي، (bracket|bar)…", "٣ 12 1234 12345678 a1234 1234a 12_3 1,234.5",
    "http://hold.the/strand?a=1&b=2#c", "a  b   c    d     e" + " " * 9 + "f" + " " * 37 + "g\t\t\th", "!\n\n?/\r\n/a \n \n  \u3000", "Zopf'ın Ankara'da 'hold' \"the\" `rest` $5+3<4=^~|",
    "hold the strand, one two. Three\nfour\n\n\nfive", "ſ'ſ 'RE 'Ve K 'ꭥ", "    \n", "1 2  3\u00a04",
    "<|im_start|>user\nhold<|im_end|>\n", "<|im_end|><|im_end|", "a<fold>b <fold><folder>", " <folder> <fold",
]

# The published patterns: tokenizer.json of each family; for Kimi, tokenization_kimi.py.
GPT2 = r"""'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"""
LLAMA3 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|"
          r"\s*[\r\n]+|\s+(?!\S)|\s+")
QWEN2 = LLAMA3.replace("{1,3}", "")
QWEN35 = QWEN2.replace(r"?\p{L}+", r"?[\p{L}\p{M}]+").replace(r"[^\s\p{L}\p{N}]", r"[^\s\p{L}\p{M}\p{N}]")
BAILING = (r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n]|"
           r"\s+(?!\S)|\s+")
SEED_CODER = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1}| ?[^\s\p{L}\p{N}\r\n]+|\s*[\r\n]+|"
              r"\s+(?!\S)|\s+")
EXAONE_MOE = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?(?:\p{L}\p{M}*(?: \p{L}\p{M}*)*)+|\p{N}|"
              r" ?[^\s\p{L}\p{N}]+[\r\n/]?|\s*[\r\n]|\s+(?!\S)|\s+")
JAIS2 = LLAMA3.replace(r"\s+(?!\S)|\s+", "|".join(
    [rf"\s{{{n}}}(?!\S)" for n in (512, 256, 128, 64, 32, 16, 8, 4, "1,2")] + [r"\s{1}"]))
UPPER, LOWER = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]", r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"


def o200k(upper=UPPER, lower=LOWER, end="(?i:'s|'t|'re|'ve|'m|'ll|'d)?", digits=r"\p{N}{1,3}", line_end=r"[\r\n/]*"):
    return (rf"[^\r\n\p{{L}}\p{{N}}]?{upper}*{lower}+{end}|[^\r\n\p{{L}}\p{{N}}]?{upper}+{lower}*{end}|{digits}|"
            rf" ?[^\s\p{{L}}\p{{N}}]+{line_end}|\s*[\r\n]+|\s+(?!\S)|\s+")


KIMI = r"[\p{Han}]+|" + o200k(
    upper=UPPER[:-1] + r"&&[^\p{Han}]]", lower=LOWER[:-1] + r"&&[^\p{Han}]]", line_end=r"[\r\n]*")
YOUTU = [r"[가-힣ㄱ-ㆎ]+|[！…“”‘’—：；，、-〿︰-﹏]+|[ㄅ-ㄯ]+|[一-龥぀-ゟ゠-ヿ]+", o200k(digits=r"\p{N}")]
CASED_LETTERS = (
    r"A-Za-zµÀ-ÖØ-öø-ƺƼ-ƿǄ-ʓʕ-ʯͰ-ͳͶͷͻ-ͽͿΆΈ-ΊΌΎ-ΡΣ-ϵϷ-ҁҊ-ԯԱ-ՖႠ-ჅᎠ-Ᏽᏸ-ᏽᲐ-ᲺᲽ-Ჿᴀ-ᴫᵫ-ᵷᵹ-ᶚḀ-ἕἘ-Ἕἠ-ὅὈ-Ὅὐ-ὗὙὛὝὟ-\u1f7dᾀ-ᾴᾶ-ᾼ\u1fbeῂ-ῄῆ-ῌ"
    r"ῐ-\u1fd3ῖ-\u1fdbῠ-Ῥῲ-ῴῶ-ῼℂℇℊ-ℓℕℙ-ℝℤ\u2126ℨ\u212a-ℭℯ-ℴℹℼ-ℿⅅ-ⅉⅎↃↄⰀ-ⱻⱾ-ⳤⳫ-ⳮⳲⳳꙀ-ꙭꚀ-ꚛꜢ-ꝯꝱ-ꞇꞋ-ꞎꭰ-ꮿﬀ-ﬆﬓ-ﬗＡ-Ｚａ-ｚ𐐀-𐑏𐒰-𐓓𐓘-𐓻𐲀-𐲲𐳀-𐳲𑢠-𑣟𞤀-𞥃")
DEEPSEEK_LLM = [r"[\r\n]", rf"\s?[{CASED_LETTERS}]+", r"\s?[!-/:-~！-／：-～\u2018-\u201f\u3000-\u3002]+", r"\s+$", r"[一-龥ࠀ-一가-퟿]+", r"\p{N}+"]
DEEPSEEK_CODER = [r"[\r\n]", r"\s?\p{L}+", r"\s?\p{P}+", r"[一-龥ࠀ-一가-퟿]+", r"\p{N}"]
DEEPSEEK_V3 = [
    r"\p{N}{1,3}", r"[一-龥぀-ゟ゠-ヿ]+",
    r"[!\"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*|"
    r"\s*[\r\n]+|\s+(?!\S)|\s+"]
BLOOM = r" ?[^(\s|[.,!?…。，、।۔،])]+"
# By name, patterns that cut one after the other.
RULES = {
    "default": [r"[\p{P}\$\+<=>\^~\|]+", GPT2, r"\p{N}+", r"[0-9][0-9][0-9]"],
    "gpt-2": [GPT2],
    "smollm": [r"\p{N}", GPT2],
    "falcon": [r"[\p{P}\$\+<=>\^~\|`]+", GPT2, r"[0-9][0-9][0-9]"],
    "llama-bpe": [LLAMA3],
    "dbrx": [LLAMA3],
    "qwen2": [QWEN2],
    "bailingmoe": [BAILING],
    "qwen35": [QWEN35],
    "laguna": [r"[^\n]+|[\n]+", QWEN2],
    "minicpm5": [r"\p{N}{1,3}", LLAMA3.replace("{1,3}", "+")],
    "ufakzeka": [QWEN2[QWEN2.index("[^"):]],
    "seed-coder": [SEED_CODER],
    "exaone-moe": [EXAONE_MOE],
    "jais-2": [JAIS2],
    "gpt-4o": [o200k()],
    "tiny_aya": [r"\d{1,3}(?=(?:\d{3})*\b)", o200k()],
    "youtu": [*YOUTU],
    "tekken": [o200k(end="", digits=r"\p{N}")],
    "kimi-k2": [KIMI],
    "deepseek-llm": [*DEEPSEEK_LLM],
    "deepseek-coder": [*DEEPSEEK_CODER],
    "deepseek-v3": [*DEEPSEEK_V3],
    "bloom": [BLOOM],
    "viking": [BLOOM, r"\p{N}"],
}


def splitter(patterns):
    return pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(pattern), "isolated") for pattern in patterns])


def main():
    lines = []
    for text in TEXTS:
        by_lengths = {}
        for name, patterns in RULES.items():
            pieces = [text[begin:end] for _, (begin, end) in splitter(patterns).pre_tokenize_str(text)]
            assert "".join(pieces) == text, (name, text, pieces)
            by_lengths.setdefault(tuple(len(piece.encode()) for piece in pieces), []).append(name)
        lines += [json.dumps({"rules": names, "text": text, "piece_bytes": lengths}, separators=(",", ":"))
                  for lengths, names in by_lengths.items()]
    print("[\n" + ",\n".join(lines) + "\n]")


if __name__ == "__main__":
    main()

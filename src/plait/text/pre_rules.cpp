#include "plait/text/pre_rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "plait/base/error.h"
#include "plait/base/quote.h"

namespace plait::text {
namespace {

// The patterns are the published ones (tokenizer.json of each family; Kimi's in its tokenization_kimi.py),
// with these changes, none of which moves a cut:
// - their \s and \S mean Unicode's White_Space, while PCRE2's also take in U+180E: see WS;
// - where a published pattern would look at a run again from each of its characters, a look-behind says that
//   the run has been looked at;
// - differences of classes (`&&` in Rust and Oniguruma), which PCRE2 lacks, are classes of what is left out;
// - the last alternative, \s+, matches what would otherwise be left over between two matches.
// Parts that patterns share are macros, because only literals concatenate at compile time.

// White_Space, and of it what ends no line; to be put inside brackets.
#define WS R"(\p{Z}\x09-\x0D\x85)"
#define INLINE_WS R"(\p{Z}\x09\x0B\x0C\x85)"

#define CONTRACTION "(?i:'s|'t|'re|'ve|'m|'ll|'d)"
#define WORD R"([^\r\n\p{L}\p{N}]?\p{L}+)"         // with any one sign before it
#define SIGNS " ?[^" WS R"(\p{L}\p{N}]+)"          // with the space before them
#define LINES "[" WS R"(]*[\r\n]+)"                // white space up to the last line end
#define SPACES "[" WS "]+(?![^" WS "])|[" WS "]+"  // leaving one to the next word

#define CJK R"([\x{4E00}-\x{9FA5}\x{3040}-\x{30FF}]+)"  // ideographs and kana

constexpr std::string_view kDigit = R"(\p{N})";
constexpr std::string_view kThreeDigits = "[0-9][0-9][0-9]";

// Contractions; words, numbers and other signs, each with the space before it.
constexpr std::string_view kGpt2 = R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+|)" SIGNS "|" SPACES;

// Llama 3 and its relatives: contractions in any case, any one sign before a word, lines end with their
// signs. They differ in how many digits a number's piece has.
#define LLAMA3(DIGITS) CONTRACTION "|" WORD "|" DIGITS "|" SIGNS R"([\r\n]*|)" LINES "|" SPACES
constexpr std::string_view kLlama3 = LLAMA3(R"(\p{N}{1,3})");
constexpr std::string_view kQwen2 = LLAMA3(R"(\p{N})");
constexpr std::string_view kMiniCpm5 = LLAMA3(R"(\p{N}+)");
#undef LLAMA3

// Marks belong to words.
constexpr std::string_view kQwen35 = CONTRACTION R"(|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^)" WS
                                                 R"(\p{L}\p{M}\p{N}]+[\r\n]*|)" LINES "|" SPACES;
// No contractions: Turkish suffixes stay with their apostrophe.
constexpr std::string_view kUfakzeka = WORD R"(|\p{N}|)" SIGNS R"([\r\n]*|)" LINES "|" SPACES;
constexpr std::string_view kSeedCoder =
    CONTRACTION "|" WORD R"(|\p{N}| ?[^)" WS R"(\p{L}\p{N}\r\n]+|)" LINES "|" SPACES;
// A piece may be several words.
constexpr std::string_view kExaoneMoe = CONTRACTION
    R"(|[^\r\n\p{L}\p{N}]?\p{L}(?:[\p{L}\p{M}]++| \p{L})*+|\p{N}|)" SIGNS R"([\r\n/]?|)" LINES "|" SPACES;
// White space in pieces of a power of two. What follows such a piece is white space that holds no line end.
constexpr std::string_view kJais2 =
    CONTRACTION "|" WORD R"(|\p{N}{1,3}|)" SIGNS R"([\r\n]*|(?<![)" INLINE_WS "])" LINES
#define RUN(LENGTH) "|[" WS "]{" LENGTH "}(?![^" WS "])"
        RUN("512") RUN("256") RUN("128") RUN("64") RUN("32") RUN("16") RUN("8") RUN("4") RUN("1,2")
#undef RUN
            "|[" WS "]";

// OpenAI's o200k and its relatives: words end where case says so. A word is letters of class UPPER and then
// of class LOWER, at least one of the latter or, failing that, of the former; most scripts' letters are both.
#define CASED(UPPER, LOWER, END) \
    R"([^\r\n\p{L}\p{N}]?)" UPPER "*" LOWER "+" END R"(|[^\r\n\p{L}\p{N}]?)" UPPER "+" LOWER "*" END
#define UPPER R"([\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}])"
#define LOWER R"([\p{Ll}\p{Lm}\p{Lo}\p{M}])"
#define O200K(DIGITS) \
    CASED(UPPER, LOWER, CONTRACTION "?") "|" DIGITS "|" SIGNS R"([\r\n/]*|)" LINES "|" SPACES
constexpr std::string_view kO200k = O200K(R"(\p{N}{1,3})");
constexpr std::string_view kYoutu = O200K(R"(\p{N})");
constexpr std::string_view kTekken =
    CASED(UPPER, LOWER, "") R"(|\p{N}|)" SIGNS R"([\r\n/]*|)" LINES "|" SPACES;
#undef O200K
#undef UPPER
#undef LOWER
// The same classes without ideographs, which are pieces of their own.
#define UPPER R"([^\p{Ll}\p{N}\p{P}\p{S}\p{Z}\p{C}\p{sc:Han}])"
#define LOWER R"([^\p{Lu}\p{Lt}\p{N}\p{P}\p{S}\p{Z}\p{C}\p{sc:Han}])"
constexpr std::string_view kKimiK2 = R"(\p{sc:Han}+|)" CASED(
    UPPER, LOWER, CONTRACTION "?") R"(|\p{N}{1,3}|)" SIGNS R"([\r\n]*|)" LINES "|" SPACES;
#undef UPPER
#undef LOWER
#undef CASED

// Korean, full-width punctuation, Bopomofo, Chinese and Japanese.
constexpr std::string_view kEastAsian =
    R"([\x{AC00}-\x{D7A3}\x{3131}-\x{318E}]+)"
    R"(|[\x{FF01}\x{2026}\x{201C}\x{201D}\x{2018}\x{2019}\x{2014}\x{FF1A}\x{FF1B}\x{FF0C}\x{3001}-\x{303F})"
    R"(\x{FE30}-\x{FE4F}]+|[\x{3105}-\x{312F}]+|)" CJK;

// Numbers in groups of three from the right: first the numbers that end at a word's boundary, then each from
// its beginning. `(?!^)\G` is the end of the match before.
constexpr std::string_view kWholeNumber = R"((?<![\p{Nd}])\p{Nd}++\b)";
constexpr std::string_view kGroupsOfThree =
    R"(^\p{Nd}{1,2}(?=(?:\p{Nd}{3})*+\z)|(?:^(?=\p{Nd}++\z)|(?!^)\G)\p{Nd}{3})";

// What a sentence's punctuation does not interrupt.
constexpr std::string_view kBloom =
    " ?[^(" WS R"(|.,!?\x{2026}\x{3002}\x{FF0C}\x{3001}\x{0964}\x{06D4}\x{060C})]+)";

// Upper, lower and title case letters of Unicode 11, by range.
#define CASED_LETTERS                                                                                      \
    R"(A-Za-z\x{B5}\x{C0}-\x{D6}\x{D8}-\x{F6}\x{F8}-\x{1BA}\x{1BC}-\x{1BF}\x{1C4}-\x{293}\x{295}-\x{2AF})" \
    R"(\x{370}-\x{373}\x{376}\x{377}\x{37B}-\x{37D}\x{37F}\x{386}\x{388}-\x{38A}\x{38C}\x{38E}-\x{3A1})"   \
    R"(\x{3A3}-\x{3F5}\x{3F7}-\x{481}\x{48A}-\x{52F}\x{531}-\x{556}\x{10A0}-\x{10C5}\x{13A0}-\x{13F5})"    \
    R"(\x{13F8}-\x{13FD}\x{1C90}-\x{1CBA}\x{1CBD}-\x{1CBF}\x{1D00}-\x{1D2B}\x{1D6B}-\x{1D77})"             \
    R"(\x{1D79}-\x{1D9A}\x{1E00}-\x{1F15}\x{1F18}-\x{1F1D}\x{1F20}-\x{1F45}\x{1F48}-\x{1F4D})"             \
    R"(\x{1F50}-\x{1F57}\x{1F59}\x{1F5B}\x{1F5D}\x{1F5F}-\x{1F7D}\x{1F80}-\x{1FB4}\x{1FB6}-\x{1FBC})"      \
    R"(\x{1FBE}\x{1FC2}-\x{1FC4}\x{1FC6}-\x{1FCC}\x{1FD0}-\x{1FD3}\x{1FD6}-\x{1FDB}\x{1FE0}-\x{1FEC})"     \
    R"(\x{1FF2}-\x{1FF4}\x{1FF6}-\x{1FFC}\x{2102}\x{2107}\x{210A}-\x{2113}\x{2115}\x{2119}-\x{211D})"      \
    R"(\x{2124}\x{2126}\x{2128}\x{212A}-\x{212D}\x{212F}-\x{2134}\x{2139}\x{213C}-\x{213F})"               \
    R"(\x{2145}-\x{2149}\x{214E}\x{2183}\x{2184}\x{2C00}-\x{2C7B}\x{2C7E}-\x{2CE4}\x{2CEB}-\x{2CEE})"      \
    R"(\x{2CF2}\x{2CF3}\x{A640}-\x{A66D}\x{A680}-\x{A69B}\x{A722}-\x{A76F}\x{A771}-\x{A787})"              \
    R"(\x{A78B}-\x{A78E}\x{AB70}-\x{ABBF}\x{FB00}-\x{FB06}\x{FB13}-\x{FB17}\x{FF21}-\x{FF3A})"             \
    R"(\x{FF41}-\x{FF5A}\x{10400}-\x{1044F}\x{104B0}-\x{104D3}\x{104D8}-\x{104FB}\x{10C80}-\x{10CB2})"     \
    R"(\x{10CC0}-\x{10CF2}\x{118A0}-\x{118DF}\x{1E900}-\x{1E943})"

const std::vector<PreRule>& rules() {
    static const std::vector<PreRule> table = {
        {.names = {"default", ""}, .patterns = {R"([\p{P}$+<=>^~|]+)", kGpt2, R"(\p{N}+)", kThreeDigits}},
        {.names = {"gpt-2", "phi-2", "mpt", "olmo", "jais", "trillion", "granite-docling", "gigachat",
                   "mellum", "a.x-4.0", "exaone4"},
         .patterns = {kGpt2}},
        {.names = {"smollm", "starcoder", "refact", "command-r", "codeshell", "exaone", "minerva-7b",
                   "mellum2"},
         .patterns = {kDigit, kGpt2}},
        {.names = {"falcon"}, .patterns = {R"([\p{P}$+<=>^~|`]+)", kGpt2, kThreeDigits}},
        {.names = {"llama-bpe", "llama3", "llama-v3", "falcon3", "falcon-h1", "pixtral", "lfm2", "midm-2.0"},
         .patterns = {kLlama3},
         .whole_tokens = true,
         .adds_bos = true},
        {.names = {"dbrx", "smaug-bpe", "chatglm-bpe", "glm4"}, .patterns = {kLlama3}},
        {.names = {"qwen2", "deepseek-r1-qwen", "stablelm2", "megrez", "hunyuan", "grok-2", "solar-open",
                   "kormo", "bailingmoe", "bailingmoe2", "llada-moe"},
         .patterns = {kQwen2}},
        {.names = {"qwen35"}, .patterns = {kQwen35}},
        {.names = {"laguna"}, .patterns = {R"([^\n]+|[\n]+)", kQwen2}},
        {.names = {"minicpm5"}, .patterns = {R"(\p{N}{1,3})", kMiniCpm5}, .whole_tokens = true},
        {.names = {"ufakzeka"}, .patterns = {kUfakzeka}},
        {.names = {"seed-coder"}, .patterns = {kSeedCoder}},
        {.names = {"exaone-moe"}, .patterns = {kExaoneMoe}},
        {.names = {"jais-2"}, .patterns = {kJais2}},
        {.names = {"gpt-4o", "llama4", "kanana2", "minimax-m2", "talkie"}, .patterns = {kO200k}},
        {.names = {"tiny_aya", "cohere2moe"}, .patterns = {kWholeNumber, kGroupsOfThree, kO200k}},
        {.names = {"youtu"}, .patterns = {kEastAsian, kYoutu}, .whole_tokens = true},
        {.names = {"tekken"}, .patterns = {kTekken}, .whole_tokens = true, .adds_bos = true},
        {.names = {"kimi-k2"}, .patterns = {kKimiK2}},
        {.names = {"deepseek-llm"},
         .patterns = {R"([\r\n])", "[" WS "]?[" CASED_LETTERS "]+",
                      "[" WS
                      R"(]?[!-/:-~\x{FF01}-\x{FF0F}\x{FF1A}-\x{FF5E}\x{2018}-\x{201F}\x{3000}-\x{3002}]+)",
                      "(?<![" WS "])[" WS R"(]++\z)", R"([\x{0800}-\x{9FA5}\x{AC00}-\x{D7FF}]+)",
                      R"(\p{N}+)"}},
        {.names = {"deepseek-coder"},
         .patterns = {R"([\r\n])", "[" WS R"(]?\p{L}+)", "[" WS R"(]?\p{P}+)",
                      R"([\x{0800}-\x{9FA5}\x{AC00}-\x{D7FF}]+)", kDigit}},
        {.names = {"deepseek-v3", "hunyuan-dense", "joyai-llm", "hy_v4"},
         .patterns =
             {R"(\p{N}{1,3})", CJK,
              R"([!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+)"
              R"(| ?[\p{P}\p{S}]+[\r\n]*|)" LINES "|" SPACES}},
        {.names = {"bloom", "poro-chat", "gpt3-finnish"}, .patterns = {kBloom}},
        {.names = {"viking"}, .patterns = {kBloom, kDigit}},
    };
    return table;
}

#undef WS
#undef INLINE_WS
#undef CONTRACTION
#undef WORD
#undef SIGNS
#undef LINES
#undef SPACES
#undef CJK
#undef CASED_LETTERS

std::string known_names() {
    std::string known;
    for (const PreRule& rule : pre_rules())
        for (const std::string_view name : rule.names)
            if (!name.empty()) known.append(known.empty() ? "" : ", ").append(name);
    return known;
}

}  // namespace

std::span<const PreRule> pre_rules() { return rules(); }

const PreRule& find_pre_rule(std::string_view name) {
    for (const PreRule& rule : pre_rules())
        if (std::ranges::find(rule.names, name) != rule.names.end()) return rule;
    throw Error(fmt::format("pre-tokenizer {} is unknown: choose one with --pre NAME, of {}", quote(name),
                            known_names()));
}

}  // namespace plait::text

#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace plait::text {

// What a token is for, with GGUF's numbers (`tokenizer.ggml.token_type`).
enum class TokenType : int32_t {
    Normal = 1,
    Unknown = 2,      // stands for what the vocabulary cannot spell
    Control = 3,      // structure (turns, begin, end): read from text and shown only where the caller says so
    UserDefined = 4,  // matched in any text as it is written, before all else
    Unused = 5,       // padding of the vocabulary; where it is text after all, like Normal
    Byte = 6,         // one byte of a SentencePiece vocabulary; like Normal in byte-level BPE
};

// The ids that a model file names.
struct SpecialIds {
    std::optional<int32_t> bos;  // begin of sequence
    std::optional<int32_t> eos;  // end of sequence
    std::optional<int32_t> eot;  // end of turn
    std::optional<int32_t> eom;  // end of message (a turn that waits for a tool)
    std::optional<int32_t> unknown;
};

// A tokenizer as a model file states it, unchecked: Tokenizer's constructor checks it. The views belong to
// whoever filled it in (the mapped file) and are not needed once the Tokenizer exists.
struct VocabSpec {
    std::string_view model;  // algorithm: "gpt2" is byte-level BPE, "llama" SentencePiece's BPE
    std::string_view pre;    // name of byte-level BPE's pre-tokenizer; empty where the file has none
    std::vector<std::string_view> tokens;
    std::vector<int32_t> token_types;      // TokenType's numbers, one per token; none: every token is normal
    std::vector<std::string_view> merges;  // "left right", best first
    std::vector<float> scores;             // one per token; byte-level BPE has no use for them and no need
    SpecialIds ids;
    std::optional<bool> add_bos;           // unset: as the models of this algorithm or pre-tokenizer do
    std::optional<bool> add_eos;           // unset: no
    std::optional<bool> add_space_prefix;  // SentencePiece's, unset: yes; byte-level BPE has no use for it
    // White space after a special token is part of it (`rstrip` of tokenizer_config.json, which GGUF leaves
    // out). Not after the tokens that begin and pad a text: <unk>, <s>, <|endoftext|>.
    bool special_tokens_strip = false;
};

}  // namespace plait::text

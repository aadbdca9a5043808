#pragma once

#include <span>
#include <string_view>
#include <vector>

namespace plait::text {

// How one family of byte-level vocabularies cuts text into the pieces that merges never cross.
struct PreRule {
    // `tokenizer.ggml.pre` of the files it serves; the first is the one to show. An empty name is a file
    // without one.
    std::vector<std::string_view> names;
    // PCRE2 patterns (UTF, UCP), applied one after the other: each cuts every piece of the one before into
    // its matches and what lies between. A pattern's steps must grow no faster than the text (see
    // PreTokenizer).
    std::vector<std::string_view> patterns;
    // A piece that is a token as it stands is taken whole, whether or not merges lead there (`ignore_merges`
    // of tokenizer.json).
    bool whole_tokens = false;
    // These models expect a begin token, though their files may not say so.
    bool adds_bos = false;
};

// All of them. Pure; they live forever.
std::span<const PreRule> pre_rules();

// Throws Error for an unknown name: it lists the known ones and the flag that overrides.
const PreRule& find_pre_rule(std::string_view name);

}  // namespace plait::text

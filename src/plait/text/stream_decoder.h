#pragma once

#include <cstdint>
#include <string>

#include "plait/text/tokenizer.h"

namespace plait::text {

// Decodes ids one at a time for a reader who must never see half a character: a token may hold any bytes, so
// what may still become a character is held back until its rest arrives. Everything that comes out is UTF-8;
// bytes that are no character come out as U+FFFD, one per maximal subpart (see utf8.h). The ids go on from
// others, those of a prompt: all output together is decode() of them as such (DecodeOptions::continues), with
// such bytes replaced. For one thread; the tokenizer must outlive it.
class StreamDecoder {
  public:
    explicit StreamDecoder(const Tokenizer& tokenizer, DecodeOptions options = {})
        : tokenizer_(tokenizer), options_(options) {}

    // The characters that `id` completes: often one or more, or none. Throws Error for an id that names no
    // token.
    std::string push(int32_t id);
    // What is still held back, as one U+FFFD, or nothing; ready for another text afterwards.
    std::string finish();

  private:
    const Tokenizer& tokenizer_;
    DecodeOptions options_;
    std::string pending_;  // the start of a character, at most 3 bytes between calls
};

}  // namespace plait::text

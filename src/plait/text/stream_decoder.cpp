#include "plait/text/stream_decoder.h"

#include "plait/base/utf8.h"

namespace plait::text {

std::string StreamDecoder::push(int32_t id) {
    pending_ += tokenizer_.piece(id, options_);
    return take_characters(pending_);
}

std::string StreamDecoder::finish() {
    const bool incomplete = !pending_.empty();
    pending_.clear();
    return incomplete ? std::string(kReplacementCharacter) : std::string();
}

}  // namespace plait::text

#pragma once

#include "plait/gguf/file.h"
#include "plait/text/vocab_spec.h"

namespace plait::text {

// The `tokenizer.ggml.*` keys of a model file (GGUF specification, "Tokenizer"), as they stand; only their
// types are checked. The result views the file's bytes and must not outlive them. Throws Error when the file
// has no `tokenizer.ggml.model`, or a key has the wrong type. Thread-safe.
VocabSpec vocab_from_gguf(const gguf::File& file);

}  // namespace plait::text

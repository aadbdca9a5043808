#pragma once

#include "plait/models/blocks/builder.h"

namespace plait::models {

// The two ends of a language model: from ids to vectors, from vectors to a logit per id. Tensors token_embd
// and output, both [vocabulary, width]; a file without the latter ties them, and one stored weight serves
// both ends.
struct Vocabulary {
    WeightIndex embedding = 0;
    WeightIndex output = 0;

    bool tied() const { return embedding == output; }
};

struct VocabularySize {
    int64_t vocabulary = 0;
    int64_t width = 0;
};

Vocabulary declare_vocabulary(WeightTable& table, const VocabularySize& size);

// -> F32 [tokens, width].
ir::ValueId embed_tokens(Builder& builder, const Vocabulary& vocabulary);
// Only the rows whose logits are wanted: F32 [tokens, width] -> F32 [outputs, width].
ir::ValueId wanted_rows(Builder& builder, ir::ValueId x);
// F32 [outputs, width] -> F32 [outputs, vocabulary].
ir::ValueId logits(Builder& builder, const Vocabulary& vocabulary, ir::ValueId x);

}  // namespace plait::models

#include "plait/models/blocks/vocabulary.h"

namespace plait::models {
namespace {

constexpr const char* kEmbedding = "token_embd.weight";
constexpr const char* kOutput = "output.weight";

}  // namespace

Vocabulary declare_vocabulary(WeightTable& table, const VocabularySize& size) {
    const ir::Shape shape{size.vocabulary, size.width};
    if (!table.contains(kOutput)) {
        const WeightIndex both = table.require(kEmbedding, shape, ir::Role::tied_embedding);
        return {.embedding = both, .output = both};
    }
    return {.embedding = table.require(kEmbedding, shape, ir::Role::embedding),
            .output = table.require(kOutput, shape, ir::Role::vocabulary)};
}

ir::ValueId embed_tokens(Builder& builder, const Vocabulary& vocabulary) {
    return builder.add(ir::Embed{}, builder.node_name(vocabulary.embedding),
                       {builder.weight(vocabulary.embedding), builder.tokens()});
}

ir::ValueId wanted_rows(Builder& builder, ir::ValueId x) {
    return builder.add(ir::GatherRows{}, "wanted_rows", {x, builder.output_rows()});
}

ir::ValueId logits(Builder& builder, const Vocabulary& vocabulary, ir::ValueId x) {
    return builder.add(ir::Matmul{}, "output", {x, builder.weight(vocabulary.output)});
}

}  // namespace plait::models

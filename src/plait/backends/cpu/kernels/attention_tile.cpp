#include "plait/backends/cpu/kernels/attention_tile.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "plait/backends/cpu/kernels/by_format.h"

namespace plait::backends::cpu {
namespace {

using simd::kKeyBlock;
using simd::kKeyChunk;
using simd::kValueBlock;
using simd::RowRange;

constexpr float kMinusInfinity = -std::numeric_limits<float>::infinity();
// Rows of a tile share what it costs to unpack keys and values; their scores should stay in the second cache.
constexpr int64_t kTileRows = 96;
// From so many rows on it pays to unpack.
constexpr int64_t kUnpackRows = 12;
constexpr int64_t kAskAhead = 8 * 1024;
// As many rows are worked on as the memory brings in the meantime without a queue.
constexpr int64_t kAskRows = 16;
constexpr int64_t kLineBytes = 64;

int64_t round_up(int64_t n, int64_t multiple) { return (n + multiple - 1) / multiple * multiple; }

// What a sum relative to `from` is multiplied with to be relative to `to`, which is no less.
float shrink(float from, float to) { return from == to ? 1.0f : std::exp(from - to); }

}  // namespace

Chunks chunks_of(const ir::Attention& op, int64_t position) {
    return {op.first_position(position) / kKeyChunk, position / kKeyChunk + 1};
}

AttentionSizes::AttentionSizes(const ir::Attention& op, std::span<const ir::TensorDesc> inputs)
    : groups_(op.head_groups(inputs[0].shape[1], inputs[1].shape[1])),
      kv_heads_(inputs[1].shape[1]),
      tile_tokens_(std::clamp<int64_t>(kTileRows / std::max<int64_t>(1, groups_.largest()), 1,
                                       std::max<int64_t>(1, inputs[0].shape[0]))),
      key_width_(round_up(inputs[1].shape[3], 8)),
      value_stride_(round_up(inputs[2].shape[3], 32)) {}

int64_t AttentionSizes::workspace_floats() const {
    const int64_t rows = tile_rows();
    const int64_t block = std::max(kKeyBlock * key_width_, kValueBlock * value_stride_);
    const int64_t ranges = 2 * 2 * rows;
    return rows * (key_width_ + kKeyChunk + 2) + block + partial_floats(rows) + ranges;
}

Partial AttentionSizes::partial_at(float* floats, int64_t rows) const {
    return {.maxima = floats, .sums = floats + rows, .values = floats + 2 * rows};
}

AttentionTile::AttentionTile(const KernelCall& call, const AttentionSizes& sizes, const Place& place,
                             std::byte* workspace)
    : call_(call),
      op_(call.as<ir::Attention>()),
      simd_(*call.simd),
      sizes_(sizes),
      place_(place),
      keys_(call.in(1)),
      values_(call.in(2)),
      pages_(
          call.step().groups[static_cast<size_t>(op_.group)].pages_of(static_cast<size_t>(place.sequence))),
      first_query_(sizes.groups().begin(place.kv_head)),
      group_(sizes.groups().count(place.kv_head)),
      rows_(group_ * place.tokens),
      unpacked_(rows_ >= kUnpackRows) {
    auto* floats = reinterpret_cast<float*>(workspace);
    const auto take = [&](int64_t count) {
        float* taken = floats;
        floats += count;
        return taken;
    };
    scores_ = take(rows_ * kKeyChunk);
    unpacked_rows_ = take(std::max(kKeyBlock * sizes.key_width(), kValueBlock * sizes.value_stride()));
    queries_ = take(rows_ * sizes.key_width());
    partial_ = take(sizes.partial_floats(rows_));
    maxima_ = take(rows_);
    sums_ = take(rows_);
    ranges_ = reinterpret_cast<RowRange*>(take(2 * rows_));
    block_ranges_ = reinterpret_cast<RowRange*>(take(2 * rows_));
    chunks_ = {std::numeric_limits<int64_t>::max(), 0};
    for (int64_t token = 0; token < place.tokens; ++token) {
        const Chunks chunks = chunks_of(op_, position(token));
        chunks_ = {std::min(chunks_.begin, chunks.begin), std::max(chunks_.end, chunks.end)};
    }
    read_queries();
}

int64_t AttentionTile::position(int64_t token) const {
    return call_.step().positions[static_cast<size_t>(place_.first_token + token)];
}

float* AttentionTile::output_row(int64_t row) const {
    const int64_t token = place_.first_token + row / group_;
    const int64_t head = first_query_ + row % group_;
    return call_.out().as<float>() + (token * call_.in(0).desc.shape[1] + head) * values_.width();
}

// Queries take the scale of the scores, and zeros up to whole vectors.
void AttentionTile::read_queries() {
    const int64_t width = keys_.width();
    for (int64_t row = 0; row < rows_; ++row) {
        const int64_t token = place_.first_token + row / group_;
        const int64_t head = first_query_ + row % group_;
        const float* query = call_.in(0).as<float>() + (token * call_.in(0).desc.shape[1] + head) * width;
        if (unpacked_) {
            for (int64_t i = 0; i < width; ++i) queries_[i * rows_ + row] = query[i] * op_.scale;
        } else {
            simd_.scale(query, queries_ + row * width, width, op_.scale);
        }
    }
    if (unpacked_) std::fill(queries_ + width * rows_, queries_ + sizes_.key_width() * rows_, 0.0f);
}

void AttentionTile::run() {
    begin();
    const Partial partial = sizes_.partial_at(partial_, rows_);
    for (int64_t chunk = chunks_.begin; chunk < chunks_.end; ++chunk) {
        compute(chunk, partial);
        add(chunk, partial);
    }
    end();
}

// Which positions of the chunk each row reads.
void AttentionTile::set_ranges(int64_t chunk) {
    const int64_t start = chunk * kKeyChunk;
    span_ = {kKeyChunk, 0};
    for (int64_t token = 0; token < place_.tokens; ++token) {
        const int64_t own = position(token);
        const int64_t begin = std::max<int64_t>(op_.first_position(own) - start, 0);
        const int64_t end = std::clamp<int64_t>(own + 1 - start, 0, kKeyChunk);
        const RowRange range{static_cast<int32_t>(std::min(begin, end)), static_cast<int32_t>(end)};
        std::fill_n(ranges_ + token * group_, group_, range);
        if (range.begin == range.end) continue;
        span_ = {std::min(span_.begin, range.begin), std::max(span_.end, range.end)};
    }
}

void AttentionTile::compute(int64_t chunk, const Partial& out) {
    set_ranges(chunk);
    if (unpacked_)
        score_unpacked(chunk);
    else
        score(chunk);
    soften(chunk, out);
    std::fill_n(out.values, rows_ * sizes_.value_stride(), 0.0f);
    if (unpacked_)
        weigh_unpacked(chunk, out);
    else
        weigh(chunk, out);
}

// Calls fn(Stretch) for positions [begin, end) of a chunk, page by page, at most `most` at a time.
template <class Fn>
void AttentionTile::for_stretches(int64_t chunk, int64_t begin, int64_t end, int64_t most,
                                  const Fn& fn) const {
    if (begin >= end) return;
    const int64_t page_tokens = keys_.page_tokens();
    int64_t page = (chunk * kKeyChunk + begin) / page_tokens;
    int64_t offset = (chunk * kKeyChunk + begin) % page_tokens;
    while (true) {
        const int64_t count = std::min({page_tokens - offset, end - begin, most});
        fn(Stretch{pages_.at(page), offset, begin, begin + count});
        begin += count;
        if (begin == end) return;
        offset += count;
        if (offset == page_tokens) {
            offset = 0;
            ++page;
        }
    }
}

// --- asking for what comes next
//
// A page holds a few KiB of one head, too little for the processor to foresee what follows. So few queries
// wait for the memory unless it is asked in time: for keys, then the same positions' values, then the next
// chunk's keys, each kAskAhead before its turn.

// Of positions of the sequence.
void AttentionTile::ask(const Pool& pool, int64_t begin, int64_t end) const {
    for_stretches(
        0, begin, std::min(end, position(place_.tokens - 1) + 1), end - begin, [&](const Stretch& stretch) {
            const std::byte* line = pool.row(stretch.page, place_.kv_head, stretch.offset);
            const std::byte* behind = line + (stretch.end - stretch.begin) * pool.row_bytes();
            for (; line < behind; line += kLineBytes) {
                __builtin_prefetch(line, 0, 0);
                asm volatile("");  // gcc takes a function that only prefetches for one that does nothing
            }
        });
}

// What comes kAskAhead behind a stretch of the pool; behind the chunk's last row that is the next pool's,
// from position `next_begin` of the sequence on.
void AttentionTile::ask_behind(const Pool& pool, int64_t chunk, const Stretch& stretch, const Pool& next,
                               int64_t next_begin) const {
    const int64_t start = chunk * kKeyChunk;
    const int64_t ahead = kAskAhead / pool.row_bytes();
    const int64_t begin = stretch.begin + ahead, end = stretch.end + ahead;
    ask(pool, start + begin, start + std::min<int64_t>(end, span_.end));
    ask(next, next_begin + std::max<int64_t>(begin - span_.end, 0), next_begin + end - span_.end);
}

void AttentionTile::score(int64_t chunk) {
    const auto multiply = by_format(simd_.matmul_f32, keys_.type());
    for_stretches(chunk, span_.begin, span_.end, kAskRows, [&](const Stretch& stretch) {
        ask_behind(keys_, chunk, stretch, values_, chunk * kKeyChunk + span_.begin);
        multiply({
            .weights = keys_.row(stretch.page, place_.kv_head, stretch.offset),
            .row_bytes = keys_.row_bytes(),
            .activations = queries_,
            .activation_bytes = keys_.width() * static_cast<int64_t>(sizeof(float)),
            .out = scores_ + stretch.begin,
            .out_stride = kKeyChunk,
            .rows = stretch.end - stretch.begin,
            .tokens = rows_,
            .k = keys_.width(),
        });
    });
}

void AttentionTile::score_unpacked(int64_t chunk) {
    const auto unpack = by_format(simd_.unpack_keys, keys_.type());
    for (int64_t block = span_.begin / kKeyBlock * kKeyBlock; block < span_.end; block += kKeyBlock) {
        const int64_t begin = std::max<int64_t>(block, span_.begin);
        const int64_t end = std::min<int64_t>(block + kKeyBlock, span_.end);
        for_stretches(chunk, begin, end, kKeyBlock, [&](const Stretch& stretch) {
            unpack({.rows_begin = keys_.row(stretch.page, place_.kv_head, stretch.offset),
                    .row_bytes = keys_.row_bytes(),
                    .out = unpacked_rows_ + (stretch.begin - block),
                    .rows = stretch.end - stretch.begin,
                    .width = keys_.width()});
        });
        simd_.attention_scores({.keys = unpacked_rows_,
                                .queries = queries_,
                                .query_stride = rows_,
                                .out = scores_ + block,
                                .rows = rows_,
                                .k = sizes_.key_width()});
    }
}

// Products become scores, and scores weights relative to the row's largest.
void AttentionTile::soften(int64_t chunk, const Partial& out) {
    for (int64_t row = 0; row < rows_; ++row) {
        const RowRange range = ranges_[row];
        const int64_t count = range.end - range.begin;
        if (count == 0) continue;
        float* scores = scores_ + row * kKeyChunk + range.begin;
        if (op_.soft_cap > 0.0f) simd_.soft_cap(scores, scores, count, op_.soft_cap);
        if (op_.alibi.max_bias > 0.0f) {
            const int64_t distance = chunk * kKeyChunk + range.begin - position(row / group_);
            simd_.add_ramp(scores, count, static_cast<float>(distance),
                           op_.alibi.slope(op_.first_query_head + first_query_ + row % group_));
        }
        out.maxima[row] =
            simd_.attention_weights(scores_ + row * kKeyChunk, range.begin, range.end, out.sums + row);
    }
}

// Rows of one token read the same positions.
void AttentionTile::weigh(int64_t chunk, const Partial& out) {
    const auto add_rows = by_format(simd_.weighted_rows, values_.type());
    for (int64_t row = 0; row < rows_; row += group_) {
        for_stretches(chunk, ranges_[row].begin, ranges_[row].end, kAskRows, [&](const Stretch& stretch) {
            ask_behind(values_, chunk, stretch, keys_, chunk * kKeyChunk + span_.end);
            add_rows({
                .rows_begin = values_.row(stretch.page, place_.kv_head, stretch.offset),
                .row_bytes = values_.row_bytes(),
                .weights = scores_ + row * kKeyChunk + stretch.begin,
                .weights_stride = kKeyChunk,
                .out = out.values + row * sizes_.value_stride(),
                .out_stride = sizes_.value_stride(),
                .rows = stretch.end - stretch.begin,
                .queries = group_,
                .width = values_.width(),
            });
        });
    }
}

void AttentionTile::weigh_unpacked(int64_t chunk, const Partial& out) {
    const auto unpack = by_format(simd_.unpack_values, values_.type());
    for (int64_t block = span_.begin / kValueBlock * kValueBlock; block < span_.end; block += kValueBlock) {
        const int64_t begin = std::max<int64_t>(block, span_.begin);
        const int64_t end = std::min<int64_t>(block + kValueBlock, span_.end);
        for_stretches(chunk, begin, end, kValueBlock, [&](const Stretch& stretch) {
            unpack({.rows_begin = values_.row(stretch.page, place_.kv_head, stretch.offset),
                    .row_bytes = values_.row_bytes(),
                    .out = unpacked_rows_ + (stretch.begin - block) * 32,
                    .rows = stretch.end - stretch.begin,
                    .width = values_.width()});
        });
        for (int64_t row = 0; row < rows_; ++row) {
            const auto within = [&](int64_t place) {
                return static_cast<int32_t>(std::clamp<int64_t>(place - block, 0, kValueBlock));
            };
            block_ranges_[row] = {within(ranges_[row].begin), within(ranges_[row].end)};
        }
        simd_.attention_weigh({.values = unpacked_rows_,
                               .weights = scores_ + block,
                               .ranges = block_ranges_,
                               .out = out.values,
                               .out_stride = sizes_.value_stride(),
                               .rows = rows_,
                               .width = sizes_.value_stride()});
    }
}

// A sink is a score that is there from the beginning and adds no value.
void AttentionTile::begin() {
    const float* sinks = call_.operands.inputs.size() == 4 ? call_.in(3).as<float>() + first_query_ : nullptr;
    for (int64_t row = 0; row < rows_; ++row) {
        maxima_[row] = sinks == nullptr ? kMinusInfinity : sinks[row % group_];
        sums_[row] = sinks == nullptr ? 0.0f : 1.0f;
        std::fill_n(output_row(row), values_.width(), 0.0f);
    }
}

void AttentionTile::add(int64_t chunk, const Partial& partial) {
    for (int64_t row = 0; row < rows_; ++row) {
        const Chunks chunks = chunks_of(op_, position(row / group_));
        if (chunk < chunks.begin || chunk >= chunks.end) continue;
        const float maximum = std::max(maxima_[row], partial.maxima[row]);
        const float before = shrink(maxima_[row], maximum), now = shrink(partial.maxima[row], maximum);
        float* result = output_row(row);
        float* values = partial.values + row * sizes_.value_stride();
        if (before != 1.0f) simd_.scale(result, result, values_.width(), before);
        if (now != 1.0f) simd_.scale(values, values, values_.width(), now);
        simd_.add(result, values, result, values_.width());
        sums_[row] = sums_[row] * before + partial.sums[row] * now;
        maxima_[row] = maximum;
    }
}

void AttentionTile::end() {
    for (int64_t row = 0; row < rows_; ++row) {
        float* result = output_row(row);
        if (sums_[row] > 0) simd_.scale(result, result, values_.width(), 1.0f / sums_[row]);
    }
    const int64_t length = group_ * values_.width();
    for (int64_t row = 0; row < rows_; row += group_)
        call_.finish(output_row(row) - call_.out().as<float>(), length);
}

}  // namespace plait::backends::cpu

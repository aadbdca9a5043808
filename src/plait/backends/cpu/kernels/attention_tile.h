#pragma once

#include <array>

#include "plait/backends/cpu/kernel.h"

// The inner part of attention: query rows of one sequence that read the same key/value head. A row is one
// query head of one token.
//
// The past is cut into chunks at fixed positions, multiples of simd::kKeyChunk. A row's share of a chunk is a
// Partial: the largest score, the sum of the weights relative to it, and the sum of the values so weighted.
// Its result joins the partials from the first chunk to the last. Whoever computes a partial, with whatever
// rows beside it and wherever the pages lie, computes the same bits; so does the way it is computed: few rows
// multiply the cached formats as they lie, many unpack them once.
namespace plait::backends::cpu {

// The pool of one state tensor: [pages, heads, page_tokens, width].
class Pool {
  public:
    explicit Pool(const ir::Operand& operand)
        : data_(operand.data),
          type_(operand.desc.type),
          heads_(operand.desc.shape[1]),
          page_tokens_(operand.desc.shape[2]),
          width_(operand.desc.shape[3]),
          row_bytes_(operand.desc.row_bytes()) {}

    ir::DType type() const { return type_; }
    int64_t heads() const { return heads_; }
    int64_t page_tokens() const { return page_tokens_; }
    int64_t width() const { return width_; }
    int64_t row_bytes() const { return row_bytes_; }
    std::byte* row(int64_t page, int64_t head, int64_t offset) const {
        return data_ + ((page * heads_ + head) * page_tokens_ + offset) * row_bytes_;
    }

  private:
    std::byte* const data_;
    const ir::DType type_;
    const int64_t heads_, page_tokens_, width_, row_bytes_;
};

// Of rows 0.. of a tile; `values` of row r begin at r * value_stride.
struct Partial {
    float* maxima;
    float* sums;
    float* values;
};

struct Chunks {
    int64_t begin;
    int64_t end;
    int64_t count() const { return end - begin; }
};

// Chunks with a position that a token of the op at `position` reads.
Chunks chunks_of(const ir::Attention& op, int64_t position);

// Sizes that follow from the op and its operands.
class AttentionSizes {
  public:
    AttentionSizes(const ir::Attention& op, std::span<const ir::TensorDesc> inputs);

    const ir::HeadGroups& groups() const { return groups_; }
    int64_t kv_heads() const { return kv_heads_; }
    int64_t tile_tokens() const { return tile_tokens_; }  // as many as a tile may have
    int64_t tile_rows() const { return tile_tokens_ * groups_.largest(); }
    int64_t key_width() const { return key_width_; }        // rounded up to 8
    int64_t value_stride() const { return value_stride_; }  // rounded up to 32
    int64_t workspace_floats() const;
    // Of a Partial of `rows` rows.
    int64_t partial_floats(int64_t rows) const { return rows * (2 + value_stride_); }
    Partial partial_at(float* floats, int64_t rows) const;

  private:
    ir::HeadGroups groups_;
    int64_t kv_heads_;
    int64_t tile_tokens_;
    int64_t key_width_;
    int64_t value_stride_;
};

class AttentionTile {
  public:
    struct Place {
        int64_t sequence;
        int64_t first_token;  // of the step
        int64_t tokens;       // all of the sequence
        int64_t kv_head;
    };

    // `workspace` has workspace_floats(). Nothing is computed yet.
    AttentionTile(const KernelCall& call, const AttentionSizes& sizes, const Place& place,
                  std::byte* workspace);

    // The whole of it: reads all chunks, writes the output rows.
    void run();

    // The same in parts. Each row's share of one chunk; rows that read nothing there are left out.
    void compute(int64_t chunk, const Partial& out);
    // Begins a result, adds partials in order of chunks, ends it.
    void begin();
    void add(int64_t chunk, const Partial& partial);
    void end();

    Chunks chunks() const { return chunks_; }  // that any row reads
    int64_t rows() const { return rows_; }

  private:
    // Keys that follow each other in one page: positions [begin, end) of the chunk.
    struct Stretch {
        int64_t page;
        int64_t offset;  // in the page
        int64_t begin;
        int64_t end;
    };

    int64_t position(int64_t token) const;
    float* output_row(int64_t row) const;
    void read_queries();
    void set_ranges(int64_t chunk);
    template <class Fn>
    void for_stretches(int64_t chunk, int64_t begin, int64_t end, int64_t most, const Fn& fn) const;
    void ask(const Pool& pool, int64_t begin, int64_t end) const;
    void ask_behind(const Pool& pool, int64_t chunk, const Stretch& stretch, const Pool& next,
                    int64_t next_begin) const;
    void score(int64_t chunk);
    void score_unpacked(int64_t chunk);
    void soften(int64_t chunk, const Partial& out);
    void weigh(int64_t chunk, const Partial& out);
    void weigh_unpacked(int64_t chunk, const Partial& out);

    const KernelCall& call_;
    const ir::Attention& op_;
    const simd::KernelTable& simd_;
    const AttentionSizes& sizes_;
    const Place place_;
    const Pool keys_;
    const Pool values_;
    const ir::SequencePages pages_;
    const int64_t first_query_;  // of the heads that share the key/value head
    const int64_t group_;        // how many they are
    const int64_t rows_;
    const bool unpacked_;
    Chunks chunks_;
    simd::RowRange span_{};  // of the chunk: all that any row reads

    // In the workspace.
    float* queries_;                // [rows, k], or [k, rows] if unpacked, scaled
    float* scores_;                 // [rows, kKeyChunk]
    float* unpacked_rows_;          // a block of keys or of values
    float* partial_;                // for run()
    float* maxima_;                 // [rows] of the result
    float* sums_;                   // [rows]
    simd::RowRange* ranges_;        // [rows] of the chunk
    simd::RowRange* block_ranges_;  // [rows] of a block of values
};

}  // namespace plait::backends::cpu

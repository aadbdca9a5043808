#include <algorithm>

#include "plait/backends/cpu/kernels/attention_tile.h"
#include "plait/backends/cpu/kernels/by_format.h"

// Attention over paged state, cut into items.
//
// An item is a tile: a few tokens of the step and one key/value head, with all chunks of their past. Where
// that gives the workers too little to share, as in generating, an item is one chunk of the past of one token
// and one key/value head (a unit), and who finishes a unit's last chunk joins its partials.
namespace plait::backends::cpu {
namespace {

// Items per worker below which work is cut finer.
constexpr int64_t kItemsPerWorker = 4;

AttentionSizes sizes_of(const KernelCall& call) {
    const ir::TensorDesc inputs[] = {call.in(0).desc, call.in(1).desc, call.in(2).desc};
    return {call.as<ir::Attention>(), inputs};
}

int64_t attention_workspace(const ir::Op& op, std::span<const ir::TensorDesc> inputs) {
    return AttentionSizes(std::get<ir::Attention>(op), inputs).workspace_floats() *
           static_cast<int64_t>(sizeof(float));
}

// Tokens whose units may be cut into chunks; more make enough items as they are.
int64_t most_cut_tokens(const AttentionSizes& sizes, int64_t tokens, int64_t workers) {
    return std::min(tokens, ceil_div(kItemsPerWorker * workers, std::max<int64_t>(1, sizes.kv_heads())));
}

// Partials of all chunks that a sequence can have, for as many units as may be cut.
SharedNeeds attention_shared(const ir::Op& op, std::span<const ir::TensorDesc> inputs,
                             std::span<const ir::StepGroupLimits> groups, int32_t workers) {
    const auto& attention = std::get<ir::Attention>(op);
    const AttentionSizes sizes(attention, inputs);
    const ir::StepGroupLimits& limits = groups[static_cast<size_t>(attention.group)];
    const int64_t chunks = ceil_div(limits.page_tokens * limits.max_pages_per_sequence, simd::kKeyChunk) + 1;
    const int64_t units = most_cut_tokens(sizes, inputs[0].shape[0], workers) * sizes.kv_heads();
    return {.bytes = units * chunks * sizes.partial_floats(sizes.groups().largest()) *
                     static_cast<int64_t>(sizeof(float)),
            .counters = units};
}

// Each token writes the heads of a group at once.
int64_t attention_stretch(const ir::Op& op, std::span<const ir::TensorDesc> inputs,
                          const ir::TensorDesc& output) {
    const ir::HeadGroups groups = AttentionSizes(std::get<ir::Attention>(op), inputs).groups();
    return groups.even(inputs[1].shape[1]) ? groups.largest() * output.shape[2] : kNoStretch;
}

// How the op's work in this step is cut. A function of the step's counts and lengths; the same for all.
class Cut {
  public:
    explicit Cut(const KernelCall& call)
        : call_(call),
          op_(call.as<ir::Attention>()),
          sizes_(sizes_of(call)),
          tokens_(call.operands.rows(call.in(0))) {
        for (int64_t token = 0; token < tokens_ && tokens_ <= most_cut(); ++token) {
            const Chunks chunks = chunks_of(op_, position(token));
            chunks_ += chunks.count();
            most_chunks_ = std::max(most_chunks_, chunks.count());
        }
        tile_tokens_ = choose_tile_tokens();
    }

    int64_t items() const {
        return is_fine() ? chunks_ * heads() : ceil_div(tokens_, tile_tokens_) * heads();
    }

    void run(int64_t item, std::byte* workspace) const {
        if (is_fine())
            run_chunk(item, workspace);
        else
            run_tile(item, workspace);
    }

  private:
    int64_t heads() const { return sizes_.kv_heads(); }
    int64_t most_cut() const { return most_cut_tokens(sizes_, call_.in(0).desc.shape[0], call_.workers); }
    int64_t position(int64_t token) const { return call_.step().positions[static_cast<size_t>(token)]; }
    int64_t slot_floats() const { return sizes_.partial_floats(sizes_.groups().largest()); }

    // Whether items are single chunks: if units are few, some are long, and all partials have room.
    bool is_fine() const {
        const auto room = static_cast<int64_t>(call_.shared.size() / sizeof(float));
        return call_.workers > 1 && most_chunks_ > 1 &&
               tokens_ * heads() * most_chunks_ * slot_floats() <= room;
    }

    // Sequences share nothing, so more tokens than one has are of no use.
    int64_t choose_tile_tokens() const {
        const int64_t sequences = std::max<int64_t>(1, *call_.step().sequence_count);
        int64_t tile = std::min(sizes_.tile_tokens(), ceil_div(tokens_, sequences));
        while (tile > 8 && ceil_div(tokens_, tile) * heads() < kItemsPerWorker * call_.workers)
            tile = ceil_div(tile, 2);
        return std::max<int64_t>(1, tile);
    }

    // A tile may hold the end of one sequence and the beginning of others.
    void run_tile(int64_t item, std::byte* workspace) const {
        const int64_t head = item % heads();
        if (sizes_.groups().count(head) == 0) return;
        const int64_t end = std::min(tokens_, (item / heads() + 1) * tile_tokens_);
        const std::span<const int32_t> token_begin = call_.step().token_begin;
        int64_t token = item / heads() * tile_tokens_;
        int64_t sequence = sequence_of(token);
        for (; token < end; ++sequence) {
            const int64_t next = std::min<int64_t>(end, token_begin[static_cast<size_t>(sequence) + 1]);
            if (next <= token) continue;
            AttentionTile(call_, sizes_, {sequence, token, next - token, head}, workspace).run();
            token = next;
        }
    }

    int64_t sequence_of(int64_t token) const {
        const auto begin = call_.step().token_begin.begin();
        const auto end = begin + *call_.step().sequence_count + 1;
        return std::upper_bound(begin, end, token) - begin - 1;
    }

    void run_chunk(int64_t item, std::byte* workspace) const {
        int64_t token = 0;
        Chunks chunks = chunks_of(op_, position(token));
        for (; item >= chunks.count() * heads(); chunks = chunks_of(op_, position(token))) {
            item -= chunks.count() * heads();
            ++token;
        }
        const int64_t head = item / chunks.count();
        if (sizes_.groups().count(head) == 0) return;
        AttentionTile tile(call_, sizes_, {sequence_of(token), token, 1, head}, workspace);
        const int64_t unit = token * heads() + head;
        const auto partial = [&](int64_t chunk) {
            float* floats = reinterpret_cast<float*>(call_.shared.data()) +
                            (unit * most_chunks_ + chunk - chunks.begin) * slot_floats();
            return sizes_.partial_at(floats, tile.rows());
        };
        const int64_t own = chunks.begin + item % chunks.count();
        tile.compute(own, partial(own));
        // Who comes last sees what the others wrote.
        std::atomic<int32_t>& arrived = call_.counters[static_cast<size_t>(unit)];
        if (arrived.fetch_add(1, std::memory_order_acq_rel) + 1 != chunks.count()) return;
        tile.begin();
        for (int64_t chunk = chunks.begin; chunk < chunks.end; ++chunk) tile.add(chunk, partial(chunk));
        tile.end();
    }

    const KernelCall& call_;
    const ir::Attention& op_;
    const AttentionSizes sizes_;
    const int64_t tokens_;
    int64_t chunks_ = 0;       // of all tokens, if those are few
    int64_t most_chunks_ = 0;  // of one token
    int64_t tile_tokens_ = 1;
};

int64_t attention_items(const KernelCall& call) { return Cut(call).items(); }

void run_attention(const KernelCall& call, int64_t item, std::byte* workspace) {
    Cut(call).run(item, workspace);
}

int64_t head_items(const KernelCall& call) { return call.operands.inner_rows(call.in(0)); }

// A head's row, widened with zeros to whole blocks where its width is none.
void store_row(ir::DType type, const float* row, int64_t width, std::byte* to) {
    const dtype::DTypeInfo& format = dtype::info(type);
    const int64_t whole = width / format.block_elements * format.block_elements;
    format.encode(row, to, whole);
    if (whole == width) return;
    float tail[dtype::kMaxCacheBlock] = {};
    std::copy(row + whole, row + width, tail);
    format.encode(tail, to + dtype::row_bytes(type, whole), format.block_elements);
}

// An item is one head of one token.
void run_kv_write(const KernelCall& call, int64_t item, std::byte* /*workspace*/) {
    const Pool pool(call.in(1));
    const ir::StepGroup& group = call.step().groups[static_cast<size_t>(call.as<ir::KvWrite>().group)];
    const int64_t token = item / pool.heads(), head = item % pool.heads();
    const int64_t slot = group.write_slots[static_cast<size_t>(token)];
    std::byte* to = pool.row(slot / pool.page_tokens(), head, slot % pool.page_tokens());
    store_row(pool.type(), call.in(0).as<float>() + item * pool.width(), pool.width(), to);
}

}  // namespace

void add_attention_kernels(const KernelChoice& choice, std::vector<Kernel>& list) {
    const simd::KernelTable& simd = *choice.simd;
    const device::FormatSet read = formats_of(simd.matmul_f32) & formats_of(simd.weighted_rows) &
                                   formats_of(simd.unpack_keys) & formats_of(simd.unpack_values);
    list.push_back({.support = {.op = ir::op_id_of<ir::Attention>(),
                                .weight_formats = device::formats(ir::DType::F32),
                                .state_formats = device::cache_formats() & read},
                    .items = attention_items,
                    .run = run_attention,
                    .workspace_bytes = attention_workspace,
                    .shared = attention_shared,
                    .stretch = attention_stretch,
                    .finishes = true});
    list.push_back({.support = {.op = ir::op_id_of<ir::KvWrite>(), .state_formats = device::cache_formats()},
                    .items = head_items,
                    .run = run_kv_write,
                    .by_head = true});
}

}  // namespace plait::backends::cpu

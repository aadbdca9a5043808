#include "plait/backends/cpu/by_everybody.h"

#include <algorithm>

#include "plait/backends/cpu/memory.h"

namespace plait::backends::cpu {
namespace {

class ByEverybody {
  public:
    ByEverybody(std::span<Draft> drafts, std::vector<int64_t>& bytes, int32_t workers)
        : drafts_(drafts), bytes_(bytes), workers_(workers) {}

    void run() {
        for (size_t begin = 0, end = 0; begin < drafts_.size(); begin = end) {
            bool all = true;
            for (end = begin; end < drafts_.size() && drafts_[end].interval == drafts_[begin].interval; ++end)
                all = all && can_be_everybodys(drafts_[end]);
            if (!all || end == drafts_.size() || drafts_[end].step.meets) continue;
            for (size_t i = begin; i < end; ++i) make_everybodys(drafts_[i], drafts_[end]);
            drafts_[end].step.no_barrier_if_few = true;
        }
    }

  private:
    bool can_be_everybodys(const Draft& draft) const {
        if (draft.host_action != nullptr || !draft.step.kernel->by_everybody) return false;
        if (!draft.step.head_followers.empty()) return false;
        const Place& output = draft.step.outputs[0];
        if (output.home != Home::scratch || output.desc.rows == ir::Rows::fixed) return false;
        return std::ranges::none_of(drafts_, [&](const Draft& other) {
            return other.work.alone && meet(other.work.reads, draft.work.writes);
        });
    }

    // `next`, which no barrier parts from it then, may not write over what it reads.
    void make_everybodys(Draft& draft, Draft& next) {
        Step& step = draft.step;
        step.by_everybody = true;
        const ir::TensorDesc& desc = step.outputs[0].desc;
        const int64_t values = desc.shape.elements() / desc.shape[0] * std::min(kFewTokens, desc.shape[0]);
        const std::vector<int32_t> written = draft.work.writes;
        for (const int32_t storage : written) {
            const bool twin = storage == step.twin_offset;
            const int64_t bytes = twin ? quantised_bytes(values) : values * int64_t{sizeof(float)};
            own_copy(storage, (bytes + kOverRead + kAlignment - 1) / kAlignment * kAlignment, values);
        }
        next.work.reads.insert(next.work.reads.end(), draft.work.reads.begin(), draft.work.reads.end());
    }

    void own_copy(int32_t storage, int64_t bytes, int64_t values) {
        const auto own = static_cast<int32_t>(bytes_.size());
        bytes_.push_back(bytes * workers_);
        for (Draft& draft : drafts_) {
            for (auto* list : {&draft.work.reads, &draft.work.writes}) {
                if (!has(*list, storage)) continue;
                list->push_back(own);
                draft.step.own_copies.push_back({storage, own, bytes, values});
            }
        }
    }

    std::span<Draft> drafts_;
    std::vector<int64_t>& bytes_;
    const int32_t workers_;
};

}  // namespace

void do_by_everybody(std::span<Draft> drafts, std::vector<int64_t>& bytes, int32_t workers) {
    ByEverybody(drafts, bytes, workers).run();
}

}  // namespace plait::backends::cpu

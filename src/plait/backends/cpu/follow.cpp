#include "plait/backends/cpu/follow.h"

#include <algorithm>

namespace plait::backends::cpu {
namespace {

constexpr size_t kNobody = Drafts::kNobody;

bool writes(const Step& step, int32_t storage) {
    const Place& output = step.outputs[0];
    return output.home == Home::scratch && output.offset == storage;
}

// The step behind all those that follow it value by value.
Step& last_of(Step& step) { return step.followers.empty() ? step : last_of(step.followers[0]); }

bool is_made_by_value(const Step& step, int32_t storage) {
    return writes(step, storage) || (!step.followers.empty() && is_made_by_value(step.followers[0], storage));
}

bool is_made_by_head(const Step& step, int32_t storage) {
    return std::ranges::any_of(step.head_followers,
                               [&](const Step& follower) { return writes(follower, storage); });
}

bool can_lead(const Draft& draft) { return draft.host_action == nullptr && draft.step.kernel->can_lead; }

// Operands have the output's values, or the second is one row for all of its rows.
bool same_values(const Step& step) {
    const ir::TensorDesc& output = step.outputs[0].desc;
    for (size_t i = 0; i < step.inputs.size(); ++i) {
        const ir::TensorDesc& desc = step.inputs[i].desc;
        const bool row = i == 1 && desc.shape.rank() == 1 && desc.shape.last() == output.shape.last();
        if (!row && (desc.shape != output.shape || desc.rows != output.rows)) return false;
    }
    return step.outputs[0].home == Home::scratch;
}

class Follower {
  public:
    Follower(Drafts& drafts, Draft& draft) : drafts_(drafts), draft_(draft) {
        for (const int32_t storage : inputs()) {
            const size_t maker = drafts_.maker_of(storage);
            if (maker != kNobody && (leader_ == kNobody || maker > leader_)) leader_ = maker;
        }
    }

    bool follow() {
        if (leader_ == kNobody || drafts_[leader_].host_action != nullptr) return false;
        if (draft_.step.kernel->values != nullptr) return follow_values();
        return draft_.step.kernel->by_head && follow_heads();
    }

  private:
    std::span<const int32_t> inputs() const { return draft_.work.reads; }
    Step& leader() const { return drafts_[leader_].step; }

    bool follow_values() {
        if (!can_lead(drafts_[leader_]) || !same_values(draft_.step)) return false;
        const Step& last = last_of(leader());
        if (std::ranges::none_of(inputs(), [&](int32_t storage) { return writes(last, storage); }))
            return false;
        if (std::ranges::any_of(inputs(),
                                [&](int32_t storage) { return is_made_by_head(leader(), storage); }))
            return false;
        const size_t joined = joined_operand();
        if (joined == leader_) return false;
        if (joined != kNobody) drafts_.join(joined, leader_);
        extend_leader();
        last_of(leader()).followers.push_back(std::move(draft_.step));
        return true;
    }

    // The draft of another operand that no barrier parts from the leader: kNobody if there is none, the
    // leader itself if there is one that cannot be joined to it.
    size_t joined_operand() const {
        size_t joined = kNobody;
        for (const int32_t storage : inputs()) {
            const size_t maker = drafts_.maker_of(storage);
            if (maker == kNobody || maker == leader_ || is_parted(maker)) continue;
            if (joined != kNobody || !can_join(maker, storage)) return leader_;
            joined = maker;
        }
        return joined;
    }

    bool is_parted(size_t maker) const { return drafts_[maker].interval != drafts_[leader_].interval; }

    // Whether the draft may run item by item in front of the leader, which comes later.
    bool can_join(size_t maker, int32_t storage) const {
        const Step &first = drafts_[maker].step, &second = leader();
        if (!can_lead(drafts_[maker]) || !writes(first, storage)) return false;
        if (!first.followers.empty() || !first.head_followers.empty()) return false;
        if (!first.joined.empty() || !second.joined.empty()) return false;
        return first.kernel->items == second.kernel->items && first.outputs[0].desc == second.outputs[0].desc;
    }

    bool follow_heads() {
        const ir::TensorDesc& heads = draft_.step.inputs[0].desc;
        if (leader().meets || heads.shape.rank() != 3 || !makes_heads(heads)) return false;
        for (const int32_t storage : inputs().subspan(1)) {
            const size_t maker = drafts_.maker_of(storage);
            if (maker != kNobody && !is_parted(maker)) return false;
        }
        // What it changes must be changed then.
        const Home home = draft_.step.outputs[0].home;
        if (home != Home::scratch && home != Home::state) return false;
        if (std::ranges::any_of(draft_.work.writes,
                                [&](int32_t storage) { return drafts_.is_used_since(leader_, storage); }))
            return false;
        if (can_lead(drafts_[leader_]))
            leader().shared.counters = (heads.shape[0] + kRowsPerItem - 1) / kRowsPerItem * heads.shape[1];
        extend_leader();
        leader().head_followers.push_back(std::move(draft_.step));
        return true;
    }

    // Whether the leader makes the first input, of that shape, head by head.
    bool makes_heads(const ir::TensorDesc& heads) const {
        const Step& step = leader();
        const int32_t storage = inputs()[0];
        if (!is_made_by_value(step, storage) && !is_made_by_head(step, storage)) return false;
        for (const Step& follower : step.head_followers)
            if (follower.inputs[0].desc.shape != heads.shape) return false;
        const ir::TensorDesc& output = step.outputs[0].desc;
        if (output.rows != heads.rows) return false;
        if (can_lead(drafts_[leader_])) return output.shape.last() == heads.shape[1] * heads.shape[2];
        return step.kernel->by_head && output.shape == heads.shape;
    }

    void extend_leader() {
        const Draft& leader = drafts_[leader_];
        plan::WorkStep more{.writes = draft_.work.writes};
        for (const int32_t storage : inputs())
            if (!has(leader.work.writes, storage)) more.reads.push_back(storage);
        drafts_.extend(leader_, more);
    }

    Drafts& drafts_;
    Draft& draft_;
    size_t leader_ = kNobody;
};

}  // namespace

bool follow(Drafts& drafts, Draft& draft) { return Follower(drafts, draft).follow(); }

}  // namespace plait::backends::cpu

#include "plait/backends/cpu/drafts.h"

#include <algorithm>

namespace plait::backends::cpu {
namespace {

void append(std::vector<int32_t>& to, const std::vector<int32_t>& more) {
    to.insert(to.end(), more.begin(), more.end());
}

}  // namespace

bool has(std::span<const int32_t> storages, int32_t storage) {
    return std::ranges::find(storages, storage) != storages.end();
}

bool meet(std::span<const int32_t> a, std::span<const int32_t> b) {
    return std::ranges::find_first_of(a, b) != a.end();
}

void Drafts::add(Draft draft) {
    draft.interval = intervals_.add(draft.work);
    drafts_.push_back(std::move(draft));
    note_makers(drafts_.size() - 1, drafts_.back().work.writes);
}

void Drafts::extend(size_t at, const plan::WorkStep& more) {
    Draft& draft = drafts_[at];
    append(draft.work.reads, more.reads);
    append(draft.work.writes, more.writes);
    intervals_.extend(draft.interval, more);
    note_makers(at, more.writes);
}

void Drafts::join(size_t first, size_t second) {
    Draft& part = drafts_[first];
    extend(second, part.work);
    drafts_[second].step.joined.push_back(std::move(part.step));
    part.is_joined = true;
}

size_t Drafts::maker_of(int32_t storage) const {
    const auto index = static_cast<size_t>(storage);
    return index < maker_of_.size() ? maker_of_[index] : kNobody;
}

std::vector<Draft> Drafts::take() {
    std::erase_if(drafts_, [](const Draft& draft) { return draft.is_joined; });
    return std::move(drafts_);
}

bool Drafts::is_used_since(size_t at, int32_t storage) const {
    for (size_t i = drafts_.size(); i > 0 && drafts_[i - 1].interval >= drafts_[at].interval; --i) {
        const plan::WorkStep& work = drafts_[i - 1].work;
        if (has(work.reads, storage) || has(work.writes, storage)) return true;
    }
    return false;
}

void Drafts::note_makers(size_t at, std::span<const int32_t> written) {
    for (const int32_t storage : written) {
        const auto index = static_cast<size_t>(storage);
        if (maker_of_.size() <= index) maker_of_.resize(index + 1, kNobody);
        maker_of_[index] = at;
    }
}

}  // namespace plait::backends::cpu

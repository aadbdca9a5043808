#include "plait/backends/cpu/prepare_meetings.h"

namespace plait::backends::cpu {
namespace {

void keep_until(const Draft& meeting, Draft& later) {
    if (&meeting == &later) return;
    for (const Place& term : meeting.step.inputs) {
        if (term.home == Home::scratch) later.work.reads.push_back(static_cast<int32_t>(term.offset));
    }
}

bool is_read_elsewhere(std::span<const Draft> drafts, const Place& value, const Draft& maker) {
    if (value.home != Home::scratch) return true;
    for (const Draft& draft : drafts)
        if (&draft != &maker && has(draft.work.reads, static_cast<int32_t>(value.offset))) return true;
    return false;
}

void note_wanted(std::span<const Draft> drafts, Draft& meeting) {
    Step& leader = meeting.step;
    if (leader.outputs.empty()) return;
    for (const Step* step = &leader; step != nullptr;
         step = step->followers.empty() ? nullptr : &step->followers[0])
        leader.wanted.push_back(is_read_elsewhere(drafts, step->outputs[0], meeting) ? 1 : 0);
}

}  // namespace

void prepare_meetings(std::span<Draft> drafts) {
    Draft* former = nullptr;
    for (Draft& draft : drafts) {
        if (!draft.step.meets) continue;
        note_wanted(drafts, draft);
        if (former != nullptr) keep_until(*former, draft);
        former = &draft;
    }
    if (former != nullptr) keep_until(*former, drafts.back());
}

}  // namespace plait::backends::cpu

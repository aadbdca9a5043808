#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "plait/base/allocation_count.h"
#include "plait/state/paged_state.h"

namespace plait::state {
namespace {

TEST(Allocation, SteadyStateAllocatesNothing) {
    PagedState state({{"kv", 4, 100}, {"narrow", 2, 200}, {"local", 4, 60, 10}}, 4, 90);
    std::vector<int32_t> lengths(4), offsets(5), pages(200), slots(200);
    std::vector<Append> appends;
    appends.reserve(4);
    const int64_t before = allocation_count();
    for (int round = 0; round < 20; ++round) {
        const SequenceId a = state.create();
        for (int64_t tokens : {17, 1, 0, 6}) {
            const SequenceId b = state.fork(a, std::max(state.length(a) / 2, state.shortest_cut(a))),
                             c = state.fork(a, state.length(a));
            appends = {{c, tokens}, {a, tokens}, {b, 1}};
            for (bool keep : {false, true}) {
                Step step = state.begin(appends);
                step.lengths(lengths);
                for (int group = 0; group < 3; ++group) {
                    step.page_lists(group, offsets, pages);
                    step.first_pages(group, offsets);
                    step.write_slots(group, slots);
                }
                if (keep) step.commit();
            }
            state.truncate(a, std::max(state.length(a) - 1, state.shortest_cut(a)));
            state.release(b);
            state.release(c);
        }
        state.release(a);
    }
    EXPECT_EQ(allocation_count() - before, 0);
    EXPECT_EQ(state.pages_in_use(0), 0);
}

}  // namespace
}  // namespace plait::state

#include <gtest/gtest.h>

#include "plait/plan/test_random_choices.h"
#include "plait/plan/test_range_checks.h"
#include "plait/plan/test_shard_checks.h"

// Random models on random members say what one alone says. RC_PARAMS in the environment asks for more cases
// or others, such as "max_success=100000 seed=7".
namespace plait::plan {
namespace {

constexpr int kCases = 2000;

TEST(ShardProperty, MembersSayWhatOneAloneSays) {
    test::set_default_cases(kCases);
    EXPECT_TRUE(rc::check([] {
        const test::RandomModel model = test::make_model(*test::any_choices());
        const Layouts layouts = lay_out(model.weights, model.groups, model.cut);
        RC_ASSERT(test::ranges_fault(model, layouts) == "");
        RC_ASSERT(test::shard_fault(model, test::run_alone(model), layouts, ir::op_shard) == "");
    }));
}

TEST(ShardProperty, OddLayoutsAreRefusedOrRight) {
    test::set_default_cases(kCases);
    EXPECT_TRUE(rc::check([] {
        const test::RandomModel model = test::make_model(*test::any_choices());
        const Layouts layouts = *test::odd_layouts(model, lay_out(model.weights, model.groups, model.cut));
        RC_ASSERT(test::odd_layouts_fault(model, test::run_alone(model), layouts, ir::op_shard) == "");
    }));
}

}  // namespace
}  // namespace plait::plan

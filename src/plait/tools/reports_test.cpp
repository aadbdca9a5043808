#include "plait/tools/reports.h"

#include <gmock/gmock.h>

#include "plait/base/error.h"
#include "plait/tools/plan_report.h"

namespace plait::tools {
namespace {

using testing::HasSubstr;

TEST(Reports, TheMedianOfAnEvenNumberIsBetweenTheTwoInTheMiddle) {
    const Rate odd = summarise({3, 1, 2});
    EXPECT_EQ(odd.median, 2);
    EXPECT_EQ(odd.min, 1);
    EXPECT_EQ(odd.max, 3);
    EXPECT_EQ(summarise({4, 1, 2, 10}).median, 3);
    EXPECT_EQ(summarise({7}).median, 7);
}

ProductKind kind_of(const char* type, int64_t weights, double kernel, double instructions) {
    const device::ProductSpeed slow{.instructions_one = 1, .instructions = 2, .kernel = 1};
    return {.type = type,
            .weights_per_token = weights,
            .before = slow,
            .after = {.instructions_one = instructions / 2, .instructions = instructions, .kernel = kernel}};
}

TEST(Reports, KindsOfProductsCountByTheTimeTheyTake) {
    BenchResult result{
        .products = {{kind_of("Q4_K", 300, 600e9, 1000e9), kind_of("Q6_K", 100, 400e9, 1000e9)}, 266e9}};
    // 800 operations in 600 / 600 + 200 / 400 ns.
    EXPECT_DOUBLE_EQ(result.products.kernels(), 800e9 / 1.5);
    EXPECT_DOUBLE_EQ(result.products.instructions(), 1000e9);
    EXPECT_DOUBLE_EQ(result.products.kinds[0].share_of_instructions(), 0.6);
    const std::string text = bench_text(result);
    EXPECT_THAT(text,
                HasSubstr("266.00 GOPS of products in prompts, 50 % of the kernels' 533.33 GOPS, 27 % of"));
    EXPECT_THAT(text, HasSubstr("400.00 GOPS of the kernel alone (0.00 before, 400.00 after), 40 % of"));
    EXPECT_THAT(bench_json(result), HasSubstr("\"share_of_instructions\": 0.6"));
    EXPECT_THAT(text, testing::Not(HasSubstr("more than is possible")));
}

TEST(Reports, CeilingsThatAreBelowWhatIsReachedAreRemarkedOn) {
    const auto text = [](double rate, double kernel, double instructions) {
        return bench_text({.products = {{kind_of("Q4_K", 300, kernel, instructions)}, rate}});
    };
    EXPECT_THAT(text(300e9, 600e9, 1000e9), testing::Not(HasSubstr("more than is possible")));
    EXPECT_THAT(text(300e9, 600e9, 500e9), HasSubstr("more than is possible"));
    EXPECT_THAT(text(700e9, 600e9, 1000e9), HasSubstr("more than is possible"));
}

TEST(Reports, WithoutMeasuredProductsNothingIsSaidOfThem) {
    EXPECT_THAT(bench_text({}), testing::Not(HasSubstr("GOPS")));
    EXPECT_THAT(bench_json({}), HasSubstr("\"products\": null"));
}

TEST(Reports, GenerationCountsTheTokensBehindTheFirstByTheirTime) {
    const engine::Generation generation{.reason = engine::StopReason::limit,
                                        .prompt_tokens = 10,
                                        .generated_tokens = 5,
                                        .prompt_seconds = 0.5,
                                        .generation_seconds = 2};
    const std::string text = generation_text(generation);
    EXPECT_THAT(text, HasSubstr("5 tokens (limit) in 2.50 s"));
    EXPECT_THAT(text, HasSubstr("prompt 10 tokens at 20.0 tokens/s"));
    EXPECT_THAT(text, HasSubstr(", then 2.0 tokens/s"));
}

TEST(Reports, OneTokenHasNoRateOfItsOwn) {
    const std::string text =
        generation_text({.prompt_tokens = 3, .generated_tokens = 1, .prompt_seconds = 1});
    EXPECT_THAT(text, testing::EndsWith("prompt 3 tokens at 3.0 tokens/s"));
}

PlanReport report_of(int64_t free) {
    PlanReport report{.architecture = "llama"};
    report.members.push_back({.device = "cpu",
                              .weights = 100 << 20,
                              .mapped = 60 << 20,
                              .state = 20 << 20,
                              .compute = 5 << 20,
                              .free = free});
    return report;
}

TEST(Reports, APlanSaysWhatDoesNotFit) {
    EXPECT_EQ(report_of(0).members[0].taken(), 65 << 20);
    EXPECT_THAT(plan_text(report_of(60 << 20)),
                HasSubstr("cpu does not fit: it would take 5.0 MiB more than is free"));
    EXPECT_THAT(plan_text(report_of(65 << 20)), testing::Not(HasSubstr("does not fit")));
    EXPECT_THAT(plan_json(report_of(60 << 20)), HasSubstr("\"fits\": false"));
    EXPECT_THAT(plan_json(report_of(65 << 20)), HasSubstr("\"fits\": true"));
}

TEST(Reports, BudgetsAreCheckedMemberByMember) {
    const PlanReport report = report_of(0);
    EXPECT_NO_THROW(check_budgets(report, {}));
    EXPECT_NO_THROW(check_budgets(report, {65 << 20}));
    EXPECT_THROW(check_budgets(report, {(65 << 20) - 1}), Error);
    EXPECT_THROW(check_budgets(report, {1, 2}), Error);
}

}  // namespace
}  // namespace plait::tools

#include "plait/ir/op_cases.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <set>

namespace plait::ir::test {
namespace {

const std::vector<OpCase>& all_cases() {
    static const std::vector<OpCase> cases = op_cases();
    return cases;
}

template <size_t... I>
std::array<bool, kOpCount> all_references(std::index_sequence<I...>) {
    return {(std::variant_alternative_t<I, Op>::descriptor().reference != nullptr)...};
}

// Views, host actions and collectives have none.
bool has_reference(OpId id) {
    static const auto references = all_references(std::make_index_sequence<kOpCount>());
    return references[id];
}

TEST(OpCases, CoverEveryOpWithAReference) {
    std::set<OpId> covered;
    for (const OpCase& op_case : all_cases()) covered.insert(op_id(op_case.op));
    for (OpId id = 0; id < kOpCount; ++id) EXPECT_EQ(covered.count(id), has_reference(id)) << op_name(id);
}

TEST(OpCases, HaveNamesOfTheirOwn) {
    std::set<std::string> names;
    for (const OpCase& op_case : all_cases()) {
        EXPECT_TRUE(names.insert(op_case.name).second) << op_case.name;
    }
}

TEST(OpCases, AreAnsweredByTheReference) {
    for (const OpCase& op_case : all_cases()) {
        const auto once = run_reference(op_case.op, op_case.inputs, *op_case.step);
        const auto again = run_reference(op_case.op, op_case.inputs, *op_case.step);
        EXPECT_EQ(difference(op_case, once, again, 0.0), "");
        for (const TestTensor& output : once) {
            EXPECT_TRUE(rest_is_poisoned(output, *op_case.step)) << op_case.name;
        }
    }
}

const OpCase& find_case(const std::string& name) {
    for (const OpCase& op_case : all_cases()) {
        if (op_case.name == name) return op_case;
    }
    throw std::out_of_range(name);
}

TEST(Difference, SeesWrongValuesRowsIdsAndState) {
    const OpCase& add = find_case("add F32[8, 37], 3 tokens");
    const auto expected = run_reference(add.op, add.inputs, *add.step);
    auto actual = expected;
    actual[0].operand().as<float>()[2] += 1e-3f;
    EXPECT_THAT(difference(add, expected, actual, add.error_bound),
                testing::StartsWith("add F32[8, 37], 3 tokens: output 0: error "));
    EXPECT_EQ(difference(add, expected, actual, 1e-3), "");
    actual = expected;
    actual[0].operand().as<float>()[3 * 37] = 0;
    EXPECT_THAT(difference(add, expected, actual, 1.0),
                testing::HasSubstr("rows past the count were written"));
    actual.clear();
    EXPECT_THAT(difference(add, expected, actual, 1.0), testing::HasSubstr("0 outputs"));

    const OpCase& choose = find_case("top_k_experts 4 of 8, renormalised, 1 tokens");
    const auto chosen = run_reference(choose.op, choose.inputs, *choose.step);
    auto others = chosen;
    others[0].operand().as<int32_t>()[0] ^= 1;
    EXPECT_THAT(difference(choose, chosen, others, 1.0), testing::HasSubstr("output 0: other ids"));

    const OpCase& copy = find_case("copy_pages 1 of Q8_0[6, 2, 4, 40], 0 tokens");
    const auto copied = run_reference(copy.op, copy.inputs, *copy.step);
    EXPECT_THAT(difference(copy, copied, copy.inputs, copy.error_bound),
                testing::HasSubstr("output 0: error "));
}

}  // namespace
}  // namespace plait::ir::test

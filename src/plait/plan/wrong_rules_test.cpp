#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <ostream>
#include <utility>

#include "plait/base/ensure.h"
#include "plait/base/error.h"
#include "plait/plan/test_random_choices.h"
#include "plait/plan/test_shard_checks.h"

// Rules made wrong on purpose: for every op and every way of spoiling its answers, some random model says
// that something is amiss. Or else what holds of random models would not have to hold of the rules.
namespace plait::plan {
namespace {

using ir::Layout;
using ir::LayoutKind;
using ir::Range;
using Answer = ir::ShardAnswer<ir::Op>;

// --- ways of spoiling an answer: each says whether there was something to spoil

using Spoil = bool (*)(const ir::Op& op, const ir::ShardQuery& query, Answer& answer);

bool replace_outputs(Answer& answer, LayoutKind from, const Layout& to) {
    bool any = false;
    for (Layout& output : answer.outputs) {
        if (!output.is(from)) continue;
        output = to;
        any = true;
    }
    return any;
}

bool split_is_partial(const ir::Op&, const ir::ShardQuery&, Answer& answer) {
    return replace_outputs(answer, LayoutKind::split, Layout::partial());
}
bool split_is_mirrored(const ir::Op&, const ir::ShardQuery&, Answer& answer) {
    return replace_outputs(answer, LayoutKind::split, Layout::mirrored());
}
bool partial_is_mirrored(const ir::Op&, const ir::ShardQuery&, Answer& answer) {
    return replace_outputs(answer, LayoutKind::partial, Layout::mirrored());
}
bool routed_is_mirrored(const ir::Op&, const ir::ShardQuery&, Answer& answer) {
    return replace_outputs(answer, LayoutKind::routed, Layout::mirrored());
}

bool wrong_axis(const ir::Op&, const ir::ShardQuery&, Answer& answer) {
    bool any = false;
    for (Layout& output : answer.outputs) {
        if (!output.is(LayoutKind::split)) continue;
        output.axis = output.axis == 0 ? 1 : output.axis - 1;
        any = true;
    }
    return any;
}

// The first border between two members lies one index further back.
bool move_border(Layout& layout) {
    if (!layout.is(LayoutKind::split)) return false;
    for (ir::Segment& segment : layout.segments) {
        for (size_t m = 0; m + 1 < segment.ranges.size(); ++m) {
            Range &left = segment.ranges[m], &right = segment.ranges[m + 1];
            if (left.empty() || left.end != right.begin) continue;
            --left.end;
            --right.begin;
            return true;
        }
    }
    return false;
}

bool range_off_by_one(const ir::Op&, const ir::ShardQuery&, Answer& answer) {
    bool any = false;
    for (Layout& output : answer.outputs) any = move_border(output) || any;
    return any;
}

bool one_segment(const ir::Op&, const ir::ShardQuery& query, Answer& answer) {
    bool any = false;
    for (Layout& output : answer.outputs) {
        if (!output.is(LayoutKind::split) || output.segments.size() < 2) continue;
        std::vector<Range> ranges;
        int64_t begin = 0;
        for (int m = 0; m < query.members; ++m) {
            ranges.push_back({begin, begin + output.extent_of(m)});
            begin = ranges.back().end;
        }
        output = Layout::split(output.axis, output.extent(), std::move(ranges));
        any = true;
    }
    return any;
}

bool no_parameters(const ir::Op&, const ir::ShardQuery&, Answer& answer) {
    const bool any = !answer.ops.empty();
    answer.ops.clear();
    return any;
}
bool parameters_of_a_neighbour(const ir::Op&, const ir::ShardQuery&, Answer& answer) {
    if (answer.ops.empty() ||
        std::ranges::adjacent_find(answer.ops, std::not_equal_to<>()) == answer.ops.end())
        return false;
    std::ranges::rotate(answer.ops, answer.ops.begin() + 1);
    return true;
}
bool no_slices(const ir::Op&, const ir::ShardQuery&, Answer& answer) {
    const bool any = !answer.slices.empty();
    answer.slices.clear();
    return any;
}
bool slice_off_by_one(const ir::Op&, const ir::ShardQuery&, Answer& answer) {
    bool any = false;
    for (ir::LocalSlice& slice : answer.slices) any = move_border(slice.layout) || any;
    return any;
}
bool no_margins(const ir::Op&, const ir::ShardQuery&, Answer& answer) {
    const bool any =
        std::ranges::any_of(answer.margins, [](const ir::Margin& m) { return m != ir::Margin{}; });
    answer.margins.clear();
    return any;
}
bool margins_exchanged(const ir::Op&, const ir::ShardQuery&, Answer& answer) {
    bool any = false;
    for (ir::Margin& margin : answer.margins) {
        any = any || margin.before != margin.after;
        std::swap(margin.before, margin.after);
    }
    return any;
}
bool added_by_all(const ir::Op&, const ir::ShardQuery&, Answer& answer) {
    if (answer.deferred) {
        answer.deferred.reset();
        return true;
    }
    return std::exchange(answer.once, false);
}
bool term_forgotten(const ir::Op&, const ir::ShardQuery& query, Answer& answer) {
    if (!answer.deferred || *answer.deferred != 0 || !query.is(1, LayoutKind::partial)) return false;
    answer.deferred.reset();
    answer.once = true;
    return true;
}
bool added_by_one(const ir::Op&, const ir::ShardQuery& query, Answer& answer) {
    if (answer.outputs.empty() || answer.once || answer.deferred || !query.is(0, LayoutKind::partial))
        return false;
    answer.once = true;
    return true;
}
bool no_sum(const ir::Op&, const ir::ShardQuery&, Answer& answer) {
    return std::exchange(answer.sums, false);
}
bool taken_for_a_sum(const ir::Op&, const ir::ShardQuery& query, Answer& answer) {
    if (answer.outputs.empty() || !query.is(0, LayoutKind::partial)) return false;
    return !std::exchange(answer.sums, true);
}
bool not_decomposed(const ir::Op&, const ir::ShardQuery&, Answer& answer) {
    return std::exchange(answer.decompose, false);
}
bool not_gathered(const ir::Op&, const ir::ShardQuery&, Answer& answer) {
    return std::exchange(answer.gather, false);
}

// Instead of asking for a whole operand or refusing: runs on what there is.
bool run_anyway(const ir::Op& op, const ir::ShardQuery& query, Answer& answer, const Layout& output) {
    if (!answer.whole && answer.refusal.empty()) return false;
    answer = {};
    answer.outputs.assign(ir::op_infer(op, query.inputs).size(), output);
    return true;
}
bool unfinished_as_it_is(const ir::Op& op, const ir::ShardQuery& query, Answer& answer) {
    return run_anyway(op, query, answer, query.layout(answer.whole.value_or(0)));
}
bool unfinished_is_mirrored(const ir::Op& op, const ir::ShardQuery& query, Answer& answer) {
    return run_anyway(op, query, answer, Layout::mirrored());
}
bool unfinished_is_a_term(const ir::Op& op, const ir::ShardQuery& query, Answer& answer) {
    return run_anyway(op, query, answer, Layout::partial());
}

struct Wrong {
    const char* name;
    Spoil spoil;
};

const Wrong kWrong[] = {
    {"split is partial", split_is_partial},
    {"split is mirrored", split_is_mirrored},
    {"partial is mirrored", partial_is_mirrored},
    {"routed is mirrored", routed_is_mirrored},
    {"wrong axis", wrong_axis},
    {"range off by one", range_off_by_one},
    {"one segment", one_segment},
    {"no parameters", no_parameters},
    {"parameters of a neighbour", parameters_of_a_neighbour},
    {"no slices", no_slices},
    {"slice off by one", slice_off_by_one},
    {"no margins", no_margins},
    {"margins exchanged", margins_exchanged},
    {"added by all", added_by_all},
    {"term forgotten", term_forgotten},
    {"added by one", added_by_one},
    {"no sum", no_sum},
    {"taken for a sum", taken_for_a_sum},
    {"not decomposed", not_decomposed},
    {"not gathered", not_gathered},
    {"unfinished as it is", unfinished_as_it_is},
    {"unfinished is mirrored", unfinished_is_mirrored},
    {"unfinished is a term", unfinished_is_a_term},
};

// Spoilt answers that mislead nobody.
struct Harmless {
    std::string_view op;
    std::string_view wrong;
};

const Harmless kHarmless[] = {
    // The pass cuts no weights that lie whole on every member: it refuses with or without a slice to make.
    {"rms_norm", "no slices"},
    {"rms_norm", "slice off by one"},
    // What they take is never a sum with terms put off: biases are added behind them.
    {"split_heads", "taken for a sum"},
    {"add_expert_bias", "taken for a sum"},
    {"weighted_sum", "taken for a sum"},
    // Rows to be gathered are gathered before a node that would not leave them as they are, so that only more
    // of them are.
    {"gather_rows", "split is partial"},
    {"gather_rows", "split is mirrored"},
    {"gather_rows", "wrong axis"},
    {"gather_rows", "range off by one"},
    // Logits are an output too, so that a sum of them ends in any case.
    {"sample_candidates", "unfinished as it is"},
    {"sample_candidates", "unfinished is mirrored"},
    {"sample_candidates", "unfinished is a term"},
    // Divisors of which every member has all give angles that every member has; of others none are made.
    {"rope_angles", "unfinished as it is"},
    {"rope_angles", "unfinished is mirrored"},
};

bool is_harmless(std::string_view op, std::string_view wrong) {
    return std::ranges::any_of(kHarmless, [&](const Harmless& h) { return h.op == op && h.wrong == wrong; });
}

// --- the ops

struct RuledOp {
    ir::OpId id = 0;
    const char* name = nullptr;
};
void PrintTo(const RuledOp& op, std::ostream* os) { *os << op.name; }  // GoogleTest's name for it

template <size_t... I>
std::vector<RuledOp> ruled_ops(std::index_sequence<I...>) {
    std::vector<RuledOp> ops;
    (
        [&] {
            using OpType = std::variant_alternative_t<I, ir::Op>;
            if (OpType::descriptor().shard != nullptr) ops.push_back({I, OpType::descriptor().name});
        }(),
        ...);
    return ops;
}
std::vector<RuledOp> ruled_ops() { return ruled_ops(std::make_index_sequence<ir::kOpCount>()); }

// --- cases

constexpr size_t kEnough = 40;  // cases with something to spoil, all without a fault

// Models as they should lie on members; and with a tensor or two lying somewhere else, which is how rules are
// asked that have nothing to do otherwise.
enum class Pool : uint64_t { proper = 400, odd = 4000 };  // cases

struct Case {
    test::RandomModel model;
    Layouts layouts;
    bool odd = false;
};

Case case_of(Pool pool, uint64_t number) {
    Case result{.model = test::make_model(test::choices_of(number)), .odd = pool == Pool::odd};
    result.layouts = lay_out(result.model.weights, result.model.groups, result.model.cut);
    if (result.odd) result.layouts = test::odd_layouts_of(result.model, result.layouts, number);
    return result;
}

std::string fault_of(const Case& c, const ShardRule& rule) {
    const test::Alone alone = test::run_alone(c.model);
    return c.odd ? test::odd_layouts_fault(c.model, alone, c.layouts, rule)
                 : test::shard_fault(c.model, alone, c.layouts, rule);
}

using Numbers = std::vector<uint64_t>;

// By ways of spoiling: the cases that ask the op's rule for something that can be spoilt so.
std::vector<Numbers> cases_to_spoil(Pool pool, ir::OpId id) {
    std::vector<Numbers> numbers(std::size(kWrong));
    for (uint64_t number = 0; number < static_cast<uint64_t>(pool); ++number) {
        const ShardRule watch = [&](const ir::Op& op, const ir::ShardQuery& query) {
            Answer answer = ir::op_shard(op, query);
            for (size_t i = 0; ir::op_id(op) == id && i < std::size(kWrong); ++i) {
                Answer copy = answer;
                const bool known = !numbers[i].empty() && numbers[i].back() == number;
                if (!known && kWrong[i].spoil(op, query, copy)) numbers[i].push_back(number);
            }
            return answer;
        };
        const Case c = case_of(pool, number);
        try {
            shard(c.model.graph, c.layouts, c.model.cut.members(), {.rule = watch});
        } catch (const Error&) {
        }
    }
    return numbers;
}

// What a child process reports.
struct Report {
    size_t tried = 0;
    bool found = false;
};

struct Search {
    Pool pool = Pool::proper;
    ir::OpId id = 0;
    Spoil spoil = nullptr;
    std::span<const uint64_t> numbers;  // of cases
};

void run(const Search& search, Report& report) {
    const ShardRule wrong = [&](const ir::Op& op, const ir::ShardQuery& query) {
        Answer answer = ir::op_shard(op, query);
        if (ir::op_id(op) == search.id) search.spoil(op, query, answer);
        return answer;
    };
    while (report.tried < std::min(search.numbers.size(), kEnough)) {
        if (!fault_of(case_of(search.pool, search.numbers[report.tried++]), wrong).empty()) {
            report.found = true;
            return;
        }
    }
}

// A wrong rule may make the pass stop the process, which proves nothing: it runs in a child, which is
// followed by another for the cases that are left.
bool is_found(const Search& search) {
    void* shared = mmap(nullptr, sizeof(Report), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ENSURE(shared != MAP_FAILED, "memory for a report");
    auto* report = new (shared) Report;
    for (bool crashed = true; crashed;) {
        const pid_t child = fork();
        ENSURE(child >= 0, "a process for a wrong rule");
        if (child == 0) {
            close(STDERR_FILENO);  // what it says when it stops is of no interest
            try {
                run(search, *report);
            } catch (const std::exception&) {
                _exit(1);
            }
            _exit(0);
        }
        int status = 0;
        ENSURE(waitpid(child, &status, 0) == child, "a child of this process");
        crashed = !WIFEXITED(status) || WEXITSTATUS(status) != 0;
    }
    const bool found = report->found;
    munmap(shared, sizeof(Report));
    return found;
}

class WrongRules : public testing::TestWithParam<RuledOp> {};

TEST_P(WrongRules, AreFound) {
    Pool pool = Pool::proper;
    std::vector<Numbers> numbers = cases_to_spoil(pool, GetParam().id);
    if (std::ranges::all_of(numbers, &Numbers::empty)) {
        pool = Pool::odd;
        numbers = cases_to_spoil(pool, GetParam().id);
    }
    int found = 0;
    for (size_t i = 0; i < std::size(kWrong); ++i) {
        if (numbers[i].empty()) continue;
        const bool is = is_found({pool, GetParam().id, kWrong[i].spoil, numbers[i]});
        EXPECT_EQ(is, !is_harmless(GetParam().name, kWrong[i].name))
            << kWrong[i].name << " in " << numbers[i].size() << " cases";
        if (is) ++found;
    }
    EXPECT_GT(found, 0) << "no random model asks for this rule";
}

INSTANTIATE_TEST_SUITE_P(All, WrongRules, testing::ValuesIn(ruled_ops()),
                         [](const testing::TestParamInfo<RuledOp>& op) {
                             return std::string(op.param.name);
                         });

}  // namespace
}  // namespace plait::plan

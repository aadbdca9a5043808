#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <optional>
#include <set>

#include "child_runs.h"
#include "pairwise.h"
#include "plait/base/error.h"
#include "plait/tools/synth_archs/list.h"
#include "support.h"

// Every feature together with every other: whatever is combined, several members say the same as one, or the
// start refuses with a sentence that is listed here. Each test run has every pair of two features' values;
// PLAIT_MATRIX=all has every combination, and PLAIT_MATRIX=2/8 the second eighth of them.
namespace plait::system_test {
namespace {

using dtype::DType;
using engine::Engine;
using engine::EngineOptions;
using engine::Feed;
using engine::Logits;
using engine::Outcome;
using engine::SequenceId;
using engine::SplitMode;

// --- the axes

struct Model {
    const char* name;
    const char* arch;
    const char* size;
    const char* type;
};

// Tiny, of three layers (or one of each kind), with head counts that most numbers of members do not divide.
// Blocks of Q4_0 span a whole head.
constexpr const char* kGrouped = "layers=3,width=192,heads=6,kv_heads=3,ffn=96,vocab=301,ctx=256";
constexpr const char* kOneShared = "layers=3,width=224,heads=7,kv_heads=1,ffn=96,vocab=301,ctx=256";
constexpr const char* kAllOwn = "layers=3,width=160,heads=5,ffn=96,vocab=301,ctx=256";
constexpr const char* kFree = "layers=3,width=96,heads=6,kv_heads=3,head_dim=32,ffn=96,vocab=301,ctx=256";
constexpr const char* kWindows =
    "layers=3,width=96,heads=6,kv_heads=3,head_dim=32,ffn=96,vocab=301,ctx=256,window=16";
constexpr const char* kSixLayers =
    "layers=6,width=96,heads=3,kv_heads=3,head_dim=32,ffn=96,vocab=301,ctx=256,window=16";
constexpr const char* kExperts =
    "layers=3,width=192,heads=6,kv_heads=3,ffn=96,vocab=301,ctx=256,experts=5,used=3";
constexpr const char* kOwnExperts =
    "layers=3,width=160,heads=5,kv_heads=5,ffn=96,vocab=301,ctx=256,experts=5,used=3";
constexpr const char* kWindowExperts =
    "layers=3,width=96,heads=6,kv_heads=3,head_dim=32,ffn=96,vocab=301,ctx=256,window=16,experts=5,used=3";

constexpr const char* kFreeExperts =
    "layers=3,width=96,heads=6,kv_heads=3,head_dim=32,ffn=96,vocab=301,ctx=256,experts=5,used=3";

const Model kModels[] = {
    {"llama", "llama", kGrouped, "Q4_0"},
    {"mixtral", "llama", kExperts, "F16"},
    {"command-r", "command-r", kOneShared, "F16"},
    {"gemma2", "gemma2", kWindows, "Q4_0"},
    {"gemma3", "gemma3", kSixLayers, "F16"},
    {"gpt-oss", "gpt-oss", kWindowExperts, "Q4_0"},
    {"gpt2", "gpt2", kAllOwn, "F16"},
    {"gptneox", "gptneox", kAllOwn, "Q4_0"},
    {"granite", "granite", kGrouped, "F16"},
    {"mpt", "mpt", kAllOwn, "F16"},
    {"olmoe", "olmoe", kOwnExperts, "Q4_0"},
    {"phi3", "phi3", kGrouped, "Q4_0"},
    {"qwen2", "qwen2", kOneShared, "Q4_0"},
    {"qwen2moe", "qwen2moe", kExperts, "F16"},
    {"qwen3", "qwen3", kFree, "F16"},
    {"qwen3moe", "qwen3moe", kFreeExperts, "Q4_0"},
    {"smollm3", "smollm3", kGrouped, "F16"},
    {"starcoder2", "starcoder2", kOneShared, "Q4_0"},
};

struct Caches {
    DType key, value;
    const char* name;
};
constexpr int kUnrounded = 0;  // among them
constexpr Caches kCaches[] = {{DType::F32, DType::F32, "f32"},
                              {DType::F16, DType::F16, "f16"},
                              {DType::Q8_0, DType::Q8_0, "q8_0"},
                              {DType::Q4_0, DType::Q4_0, "q4_0"},
                              {DType::F32, DType::F16, "f32/f16"}};

enum class Order { prompt_then_tokens, tokens_only, mixed };
constexpr const char* kOrders[] = {"prompt then tokens", "tokens only", "mixed"};

constexpr int kMemberCounts[] = {1, 2, 3, 4, 5, 8};
constexpr SplitMode kModes[] = {SplitMode::none, SplitMode::tensor, SplitMode::row};
constexpr const char* kModeNames[] = {"none", "tensor", "row"};
constexpr plan::EmbeddingSplit kEmbeddings[] = {
    plan::EmbeddingSplit::automatic, plan::EmbeddingSplit::mirrored, plan::EmbeddingSplit::vocabulary,
    plan::EmbeddingSplit::hidden};
constexpr const char* kEmbeddingNames[] = {"automatic", "mirrored", "vocabulary", "hidden"};
constexpr plan::ExpertSplit kExpertSplits[] = {plan::ExpertSplit::inner, plan::ExpertSplit::experts};
constexpr const char* kExpertNames[] = {"inner", "experts"};

template <class T, size_t N>
int count_of(const T (&)[N]) {
    return static_cast<int>(N);
}

// One cell of the matrix.
struct Cell {
    explicit Cell(const Combination& c)
        : model(c[0]), mode(c[1]), members(c[2]), caches(c[3]), order(c[4]), embedding(c[5]), experts(c[6]) {}

    static std::vector<int> sizes() {
        return {count_of(kModels), count_of(kModes),      count_of(kMemberCounts), count_of(kCaches),
                count_of(kOrders), count_of(kEmbeddings), count_of(kExpertSplits)};
    }

    const Model& of_model() const { return kModels[model]; }
    const Caches& of_caches() const { return kCaches[caches]; }
    int member_count() const { return kMemberCounts[members]; }
    std::string text() const {
        return fmt::format("{}, mode {}, {} members, caches {}, {}, embedding {}, experts {}",
                           kModels[model].name, kModeNames[mode], member_count(), kCaches[caches].name,
                           kOrders[order], kEmbeddingNames[embedding], kExpertNames[experts]);
    }

    int model, mode, members, caches, order, embedding, experts;
};

// --- refusals that are right

struct Refusal {
    const char* name;
    bool (*applies)(const Cell& cell);
    const char* sentence;  // a part of what the start says
    const char* reason;    // why no arrangement would work
};

const std::vector<Refusal> kRefusals = {};

// --- a cell

EngineOptions options_of(const Cell& cell, bool alone) {
    const Model& model = cell.of_model();
    EngineOptions options = options_for(synth_model(model.arch, model.size, model.type), 128);
    options.exact = true;
    options.key_type = cell.of_caches().key;
    options.value_type = cell.of_caches().value;
    options.page_tokens = 16;
    options.max_sequences = 3;
    if (alone) return options;
    options.devices = fmt::format("cpu*{}", cell.member_count());
    options.split.mode = kModes[cell.mode];
    options.split.main_device = cell.member_count() - 1;  // of no effect on tensor
    options.split.embedding = kEmbeddings[cell.embedding];
    options.split.experts = kExpertSplits[cell.experts];
    options.split.check_members = true;
    return options;
}

// Feeds step after step and keeps all logits.
class Script {
  public:
    explicit Script(Engine& engine) : engine_(engine), ids_(random_ids(400, engine.vocabulary(), 5)) {}

    struct Part {
        SequenceId sequence;
        size_t tokens;
    };
    void step(std::initializer_list<Part> parts) {
        std::vector<Feed> feeds;
        for (const Part& part : parts) {
            feeds.push_back({part.sequence, std::span(ids_).subspan(next_, part.tokens), Logits::all});
            next_ += part.tokens;
        }
        if (engine_.step(feeds) != Outcome::done) throw Error("the step was cancelled");
        for (int64_t row = 0; row < engine_.logit_rows(); ++row)
            logits_.insert(logits_.end(), engine_.logits(row).begin(), engine_.logits(row).end());
    }

    std::vector<float> run(Order order) {
        const SequenceId a = engine_.create_sequence();
        switch (order) {
            case Order::prompt_then_tokens:
                step({{a, 27}});
                step({{a, 9}});
                for (int i = 0; i < 5; ++i) step({{a, 1}});
                break;
            case Order::tokens_only:
                for (int i = 0; i < 22; ++i) step({{a, 1}});
                break;
            case Order::mixed: {
                step({{a, 21}});
                const SequenceId b = engine_.fork_sequence(a, 21);  // in the middle of a page
                const SequenceId c = engine_.create_sequence();
                step({{a, 1}, {b, 7}, {c, 13}});
                step({{c, 1}, {a, 1}, {b, 5}});
                step({{b, 1}, {c, 17}, {a, 1}});
                step({{a, 1}, {b, 1}, {c, 1}});
                break;
            }
        }
        return std::move(logits_);
    }

  private:
    Engine& engine_;
    const std::vector<int32_t> ids_;
    size_t next_ = 0;
    std::vector<float> logits_;
};

double squared_error(std::span<const float> expected, std::span<const float> actual) {
    if (actual.size() != expected.size()) return INFINITY;
    double difference = 0, size = 0;
    for (size_t i = 0; i < expected.size(); ++i) {
        difference += std::pow(static_cast<double>(actual[i]) - expected[i], 2);
        size += std::pow(static_cast<double>(expected[i]), 2);
    }
    return difference / size;
}

// What one member says, once for all cells that differ in members and splits only.
const std::vector<float>& alone(const Cell& cell) {
    static std::map<std::tuple<int, int, int>, std::vector<float>> known;
    std::vector<float>& logits = known[{cell.model, cell.caches, cell.order}];
    if (logits.empty()) {
        Engine engine(options_of(cell, true));
        logits = Script(engine).run(static_cast<Order>(cell.order));
    }
    return logits;
}

// How far apart several members and one may be, as a normalised squared error. Their sums differ in the last
// bits, so a key or value at the border between two codes of its cache may be kept as one or the other: a few
// values are a step apart, where rounding moves every value by up to half a step. So the difference is a
// small part of what the cache's rounding does to one member. Caches that do not round have nothing to add.
double bound_of(const Cell& cell) {
    constexpr double kBound = 1e-9, kPart = 0.05;
    Cell unrounded = cell;
    unrounded.caches = kUnrounded;
    return std::max(kBound, kPart * squared_error(alone(unrounded), alone(cell)));
}

constexpr const char* kEqual = "equal";
constexpr const char* kRefused = "refused: ";

std::string judge_refusal(const Cell& cell, const std::string& sentence) {
    for (const Refusal& refusal : kRefusals) {
        if (refusal.applies(cell) && sentence.find(refusal.sentence) != std::string::npos)
            return std::string(kRefused) + refusal.name;
    }
    return "refused, which no listed reason explains: " + sentence;
}

// kEqual, kRefused and the name of the reason, or what is wrong.
std::string outcome_of(const Cell& cell) {
    try {
        const std::vector<float>& expected = alone(cell);
        std::optional<engine::Prepared> prepared;
        try {
            prepared = engine::prepare(options_of(cell, false));
        } catch (const Error& error) {
            return judge_refusal(cell, error.what());
        }
        Engine engine(std::move(*prepared));
        const std::vector<float> logits = Script(engine).run(static_cast<Order>(cell.order));
        const double error = squared_error(expected, logits), bound = bound_of(cell);
        if (error <= bound) return kEqual;
        return fmt::format("differs from one member by {:.2e}, at most {:.2e} expected", error, bound);
    } catch (const std::exception& error) {
        return std::string("failed: ") + error.what();
    }
}

void make_models() {
    for (const Model& model : kModels) synth_model(model.arch, model.size, model.type);
}

void expect_good(std::span<const Combination> combinations) {
    make_models();
    std::map<std::string, int> refusals;
    size_t refused = 0;
    run_in_children(
        combinations.size(), 120, [&](size_t i) { return outcome_of(Cell(combinations[i])); },
        [&](size_t i, const std::string& outcome) {
            if (outcome == kEqual) return;
            const bool listed = outcome.starts_with(kRefused);
            if (listed) ++refusals[outcome], ++refused;
            EXPECT_TRUE(listed) << Cell(combinations[i]).text() << ": " << outcome;
        });
    for (const auto& [outcome, count] : refusals) fmt::print("{} cells {}\n", count, outcome);
    fmt::print("{} of {} cells refused\n", refused, combinations.size());
    EXPECT_LE(refused * 20, combinations.size()) << "at most one cell of twenty may be refused";
}

TEST(FeatureMatrix, EveryPairOfFeaturesIsEqualOrRefusedWithAReason) {
    expect_good(every_pair(Cell::sizes()));
}

TEST(FeatureMatrix, EveryCombinationIsEqualOrRefusedWithAReason) {
    const char* asked = std::getenv("PLAIT_MATRIX");
    if (asked == nullptr) GTEST_SKIP() << "PLAIT_MATRIX does not ask for every combination";
    int part = 1, parts = 1;
    if (std::string(asked) != "all") {
        ASSERT_EQ(std::sscanf(asked, "%d/%d", &part, &parts), 2) << "expected all or PART/PARTS";
        ASSERT_TRUE(1 <= part && part <= parts);
    }
    const std::vector<Combination> all = every_combination(Cell::sizes());
    const auto border = [&](int end) {
        return all.size() * static_cast<size_t>(end) / static_cast<size_t>(parts);
    };
    expect_good(std::span(all).subspan(border(part - 1), border(part) - border(part - 1)));
}

// --- the test's own tools

TEST(FeatureMatrix, HasEveryArchitecture) {
    std::set<std::string_view> tested;
    for (const Model& model : kModels) tested.insert(model.arch);
    for (const tools::SynthArch* arch : tools::synth_archs())
        EXPECT_TRUE(tested.contains(arch->name)) << arch->name;
}

TEST(Pairwise, HasEveryPairInFewCombinations) {
    const std::vector<int> sizes = {5, 2, 1, 7, 3};
    const std::vector<Combination> chosen = every_pair(sizes);
    EXPECT_EQ(chosen, every_pair(sizes));
    EXPECT_LE(chosen.size(), 2u * 5 * 7);
    for (size_t a = 0; a < sizes.size(); ++a) {
        for (size_t b = a + 1; b < sizes.size(); ++b) {
            std::set<std::pair<int, int>> pairs;
            for (const Combination& combination : chosen) pairs.insert({combination[a], combination[b]});
            EXPECT_EQ(pairs.size(), static_cast<size_t>(sizes[a] * sizes[b])) << a << " with " << b;
        }
    }
    EXPECT_EQ(every_pair({4}).size(), 4u);
    EXPECT_EQ(every_combination(sizes).size(), 5u * 2 * 1 * 7 * 3);
    EXPECT_EQ(every_combination({2, 2}), (std::vector<Combination>{{0, 0}, {0, 1}, {1, 0}, {1, 1}}));
}

TEST(ChildRuns, OutliveEveryKindOfEnd) {
    const auto work = [](size_t i) -> std::string {
        if (i == 1) std::abort();
        if (i == 3) _exit(7);
        if (i == 4) {
            for (;;) pause();
        }
        return std::string(i, 'x');
    };
    const auto texts = run_in_children(6, 1, work);
    EXPECT_EQ(texts, (std::vector<std::string>{"", "died: Aborted", "xx", "died: exit status 7",
                                               "died: Alarm clock", "xxxxx"}));
    EXPECT_TRUE(run_in_children(0, 1, work).empty());
}

}  // namespace
}  // namespace plait::system_test

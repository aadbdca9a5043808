#include "plait/tools/plan_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cctype>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>

#include "plait/base/error.h"
#include "plait/choice/slice.h"
#include "plait/engine/engine.h"
#include "plait/engine/memory_fit.h"
#include "plait/tools/start.h"
#include "plait/tools/synth.h"

// Plans for several members, against what is then done and against counts and formulas worked out by hand.
namespace plait::tools {
namespace {

using engine::EngineOptions;
using testing::HasSubstr;
using testing::Not;

// Files of this process, gone with it.
class Models {
  public:
    ~Models() {
        for (const auto& [key, path] : paths_) std::filesystem::remove(path);
    }
    std::string get(const std::string& arch, const std::string& size, const std::string& type) {
        const std::string key = arch + " " + size + " " + type;
        if (const auto known = paths_.find(key); known != paths_.end()) return known->second.string();
        const auto path =
            std::filesystem::temp_directory_path() /
            ("plait-plan-test-" + std::to_string(getpid()) + "-" + std::to_string(paths_.size()) + ".gguf");
        synth({.arch = arch, .size = size, .type = type, .out = path, .seed = 3});
        paths_[key] = path;
        return path.string();
    }

  private:
    std::map<std::string, std::filesystem::path> paths_;
};

std::string model(const std::string& arch, const std::string& size = "tiny",
                  const std::string& type = "Q8_0") {
    static Models models;
    return models.get(arch, size, type);
}

EngineOptions options_for(const std::string& path, const std::string& devices) {
    EngineOptions options;
    options.model = path;
    options.devices = devices;
    options.context = 256;
    options.micro_batch = 32;
    return options;
}

PlanReport report_of(const EngineOptions& options) { return plan_report(engine::prepare(options)); }

int64_t layers_of(const std::string& path) {
    return engine::prepare(options_for(path, "cpu")).model->summary().layers;
}

// --- what is held

struct Held {
    const char* arch;
    const char* size;
    const char* type;
};

class PlanIsKept : public testing::TestWithParam<std::tuple<Held, const char*>> {};

// Within 64 KiB per member, the rounding of whole buffers to pages.
void expect_kept(const EngineOptions& options) {
    engine::Prepared prepared = engine::prepare(options);
    const PlanReport report = plan_report(prepared);
    const engine::Engine engine(std::move(prepared));
    const std::vector<int64_t> stored = engine.stored_bytes();
    ASSERT_EQ(stored.size(), report.members.size());
    for (size_t member = 0; member < stored.size(); ++member) {
        const MemberPlan& plan = report.members[member];
        EXPECT_NEAR(static_cast<double>(stored[member]), static_cast<double>(plan.taken()), 65536)
            << plan.device;
        EXPECT_TRUE(options.use_mapping || plan.mapped == 0);
        EXPECT_LE(plan.mirrored, plan.weights);
    }
}

TEST_P(PlanIsKept, ByTheAllocator) {
    const auto& [held, devices] = GetParam();
    EngineOptions options = options_for(model(held.arch, held.size, held.type), devices);
    for (const bool mapping : {true, false}) {
        options.use_mapping = mapping;
        for (const auto mode : {engine::SplitMode::tensor, engine::SplitMode::row}) {
            options.split.mode = mode;
            expect_kept(options);
        }
    }
}

constexpr const char* kWide = "layers=3,width=256,heads=7,kv_heads=1,head_dim=64,ffn=768,vocab=1000,ctx=256";
constexpr Held kHeld[] = {
    {"llama", kWide, "Q4_K"},
    {"llama", "layers=2,width=256,heads=6,kv_heads=3,head_dim=32,ffn=512,vocab=777,ctx=256", "F16"},
    {"gpt2", "tiny", "Q8_0"},
    {"qwen2moe", "tiny", "Q8_0"},
    {"gemma2", "tiny", "Q4_0"}};

std::string case_name(const testing::TestParamInfo<std::tuple<Held, const char*>>& info) {
    const auto& [held, devices] = info.param;
    std::string name = std::string(held.arch) + "_" + held.type + "_" + devices;
    std::ranges::replace_if(
        name, [](char c) { return std::isalnum(static_cast<unsigned char>(c)) == 0; }, '_');
    return name;
}

INSTANTIATE_TEST_SUITE_P(All, PlanIsKept,
                         testing::Combine(testing::ValuesIn(kHeld),
                                          testing::Values("cpu", "cpu*2", "cpu*3", "cpu*8", "sim*2",
                                                          "cpu,sim*2")),
                         case_name);

TEST(PlanReport, EveryByteIsHeldAtLeastOnce) {
    for (const char* arch : {"llama", "gpt2", "olmoe"}) {
        const std::string path = model(arch);
        const PlanReport alone = report_of(options_for(path, "sim"));
        EXPECT_EQ(alone.members[0].mirrored, 0);
        for (const char* devices : {"sim*2", "sim*3", "sim*5"}) {
            const PlanReport report = report_of(options_for(path, devices));
            int64_t unique = 0, mirrored = 0, state = 0;
            for (const MemberPlan& member : report.members) {
                unique += member.weights - member.mirrored;
                mirrored += member.mirrored;
                state += member.state;
            }
            // What is mirrored is held by two members at least, and by all at most.
            const auto members = static_cast<int64_t>(report.members.size());
            const int64_t whole = alone.members[0].weights;
            EXPECT_LE(unique + mirrored / members, whole + 65536) << arch << devices;
            EXPECT_GE(unique + mirrored / 2 + 65536, whole) << arch << devices;
            EXPECT_GE(state + 4096, alone.members[0].state);
        }
    }
}

TEST(PlanReport, MembersInOneMemoryShareIt) {
    const PlanReport report = report_of(options_for(model("llama"), "cpu*2,sim:1G"));
    EXPECT_EQ(report.members[0].memory, report.members[1].memory);
    EXPECT_EQ(report.members[0].free + report.members[1].taken(),
              report.members[1].free + report.members[0].taken());
    EXPECT_EQ(report.members[2].free, int64_t{1} << 30);
}

// --- what is exchanged

struct Count {
    const char* arch;
    int64_t per_layer;   // of the model's width
    int64_t norms = 0;   // small ones, per layer
    int64_t tables = 0;  // of an output matrix that is the token table too, as in real files
    const char* size = "tiny";
};

constexpr Count kCounts[] = {
    {"llama", 2},
    {"llama", 2, 0, 0, "experts=4,used=2"},
    {"qwen2", 2},
    {"qwen2moe", 2},
    {"qwen3", 2, 0, 1},
    {"qwen3moe", 2},
    {"phi3", 2},
    {"olmoe", 2, 1},
    {"granite", 2, 0, 1},
    {"smollm3", 2, 0, 1},
    {"command-r", 1, 0, 1},
    {"starcoder2", 2, 0, 1},
    {"gptneox", 1},
    {"mpt", 2, 0, 1},
    {"gemma2", 2, 0, 1},
    {"gemma3", 2, 0, 1},
    {"gpt-oss", 2},
    {"gpt2", 2, 0, 1},
};

int64_t link_terms(collectives::Way way, int64_t members) {
    if (way == collectives::Way::direct || way == collectives::Way::pairwise) return members - 1;
    const auto core = static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(members)));
    return std::countr_zero(static_cast<uint64_t>(core)) + (members == core ? 0 : 1);
}

// Members beyond the largest power of two wait at both ends of a butterfly.
int64_t butterfly_rounds(int64_t members) {
    const bool whole = std::has_single_bit(static_cast<uint64_t>(members));
    return link_terms(collectives::Way::butterfly, members) + (whole ? 0 : 1);
}

TEST(PlanReport, CollectivesPerStepAreThoseOfTheArchitecture) {
    for (const Count& count : kCounts) {
        SCOPED_TRACE(count.arch);
        const std::string path = model(count.arch, count.size);
        for (const int64_t members : {2, 3, 4, 5, 8}) {
            EngineOptions options = options_for(path, "sim*" + std::to_string(members));
            const engine::Prepared prepared = engine::prepare(options);
            const models::ModelSummary& summary = prepared.model->summary();
            const PlanReport report = plan_report(prepared);
            const CollectiveTotals totals = total_cost(report, {});
            const int64_t wide = count.per_layer * summary.layers + count.tables;
            const int64_t small = count.norms * summary.layers;
            EXPECT_EQ(totals.count, wide + small + 1) << members;
            // Queries and keys hand in one number each.
            const int64_t sums = (wide * summary.width + small * 2) * 4;
            const int64_t answer = choice::slice_bytes(std::min<int64_t>(256, summary.vocabulary));
            EXPECT_EQ(totals.payload, sums + answer) << members;
            EXPECT_EQ(totals.link, sums * link_terms(collectives::Way::butterfly, members) + answer)
                << members;
            EXPECT_EQ(totals.rounds, (wide + small) * butterfly_rounds(members) + 1) << members;
            const CollectiveTotals prompt = total_cost(report, report.prompt);
            EXPECT_LE(prompt.payload, sums * report.prompt.tokens + answer);
            EXPECT_GE(prompt.payload, sums * (report.prompt.tokens / 2) + answer);
        }
    }
}

TEST(PlanReport, CandidatesAreMergedLastAndBySize) {
    for (const int64_t candidates : {0, 8, 256}) {
        EngineOptions options = options_for(model("llama"), "sim*3");
        options.candidates = candidates;
        const PlanReport report = report_of(options);
        const device::CollectiveDescription& last = report.collectives.back();
        EXPECT_EQ(last.kind == "merge_candidates", candidates > 0);
        if (candidates == 0) continue;
        EXPECT_EQ(last.after, "output");
        EXPECT_EQ(last.way, "host");
        EXPECT_EQ(last.rounds, 1);
        EXPECT_EQ(last.payload, choice::slice_bytes(candidates));
        EXPECT_EQ(last.link, last.payload);
        EXPECT_EQ(last.moved, 3 * last.payload);
        EXPECT_EQ(cost_of(last, report.prompt).payload, last.payload) << "of one row, whatever the prompt";
    }
}

// Where one member has all logits there is nothing to merge.
TEST(PlanReport, OneMembersCandidatesAreNotMerged) {
    EngineOptions options = options_for(model("llama"), "sim*2");
    options.split.mode = engine::SplitMode::row;
    for (const auto& collective : report_of(options).collectives)
        EXPECT_NE(collective.kind, "merge_candidates");
    options.split.mode = engine::SplitMode::tensor;
    options.split.shares = {1, 0};
    for (const auto& collective : report_of(options).collectives)
        EXPECT_NE(collective.kind, "merge_candidates");
}

TEST(PlanReport, TheTokenTableAddsOneCollective) {
    const std::string path = model("llama");
    const int64_t base = 2 * layers_of(path);
    for (const auto embedding : {plan::EmbeddingSplit::vocabulary, plan::EmbeddingSplit::hidden}) {
        EngineOptions options = options_for(path, "sim*3");
        options.split.embedding = embedding;
        const PlanReport report = report_of(options);
        EXPECT_EQ(static_cast<int64_t>(report.collectives.size()), base + 2) << "and the merge of candidates";
        const bool summed = embedding == plan::EmbeddingSplit::vocabulary;
        EXPECT_EQ(report.collectives[0].kind, summed ? "all_reduce" : "all_gather");
    }
}

TEST(PlanReport, TheWayDecidesWhatIsOnTheLink) {
    for (const auto way :
         {collectives::Way::direct, collectives::Way::pairwise, collectives::Way::butterfly}) {
        for (const int64_t members : {2, 3, 5}) {
            EngineOptions options = options_for(model("llama"), "sim*" + std::to_string(members));
            options.split.reduce = way;
            const PlanReport report = report_of(options);
            for (const auto& collective : report.collectives) {
                if (collective.kind == "merge_candidates") continue;
                EXPECT_EQ(collective.way, collectives::way_name(way));
                EXPECT_EQ(collective.link, collective.payload * link_terms(way, members));
            }
        }
    }
}

// --- members that are not here

void expect_same(const PlanReport& real, const PlanReport& described) {
    ASSERT_EQ(real.members.size(), described.members.size());
    for (size_t i = 0; i < real.members.size(); ++i) {
        const MemberPlan &a = real.members[i], &b = described.members[i];
        EXPECT_EQ(a.device, b.device);
        EXPECT_EQ(a.share, b.share);
        EXPECT_EQ(a.weights, b.weights);
        EXPECT_EQ(a.mirrored, b.mirrored);
        EXPECT_EQ(a.mapped, b.mapped);
        EXPECT_EQ(a.state, b.state);
        EXPECT_EQ(a.compute, b.compute);
    }
    EXPECT_EQ(real.collectives, described.collectives);
    EXPECT_EQ(real.programs, described.programs);
}

TEST(PlanReport, DescribedMembersGetThePlanOfRealOnes) {
    for (const char* devices : {"cpu", "sim:1G", "cpu*3", "cpu,sim:512M", "sim*2,cpu"}) {
        EngineOptions options = options_for(model("llama", kWide, "Q4_K"), devices);
        options.split.shares.clear();
        const engine::Prepared real = engine::prepare(options);
        for (int i = 0; i < real.device->describe().member_count(); ++i) {
            const device::DeviceDescription& member = real.device->describe().member(static_cast<size_t>(i));
            options.described.push_back({.name = member.name,
                                         .kind = member.kind,
                                         .like = member.kind,
                                         .memory = member.memory,
                                         .memory_bytes = int64_t{8} << 30,
                                         .threads = member.workers});
        }
        engine::Prepared described = engine::prepare(options);
        EXPECT_EQ(described.cores->live_workers(), 0) << "planning takes no threads";
        expect_same(plan_report(real), plan_report(described));
        EXPECT_THROW(engine::Engine{std::move(described)}, Error);
    }
}

TEST(PlanReport, ThousandsOfThreadsAndBytesCanBeDescribed) {
    EngineOptions options = options_for(model("llama"), "cpu");
    for (const char* name : {"a", "b", "c"})
        options.described.push_back({name, "cuda", "cpu", name, int64_t{1} << 50, 1000});
    EXPECT_TRUE(report_of(options).members[2].fits());
}

// --- shares

TEST(PlanReport, EqualSharesGiveWayToFreeMemory) {
    EngineOptions options =
        options_for(model("llama", "layers=4,width=512,heads=8,kv_heads=8,ffn=2048,vocab=512"), "cpu");
    const int64_t whole = report_of(options).members[0].taken();
    const int64_t compute = report_of(options).members[0].compute;
    options.described = {{"small", "sim", "sim", "small", compute + whole / 4, 1},
                         {"large", "sim", "sim", "large", 2 * whole + compute, 1}};
    const engine::Prepared prepared = engine::prepare(options);
    EXPECT_NO_THROW(engine::require_memory(prepared));
    EXPECT_LT(prepared.shares[0], 0.25);
    EXPECT_THAT(start_text(prepared), HasSubstr("shares by free memory, since equal ones do not fit"));
    options.split.shares = {1, 1};
    const engine::Prepared asked = engine::prepare(options);
    EXPECT_THROW(engine::require_memory(asked), Error);
    EXPECT_THAT(start_text(asked), HasSubstr("shares as asked"));
    options.split.shares.clear();
    options.described[0].memory_bytes = whole;
    EXPECT_THAT(start_text(engine::prepare(options)), HasSubstr("equal shares"));
}

TEST(PlanReport, AContextThatNobodyAskedForMakesRoomOnTheSmallestMember) {
    EngineOptions options = options_for(
        model("llama", "layers=4,width=512,heads=8,kv_heads=8,ffn=512,vocab=512,ctx=4096"), "sim*2");
    options.split.shares = {3, 1};
    const PlanReport large = report_of(options);
    options.context = -1;
    options.described = {{"small", "sim", "sim", "small", large.members[0].taken() + (4 << 20), 1},
                         {"large", "sim", "sim", "large", int64_t{1} << 40, 1}};
    const engine::Prepared prepared = engine::prepare(options);
    EXPECT_NO_THROW(engine::require_memory(prepared));
    EXPECT_GT(prepared.options.context, 256);
    EXPECT_LT(prepared.options.context, 4096);
}

// --- words

TEST(Start, OneLinePerMemberAndOneForTheMode) {
    EngineOptions options = options_for(model("llama"), "cpu*2,sim");
    options.split.shares = {2, 1, 1};
    const std::string text = start_text(engine::prepare(options));
    EXPECT_THAT(text, HasSubstr("cpu0: "));
    EXPECT_THAT(text, HasSubstr("50.0 % of the model"));
    EXPECT_THAT(text, HasSubstr("\ncpu1: "));
    EXPECT_THAT(text, HasSubstr("\nsim: "));
    EXPECT_THAT(
        text, HasSubstr("\ntensor mode over 3 members (the default for several devices), shares as asked; "));
    EXPECT_THAT(text, HasSubstr("sums by butterfly in 3 rounds (the default)"));
    EXPECT_THAT(text, HasSubstr("values handed over by the host"));
    EXPECT_EQ(std::ranges::count(text, '\n'), 4);
    EXPECT_THAT(start_text(engine::prepare(options_for(options.model, "cpu*2"))),
                HasSubstr("values read where they are"));
    options.split.shares.clear();
    options.split.mode = engine::SplitMode::none;
    options.split.main_device = 2;
    const std::string alone = start_text(engine::prepare(options));
    EXPECT_THAT(alone, HasSubstr("sim: "));
    EXPECT_THAT(alone, HasSubstr("one device (-sm none)"));
}

TEST(Start, WarnsOfMembersThatHaveLittleToDo) {
    EngineOptions options = options_for(
        model("llama", "layers=5,width=64,heads=2,kv_heads=1,ffn=512,vocab=512,ctx=256"), "cpu*3");
    EXPECT_THAT(start_warnings(engine::prepare(options_for(options.model, "cpu*2"))), testing::IsEmpty());
    EXPECT_THAT(start_warnings(engine::prepare(options)),
                testing::ElementsAre(HasSubstr("cpu0 has no query heads in layers 0, 3"),
                                     HasSubstr("cpu1 has no query heads in layers 1, 4"),
                                     HasSubstr("cpu2 has no query heads in layer 2:")));
    options.split.shares = {1, 0, 1};
    EXPECT_THAT(start_warnings(engine::prepare(options)),
                testing::ElementsAre(HasSubstr("cpu1 has a share of nothing")));
}

TEST(PlanReport, JsonHasTheKeysThatToolsRead) {
    const PlanReport report = report_of(options_for(model("llama"), "cpu*3"));
    const auto document = nlohmann::json::parse(plan_json(report));
    for (const char* key :
         {"device", "weights_bytes", "mirrored_bytes", "kv_bytes", "compute_bytes", "free_bytes"})
        EXPECT_TRUE(document["members"][2].contains(key)) << key;
    EXPECT_EQ(document["collectives_per_step"], document["collectives"].size());
    int64_t bytes = 0, link = 0;
    for (const auto& collective : document["collectives"]) {
        const bool last = collective == document["collectives"].back();
        EXPECT_EQ(collective["kind"], last ? "merge_candidates" : "all_reduce");
        EXPECT_THAT(collective["after"].get<std::string>(), Not(testing::IsEmpty()));
        bytes += collective["bytes"].get<int64_t>();
        link += collective["link_bytes"].get<int64_t>();
    }
    EXPECT_EQ(document["collective_bytes_per_token"], bytes);
    EXPECT_EQ(document["decode"]["link_bytes"], link);
    EXPECT_EQ(document["prompt"]["tokens"], 32);
    EXPECT_EQ(document["layer_mode"]["waits"], 2);
}

TEST(PlanReport, TextListsCollectivesAndComparesWithLayerMode) {
    const std::string text = plan_text(report_of(options_for(model("llama"), "cpu*3")));
    for (const char* says :
         {"tensor mode over 3 members, equal shares", "collectives per step", "all_reduce", "direct, 1 round",
          "a token decoded: ", "a prompt step of 32 tokens: ", "layer mode, for comparison"})
        EXPECT_THAT(text, HasSubstr(says));
    const std::string alone = plan_text(report_of(options_for(model("llama"), "cpu")));
    EXPECT_THAT(alone, HasSubstr("no collectives: one member computes everything"));
    EXPECT_THAT(alone, Not(HasSubstr("layer mode")));
}

}  // namespace
}  // namespace plait::tools

#include "plait/backends/cpu/follow.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "plait/backends/cpu/cpu_device.h"
#include "plait/backends/cpu/simd/select.h"
#include "plait/device/contract_kit.h"

// What follows a product head by head: which steps do, and that they give the bits of steps of their own.
namespace plait::backends::cpu {
namespace {

using ir::DType;
using ir::ValueId;

constexpr int64_t kWidth = 64;  // of the rows that products read

struct Shape {
    int64_t heads = 2;
    int64_t width = 64;
    ir::RopePairs pairs = ir::RopePairs::adjacent;
    bool norms = false;
    bool biases = false;
};

struct Way {
    int workers = 1;
    bool repack = true;
    bool follows = true;  // as it is; or every node a step of its own
    DType weights = DType::Q8_0;
};

// Nodes over random weights and caches.
class Layer {
  public:
    Layer(const ir::test::StepSpec& spec, DType type)
        : type_(type), spec_(spec), graph_(spec.capacity, {{spec.page_tokens, spec.max_pages_per_sequence}}) {
        const ir::test::TestStep step(spec);
        material_.block.assign(step.block().begin(), step.block().end());
        x_ = add(ir::Embed{}, "x",
                 {weight(DType::F32, {spec.vocabulary, kWidth}), graph_.step_input(ir::StepInput::tokens)});
    }

    ValueId weight(DType type, ir::Shape shape) {
        const auto index = static_cast<int32_t>(material_.weights.size());
        const ir::TensorDesc desc{type, shape};
        material_.weights.push_back(ir::test::make_tensor(desc, 100 + static_cast<uint64_t>(index)));
        return graph_.weight(index, {fmt::format("w{}", index), desc, {}});
    }
    ValueId add(const ir::Op& op, const std::string& name, std::vector<ValueId> inputs) {
        return graph_.add(op, name, std::move(inputs))[0];
    }
    ValueId product(const std::string& name, int64_t rows) {
        return add(ir::Matmul{}, name, {x_, weight(type_, {rows, kWidth})});
    }
    ValueId split(const std::string& name, ValueId x, int64_t heads) {
        return add(ir::SplitHeads{heads}, name + " heads", {x});
    }
    ValueId angles(int64_t dims) {
        return add(ir::RopeAngles{.dims = dims}, "angles", {graph_.step_input(ir::StepInput::positions)});
    }
    ValueId cache(const Shape& shape, int64_t heads) {
        const auto index = static_cast<int32_t>(material_.state.size());
        const ir::TensorDesc desc{DType::F16, {spec_.pages, heads, spec_.page_tokens, shape.width}};
        material_.state.push_back(ir::test::make_tensor(desc, 200 + static_cast<uint64_t>(index)));
        return graph_.state(index, fmt::format("cache {}", index), desc);
    }
    // Heads of a product, ready to be rotated.
    ValueId projected(const std::string& name, const Shape& shape, int64_t heads) {
        ValueId y = product(name, heads * shape.width);
        if (shape.biases)
            y = add(ir::Add{}, name + " biased", {y, weight(DType::F32, {heads * shape.width})});
        y = split(name, y, heads);
        return shape.norms ? add(ir::RmsNorm{}, name + " norm", {y, weight(DType::F32, {shape.width})}) : y;
    }

    ir::Graph& graph() { return graph_; }
    ValueId x() const { return x_; }
    device::contract::Material& material() { return material_; }

  private:
    const DType type_;
    const ir::test::StepSpec spec_;
    ir::Graph graph_;
    device::contract::Material material_;
    ValueId x_ = 0;
};

void add_attention(Layer& layer, const Shape& shape) {
    const ValueId angles = layer.angles(shape.width / 2);
    const int64_t kv_heads = std::max<int64_t>(1, shape.heads / 2);
    const ValueId q = layer.projected("q", shape, shape.heads), k = layer.projected("k", shape, kv_heads);
    const ValueId v = layer.split("v", layer.product("v", kv_heads * shape.width), kv_heads);
    const ValueId q_rope = layer.add(ir::Rope{shape.pairs}, "q rope", {q, angles});
    const ValueId k_rope = layer.add(ir::Rope{shape.pairs}, "k rope", {k, angles});
    const ValueId keys = layer.add(ir::KvWrite{}, "keep k", {k_rope, layer.cache(shape, kv_heads)});
    const ValueId values = layer.add(ir::KvWrite{}, "keep v", {v, layer.cache(shape, kv_heads)});
    const ValueId attended = layer.add(ir::Attention{.scale = 0.2f}, "attention", {q_rope, keys, values});
    layer.graph().set_outputs({layer.add(ir::MergeHeads{}, "merged", {attended})});
}

std::vector<Kernel> kernels(const Way& way) {
    auto list = kernel_list({.simd = &simd::kernels(simd::best_level()), .packed = way.repack});
    for (Kernel& kernel : list) {
        if (way.follows) break;
        kernel.by_head = false;
        kernel.values = nullptr;
    }
    return list;
}

// A layer compiled for a device.
struct Compiled {
    Compiled(Layer& layer, const Way& way)
        : device(cores, {.workers = way.workers, .repack = way.repack}), list(kernels(way)) {
        std::vector<int>& layouts = layer.material().layouts;
        const ir::Graph* graphs[] = {&layer.graph()};
        layouts = device.choose_layouts(graphs, layer.material().weights.size());
        program = std::make_unique<CpuProgram>(layer.graph(), device.describe(), list,
                                               simd::kernels(simd::best_level()), layouts);
    }
    const std::vector<Step>& steps() const { return program->segment_list()[0].steps; }

    Cores cores;
    CpuDevice device;
    const std::vector<Kernel> list;
    std::unique_ptr<CpuProgram> program;
};

// Bytes of the output and the caches.
std::vector<device::contract::Bytes> results(const Shape& shape, const ir::test::StepSpec& spec,
                                             const Way& way) {
    Layer layer(spec, way.weights);
    add_attention(layer, shape);
    Compiled compiled(layer, way);
    const auto stream = compiled.device.make_stream();
    const device::contract::Resident resident(compiled.device, *stream, layer.material());
    device::contract::Slot slot(compiled.device, *compiled.program, resident);
    std::vector<device::contract::Bytes> bytes;
    for (int round = 0; round < 2; ++round) {
        slot.write_step(*stream, layer.material().block);
        StopWord stop;
        slot.run(*stream, stop);
        std::vector<ir::test::TestTensor> tensors;
        slot.read_outputs(*stream, tensors);
        stream->synchronise();
        EXPECT_EQ(stop.message(), "");
        for (auto& tensor : tensors) bytes.push_back(std::move(tensor.bytes));
        for (auto& tensor : resident.read_state(*stream)) bytes.push_back(std::move(tensor.bytes));
    }
    return bytes;
}

// Texts of a step with room for two blocks of rows.
ir::test::StepSpec step_of(std::vector<ir::test::TestSequence> sequences) {
    return {.capacity = {kRowsPerItem + 80, 4, 4},
            .sequences = std::move(sequences),
            .pages = 64,
            .max_pages_per_sequence = 16};
}

std::vector<std::string> names_of(const std::vector<Step>& steps) {
    std::vector<std::string> names;
    for (const Step& step : steps) names.push_back(step.name);
    return names;
}

using Names = std::vector<std::string>;

const Step& step_named(const std::vector<Step>& steps, const std::string& name) {
    return *std::ranges::find(steps, name, &Step::name);
}

TEST(Follow, RotationAndCacheFollowTheirProducts) {
    for (const bool norms : {false, true}) {
        Layer layer(step_of({{0, 2}}), DType::Q8_0);
        add_attention(layer, {.norms = norms, .biases = true});
        const Compiled compiled(layer, {});
        EXPECT_EQ(names_of(compiled.steps()),
                  (Names{"x", "angles", "x quantised", "q", "k", "v", "attention"}));
        const Step& k = step_named(compiled.steps(), "k");
        EXPECT_EQ(names_of(k.followers), Names{"k biased"});
        EXPECT_EQ(names_of(k.head_followers),
                  norms ? (Names{"k norm", "k rope", "keep k"}) : (Names{"k rope", "keep k"}));
        EXPECT_EQ(names_of(step_named(compiled.steps(), "v").head_followers), Names{"keep v"});
        EXPECT_EQ(std::ranges::count(compiled.steps(), true, &Step::barrier_before), 3);
    }
}

TEST(Follow, HeadsThatNoProductMakesFollowEachOther) {
    Layer layer(step_of({{0, 2}}), DType::Q8_0);
    const ValueId angles = layer.angles(32);
    const ValueId both = layer.product("both", 256);
    const ValueId k = layer.add(ir::Slice{.begin = 128, .extent = 128}, "k", {both});
    const ValueId rotated = layer.add(ir::Rope{}, "k rope", {layer.split("k", k, 2), angles});
    layer.add(ir::KvWrite{}, "keep k", {rotated, layer.cache({}, 2)});
    layer.graph().set_outputs({k});
    const Compiled compiled(layer, {});
    EXPECT_EQ(names_of(compiled.steps()), (Names{"x", "angles", "x quantised", "both", "k", "k rope"}));
    EXPECT_EQ(names_of(compiled.steps().back().head_followers), Names{"keep k"});
}

TEST(Follow, OnlyHeadsOfOneWidth) {
    Layer layer(step_of({{0, 2}}), DType::Q8_0);
    const ValueId angles = layer.angles(32);
    const ValueId y = layer.product("y", 256);
    const ValueId narrow = layer.add(ir::Rope{}, "narrow", {layer.split("narrow", y, 4), angles});
    const ValueId wide = layer.add(ir::Rope{}, "wide", {layer.split("wide", y, 2), angles});
    layer.graph().set_outputs(
        {layer.add(ir::Clamp{1.0f}, "a", {narrow}), layer.add(ir::Clamp{1.0f}, "b", {wide})});
    const Compiled compiled(layer, {});
    EXPECT_EQ(names_of(step_named(compiled.steps(), "y").head_followers), Names{"narrow"});
    EXPECT_TRUE(step_named(compiled.steps(), "wide").barrier_before);
}

TEST(Follow, WholeRowsAreNoHeads) {
    Layer layer(step_of({{0, 2}}), DType::Q8_0);
    const ValueId y = layer.product("y", 64);
    const ValueId norm = layer.add(ir::RmsNorm{}, "norm", {y, layer.weight(DType::F32, {64})});
    layer.graph().set_outputs({layer.add(ir::Clamp{1.0f}, "out", {norm})});
    const Compiled compiled(layer, {});
    EXPECT_TRUE(step_named(compiled.steps(), "y").head_followers.empty());
}

// A sum needs more than the values at its own place: heads are done later.
TEST(Follow, ValuesDoNotFollowHeads) {
    Layer layer(step_of({{0, 2}}), DType::Q8_0);
    const ValueId angles = layer.angles(32);
    const ValueId heads = layer.split("y", layer.product("y", 128), 2);
    const ValueId rotated = layer.add(ir::Rope{}, "rope", {heads, angles});
    const ValueId flat = layer.add(ir::MergeHeads{}, "flat", {rotated});
    const ValueId sum = layer.add(ir::Add{}, "sum", {layer.add(ir::MergeHeads{}, "y again", {heads}), flat});
    layer.graph().set_outputs({layer.add(ir::Clamp{1.0f}, "out", {sum})});
    const Compiled compiled(layer, {});
    EXPECT_EQ(names_of(step_named(compiled.steps(), "y").head_followers), Names{"rope"});
    EXPECT_TRUE(step_named(compiled.steps(), "y").followers.empty());
    EXPECT_TRUE(step_named(compiled.steps(), "sum").barrier_before);
}

TEST(Follow, ACacheIsNotWrittenBeforeItsReaders) {
    Layer layer(step_of({{0, 2}}), DType::Q8_0);
    const ValueId q = layer.split("q", layer.product("q", 128), 2);
    const ValueId k = layer.split("k", layer.product("k", 128), 2);
    const ValueId cache = layer.cache({}, 2);
    const ValueId before = layer.add(ir::Attention{.scale = 0.2f}, "before", {q, cache, cache});
    layer.add(ir::KvWrite{}, "keep k", {k, cache});
    layer.graph().set_outputs({before});
    const Compiled compiled(layer, {});
    EXPECT_EQ(names_of(compiled.steps()), (Names{"x", "x quantised", "q", "k", "before", "keep k"}));
    EXPECT_TRUE(compiled.steps().back().barrier_before);
}

class FollowBits : public testing::TestWithParam<Shape> {};

TEST_P(FollowBits, AreThoseOfStepsOfTheirOwn) {
    const auto specs = {step_of({{3, 1}}), step_of({{0, 3}, {5, 2}}), step_of({{0, 128}}),
                        step_of({{9, 160}, {0, 1}, {2, 150}})};
    for (const ir::test::StepSpec& spec : specs) {
        for (const DType type : {DType::Q8_0, DType::Q4_0, DType::F16}) {
            for (const bool repack : {false, true}) {
                const Way plain{.repack = repack, .follows = false, .weights = type};
                const auto expected = results(GetParam(), spec, plain);
                for (const int workers : {1, 3}) {
                    const Way way{.workers = workers, .repack = repack, .weights = type};
                    EXPECT_EQ(results(GetParam(), spec, way), expected) << workers << " " << repack;
                }
            }
        }
    }
}

// Widths of one and several blocks of rows, less than one, and some that blocks cut through.
INSTANTIATE_TEST_SUITE_P(Shapes, FollowBits,
                         testing::Values(Shape{.heads = 4, .width = 64, .biases = true},
                                         Shape{.heads = 2, .width = 128, .norms = true},
                                         Shape{.heads = 8, .width = 16},
                                         Shape{.heads = 6, .width = 24, .pairs = ir::RopePairs::halves},
                                         Shape{.heads = 3, .width = 40, .norms = true, .biases = true},
                                         Shape{.heads = 2, .width = 80, .pairs = ir::RopePairs::halves},
                                         Shape{.heads = 1, .width = 96}),
                         [](const auto& shape) {
                             return fmt::format("{}x{}", shape.param.heads, shape.param.width);
                         });

}  // namespace
}  // namespace plait::backends::cpu

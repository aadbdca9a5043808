#include "plait/plan/test_random_choices.h"

#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <ostream>

namespace plait::plan {

std::ostream& operator<<(std::ostream& os, const Layouts& layouts) {
    const auto show = [&](const char* kind, const std::vector<ir::Layout>& list) {
        for (size_t i = 0; i < list.size(); ++i) {
            os << kind << ' ' << i << ' ' << list[i].text();
            for (const ir::Segment& segment : list[i].segments) {
                os << " of " << segment.extent << ':';
                for (const ir::Range& range : segment.ranges) os << ' ' << range.begin << '-' << range.end;
            }
            os << '\n';
        }
    };
    show("weight", layouts.weights);
    show("state", layouts.state);
    return os;
}

namespace test {
namespace {

using dtype::DType;

int64_t pick(int64_t least, int64_t most) {
    return *rc::gen::resize(rc::kNominalSize, rc::gen::inRange<int64_t>(least, most + 1));
}
bool one_in(int64_t count) { return pick(0, count - 1) == count - 1; }
template <class T>
T pick_of(std::initializer_list<T> values) {
    return std::data(values)[pick(0, static_cast<int64_t>(values.size()) - 1)];
}

DType plain_type() { return pick_of({DType::F32, DType::F32, DType::F16}); }
DType block_type() { return pick_of({DType::Q8_0, DType::Q4_0, DType::Q4_K}); }

void pick_stream(Choices& c) {
    c.layers = one_in(12) ? 0 : pick(1, 3);
    const bool blocks = one_in(4);
    c.width = blocks ? 32 * pick(1, 2) : pick(3, 20);
    c.input_type = blocks ? pick_of({DType::Q8_0, DType::Q4_0}) : plain_type();
    c.vocabulary = one_in(3) ? pick(64, 200) : pick(3, 40);
    c.tied = one_in(3);
    c.learned_positions = one_in(4);
    c.embedding_norm = one_in(5);
    c.layer_norm = one_in(3);
    c.post_norms = one_in(5);
    c.parallel = one_in(3);
    c.second_norm = one_in(2);
    c.embedding_scale = one_in(4);
    c.residual_scale = one_in(4);
    c.logit_scale = one_in(5);
    c.logit_cap = one_in(5);
    c.logit_bias = one_in(5);
    c.taps = one_in(4);
    c.half_taps = one_in(5);
    const int64_t window = one_in(2) ? pick(1, 5) : 0;
    for (int64_t layer = 0; layer < c.layers; ++layer) c.windows.push_back(one_in(4) ? 0 : window);
}

AttentionChoices pick_attention() {
    AttentionChoices a;
    a.kv_heads = pick(1, 7);
    a.queries_per_kv = pick(1, std::max<int64_t>(1, 14 / a.kv_heads));
    a.key_width = 2 * pick(1, 4);
    a.value_width = pick(1, 9);
    a.fused = one_in(2);
    a.bias = one_in(2);
    a.output_bias = one_in(3);
    a.clamp = one_in(5);
    a.sinks = one_in(4);
    a.alibi = one_in(4);
    a.soft_cap = one_in(5);
    a.norms = pick_of({HeadNormForm::none, HeadNormForm::none, HeadNormForm::per_head, HeadNormForm::by_head,
                       HeadNormForm::whole});
    a.norm_bias = one_in(2);
    a.positions = pick_of({PositionForm::none, PositionForm::adjacent, PositionForm::halves});
    a.divisors = one_in(3);
    a.output_type = plain_type();
    if (one_in(3)) {  // heads that are no multiple of a block, which all heads together are
        a.output_type = block_type();
        const auto width = [&] {
            const int64_t block = dtype::info(a.output_type).block_elements;
            return block / std::gcd(block, a.query_heads());
        };
        if (width() * a.query_heads() > 1024) a.output_type = DType::Q8_0;
        a.value_width = width();
    }
    if (one_in(5)) {
        a.key_cache = pick_of({DType::F16, DType::Q8_0});
        a.value_cache = pick_of({DType::F16, DType::Q8_0});
    }
    return a;
}

NetworkChoices pick_network() {
    NetworkChoices n;
    n.form = pick_of({NetworkForm::plain, NetworkForm::gated, NetworkForm::fused, NetworkForm::experts,
                      NetworkForm::experts});
    n.inner_width = pick(1, 40);
    n.bias = one_in(3);
    n.activation = pick_of(
        {ir::Activation::silu, ir::Activation::gelu_tanh, ir::Activation::gelu_erf, ir::Activation::sigmoid});
    n.down_type = plain_type();
    if (one_in(3)) {
        n.down_type = block_type();
        n.inner_width = dtype::info(n.down_type).block_elements * pick(1, n.down_type == DType::Q4_K ? 2 : 5);
    }
    n.experts = pick(1, 6);
    n.used = pick(1, std::min<int64_t>(n.experts, 3));
    n.renormalise = one_in(2);
    n.swiglu = one_in(3);
    n.router = one_in(4) ? RouterForm::network : RouterForm::matrix;
    n.shared_width = one_in(3) ? pick(1, 12) : 0;
    return n;
}

void pick_step(Choices& c) {
    const int64_t sequences = pick(1, 3);
    for (int64_t s = 0; s < sequences; ++s)
        c.sequences.push_back({static_cast<int32_t>(pick(0, 6)), static_cast<int32_t>(pick(1, 3))});
    c.spare_tokens = pick(0, 2);
    c.spare_outputs = pick(0, 1);
    c.all_rows = one_in(3);
    c.page_copy = one_in(4);
    c.page_tokens = pick(1, 4);
}

void pick_members(Choices& c) {
    const int64_t members = pick(1, 8);
    const bool equal = one_in(2);
    for (int64_t m = 0; m < members; ++m) c.ratios.push_back(equal ? 1 : static_cast<double>(pick(0, 5)));
    if (std::accumulate(c.ratios.begin(), c.ratios.end(), 0.0) == 0.0) c.ratios[0] = 1;
    c.embedding = pick_of({EmbeddingSplit::automatic, EmbeddingSplit::mirrored, EmbeddingSplit::vocabulary,
                           EmbeddingSplit::hidden});
    c.experts = pick_of({ExpertSplit::inner, ExpertSplit::experts});
}

// Of weights, then of state.
std::vector<ir::TensorDesc> descs_of(const RandomModel& model) {
    std::vector<ir::TensorDesc> descs;
    for (const ir::WeightSpec& weight : model.weights) descs.push_back(weight.desc);
    descs.insert(descs.end(), model.state.begin(), model.state.end());
    return descs;
}

// Consecutive pieces that cover everything; each may reach into its neighbours'.
std::vector<ir::Range> pick_ranges(int64_t extent, int members) {
    std::vector<int64_t> borders{0, extent};
    for (int m = 1; m < members; ++m) borders.push_back(pick(0, extent));
    std::ranges::sort(borders);
    const bool overlap = one_in(3);
    std::vector<ir::Range> ranges;
    for (size_t m = 0; m + 1 < borders.size(); ++m) {
        ir::Range range{borders[m], borders[m + 1]};
        if (overlap && !range.empty()) range = {pick(0, range.begin), pick(range.end, extent)};
        ranges.push_back(range);
    }
    return ranges;
}

ir::Layout pick_layout(const ir::TensorDesc& desc, int members) {
    if (one_in(4)) return ir::Layout::mirrored();
    const auto axis = static_cast<int>(pick(0, desc.shape.rank() - 1));
    const int64_t extent = desc.shape[axis];
    const bool torn = axis + 1 == desc.shape.rank() && dtype::info(desc.type).block_elements > 1;
    if (extent > 1 && !torn && one_in(6)) {
        const int64_t border = pick(1, extent - 1);
        return ir::Layout::split(
            axis, {{.extent = border, .ranges = pick_ranges(border, members)},
                   {.extent = extent - border, .ranges = pick_ranges(extent - border, members)}});
    }
    if (one_in(4)) {
        const std::vector<ir::Range> all(static_cast<size_t>(members), ir::Range{0, extent});
        return ir::Layout::split(axis, extent, all);
    }
    return ir::Layout::split(axis, extent, pick_ranges(extent, members));
}

}  // namespace

rc::Gen<Choices> any_choices() {
    return rc::gen::exec([] {
        Choices c;
        pick_members(c);
        pick_stream(c);
        c.attention = pick_attention();
        c.network = pick_network();
        pick_step(c);
        c.seed = static_cast<uint64_t>(pick(1, 1'000'000));
        return c;
    });
}

Choices choices_of(uint64_t number) { return any_choices()(rc::Random(number), rc::kNominalSize).value(); }

rc::Gen<Layouts> odd_layouts(const RandomModel& model, const Layouts& layouts) {
    return rc::gen::exec([descs = descs_of(model), members = model.cut.members(), layouts] {
        Layouts odd = layouts;
        for (int64_t count = pick(1, 2); count > 0; --count) {
            const auto place = static_cast<size_t>(pick(0, static_cast<int64_t>(descs.size()) - 1));
            const size_t weights = odd.weights.size();
            ir::Layout& layout = place < weights ? odd.weights[place] : odd.state[place - weights];
            layout = pick_layout(descs[place], members);
        }
        return odd;
    });
}

Layouts odd_layouts_of(const RandomModel& model, const Layouts& layouts, uint64_t number) {
    return odd_layouts(model, layouts)(rc::Random(number), rc::kNominalSize).value();
}

void set_default_cases(int cases) {
    const char* given = std::getenv("RC_PARAMS");
    std::string params = given == nullptr ? "" : given;
    if (params.find("max_success") == std::string::npos) params += " max_success=" + std::to_string(cases);
    if (params.find("seed") == std::string::npos) params += " seed=4";
    setenv("RC_PARAMS", params.c_str(), 1);
}

}  // namespace test
}  // namespace plait::plan

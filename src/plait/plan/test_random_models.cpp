#include "plait/plan/test_random_models.h"

#include <algorithm>
#include <cmath>
#include <ostream>

#include "plait/ir/weights.h"

namespace plait::plan::test {
namespace {

using dtype::DType;
using ir::Role;
using ir::TensorDesc;
using ir::ValueId;

constexpr float kEpsilon = 1e-5f;

// Values of about the size of what is multiplied: random ones of a row, or tame blocks, add up to this times
// their input.
double gain(DType type, int64_t in) {
    const bool scaled = dtype::info(type).encode != nullptr;
    return scaled ? 1.0 : 0.577 * std::sqrt(static_cast<double>(in));
}

class ModelMaker {
  public:
    explicit ModelMaker(const Choices& choices)
        : choices_(choices), graph_(capacity(), {{choices.page_tokens, max_pages()}}) {}

    RandomModel make() {
        declare_state();
        copy_pages();
        ValueId x = embed();
        for (layer_ = 0; layer_ < choices_.layers; ++layer_) x = run_layer(x);
        x = norm("output_norm", add(ir::GatherRows{}, "wanted", {x, rows()}), choices_.width);
        x = logits(x);
        graph_.set_outputs({x, add(ir::SampleCandidates{.count = choices_.vocabulary}, "candidates", {x})});
        return finish();
    }

  private:
    // --- the step

    int64_t tokens() const {
        int64_t sum = 0;
        for (const auto& sequence : choices_.sequences) sum += sequence.tokens;
        return sum;
    }
    int64_t outputs() const {
        return choices_.all_rows ? tokens() : static_cast<int64_t>(choices_.sequences.size());
    }
    ir::Capacity capacity() const {
        return {tokens() + choices_.spare_tokens, outputs() + choices_.spare_outputs,
                static_cast<int64_t>(choices_.sequences.size()), outputs() + choices_.spare_outputs};
    }
    int64_t longest() const {
        int64_t longest = 1;
        for (const auto& sequence : choices_.sequences)
            longest = std::max<int64_t>(longest, sequence.past + sequence.tokens);
        return longest;
    }
    int64_t max_pages() const { return (longest() + choices_.page_tokens - 1) / choices_.page_tokens; }
    // Room for every sequence, and a page that nobody has.
    int64_t pages() const { return static_cast<int64_t>(choices_.sequences.size()) * max_pages() + 1; }

    ir::test::StepSpec step() const {
        ir::test::StepSpec spec{.capacity = capacity(), .sequences = choices_.sequences};
        spec.page_tokens = static_cast<int32_t>(choices_.page_tokens);
        spec.pages = static_cast<int32_t>(pages());
        spec.max_pages_per_sequence = static_cast<int32_t>(max_pages());
        if (!choices_.windows.empty() &&
            std::ranges::min(choices_.windows) == std::ranges::max(choices_.windows))
            spec.window = static_cast<int32_t>(choices_.windows[0]);
        spec.page_seed = choices_.seed;
        spec.vocabulary = static_cast<int32_t>(choices_.vocabulary);
        for (int64_t t = 0; choices_.all_rows && t < tokens(); ++t)
            spec.output_rows.push_back(static_cast<int32_t>(t));
        if (choices_.page_copy) spec.copies.push_back({0, spec.pages - 1});
        // Every row is asked for all of its logits, of which one is changed.
        for (int64_t row = 0; row < outputs(); ++row)
            spec.choices.push_back({.ask = {.top = spec.vocabulary}, .changes = {kBias}});
        return spec;
    }

    // --- nodes

    std::vector<ValueId> add_all(const ir::Op& op, const std::string& name, std::vector<ValueId> inputs) {
        return graph_.add(op, name, std::move(inputs));
    }
    ValueId add(const ir::Op& op, const std::string& name, std::vector<ValueId> inputs) {
        return add_all(op, name, std::move(inputs)).at(0);
    }
    std::string named(const std::string& part) const { return "blk." + std::to_string(layer_) + "." + part; }
    ValueId rows() { return graph_.step_input(ir::StepInput::output_rows); }
    ValueId positions() { return graph_.step_input(ir::StepInput::positions); }

    ValueId weight(const std::string& name, DType type, const ir::Shape& shape, const ir::Cut& cut = {}) {
        weights_.push_back({name, {type, shape}, cut});
        const auto index = static_cast<int32_t>(weights_.size() - 1);
        return graph_.weight(index, weights_.back());
    }

    ValueId norm(const std::string& name, ValueId x, int64_t width) {
        return norm(name, x, {width}, Role::replicated, choices_.layer_norm);
    }
    ValueId norm(const std::string& name, ValueId x, const ir::Shape& shape, const ir::Cut& cut, bool bias) {
        std::vector<ValueId> inputs{x, weight(name + ".weight", DType::F32, shape, cut)};
        if (!choices_.layer_norm) return add(ir::RmsNorm{.epsilon = kEpsilon}, name, inputs);
        if (bias) inputs.push_back(weight(name + ".bias", DType::F32, shape, cut));
        return add(ir::LayerNorm{.epsilon = kEpsilon}, name, inputs);
    }

    struct Matrix {
        DType type = DType::F32;
        int64_t out = 0;
        int64_t in = 0;
        ir::Cut cut;
        bool bias = false;
    };

    ValueId linear(const std::string& name, ValueId x, const Matrix& matrix) {
        const ValueId w = weight(name + ".weight", matrix.type, {matrix.out, matrix.in}, matrix.cut);
        const ValueId product = add(ir::Matmul{}, name, {x, w});
        if (!matrix.bias) return product;
        const bool row_parallel =
            matrix.cut.role == Role::attention_output || matrix.cut.role == Role::ffn_down;
        const ValueId b = weight(name + ".bias", DType::F32, {matrix.out},
                                 row_parallel ? ir::Cut(Role::replicated) : matrix.cut);
        return add(ir::Add{}, name + ".biased", {product, b});
    }

    ValueId scaled(const std::string& name, ValueId x, bool wanted) {
        return wanted ? add(ir::Scale{.factor = 0.75f}, name, {x}) : x;
    }

    // --- the two ends

    ValueId embed() {
        const Role role = choices_.tied ? Role::tied_embedding : Role::embedding;
        table_ = weight("token_embd", choices_.input_type, {choices_.vocabulary, choices_.width}, role);
        ValueId x = add(ir::Embed{}, "embd", {table_, graph_.step_input(ir::StepInput::tokens)});
        if (choices_.learned_positions) {
            const ValueId table = weight("position_embd", DType::F32, {longest() + 1, choices_.width},
                                         Role::position_embedding);
            const ValueId position = add(ir::Embed{}, "positions", {table, positions()});
            x = add(ir::Add{}, "embd_sum", {x, position});
        }
        x = scaled("embd_scaled", x, choices_.embedding_scale);
        if (choices_.embedding_norm) x = norm("embd_norm", x, choices_.width);
        return x;
    }

    ValueId logits(ValueId x) {
        const ValueId matrix = choices_.tied
                                   ? table_
                                   : weight("output", choices_.input_type,
                                            {choices_.vocabulary, choices_.width}, Role::vocabulary);
        x = add(ir::Matmul{}, "logits", {x, matrix});
        if (choices_.logit_bias) {
            const ValueId bias = weight("output.bias", DType::F32, {choices_.vocabulary}, Role::vocabulary);
            x = add(ir::Add{}, "logits.biased", {x, bias});
        }
        x = scaled("logits_scaled", x, choices_.logit_scale);
        return choices_.logit_cap ? add(ir::SoftCap{.cap = 3.0f}, "logits_capped", {x}) : x;
    }

    // --- layers

    ValueId run_layer(ValueId x) {
        const ValueId normed = norm(named("attn_norm"), x, choices_.width);
        const ValueId attended = add_half("attn", x, attention(normed));
        const ValueId before = choices_.parallel ? x : attended;
        const bool own_norm = !choices_.parallel || choices_.second_norm;
        const ValueId input = own_norm ? norm(named("ffn_norm"), before, choices_.width) : normed;
        return tapped(named("out"), add_half("ffn", attended, network(input)), choices_.taps);
    }

    ValueId tapped(const std::string& name, ValueId x, bool wanted) {
        return wanted ? add(ir::Tap{.id = tap_++}, name, {x}) : x;
    }

    ValueId add_half(const std::string& half, ValueId x, ValueId made) {
        made = tapped(named(half + "_tap"), made, choices_.half_taps);
        if (choices_.post_norms) made = norm(named(half + "_post_norm"), made, choices_.width);
        made = scaled(named(half + "_scaled"), made, choices_.residual_scale);
        return add(ir::Add{}, named(half + "_residual"), {x, made});
    }

    // --- attention

    ir::HeadCounts heads() const {
        const AttentionChoices& a = choices_.attention;
        return {a.query_heads(), a.kv_heads, a.key_width, a.value_width};
    }
    ir::Cut attention_cut(Role role) const { return {role, named("attn"), heads()}; }

    struct QueryKeyValue {
        ValueId query = -1, key = -1, value = -1;
    };

    QueryKeyValue project(ValueId x) {
        const AttentionChoices& a = choices_.attention;
        const int64_t q = a.query_heads() * a.key_width, k = a.kv_heads * a.key_width,
                      v = a.kv_heads * a.value_width;
        const auto matrix = [&](int64_t out, Role role) {
            return Matrix{choices_.input_type, out, choices_.width, attention_cut(role), a.bias};
        };
        const auto clamped = [&](const char* name, ValueId y) {
            return a.clamp ? add(ir::Clamp{.limit = 0.9f}, named(name), {y}) : y;
        };
        if (!a.fused) {
            return {clamped("q_clamped", linear(named("q"), x, matrix(q, Role::query))),
                    clamped("k_clamped", linear(named("k"), x, matrix(k, Role::key_value))),
                    clamped("v_clamped", linear(named("v"), x, matrix(v, Role::key_value)))};
        }
        const ValueId all =
            clamped("qkv_clamped", linear(named("qkv"), x, matrix(q + k + v, Role::fused_query_key_value)));
        const auto part = [&](const char* name, int64_t begin, int64_t extent) {
            return add(ir::Slice{.begin = begin, .extent = extent}, named(name), {all});
        };
        return {part("q", 0, q), part("k", q, k), part("v", q + k, v)};
    }

    ValueId head_norm(const char* name, ValueId x, int64_t count, Role role) {
        const int64_t width = choices_.attention.key_width;
        const bool bias = choices_.attention.norm_bias;
        switch (choices_.attention.norms) {
            case HeadNormForm::none:
                return x;
            case HeadNormForm::per_head:
                return norm(named(name), x, {width}, Role::replicated, bias);
            case HeadNormForm::by_head:
                return norm(named(name), x, {count, width}, attention_cut(role), bias);
            case HeadNormForm::whole:
                return norm(named(name), x, {count * width}, attention_cut(role), bias);
        }
        return x;
    }

    ValueId rotated(const char* name, ValueId x) {
        if (choices_.attention.positions == PositionForm::none) return x;
        if (angles_ < 0) {
            const int64_t dims = choices_.attention.key_width / 4 * 2 + 2 <= choices_.attention.key_width
                                     ? choices_.attention.key_width / 4 * 2 + 2
                                     : choices_.attention.key_width;
            std::vector<ValueId> inputs{positions()};
            if (choices_.attention.divisors) inputs.push_back(weight("rope_freqs", DType::F32, {dims / 2}));
            angles_ = add(ir::RopeAngles{.dims = dims}, "angles", inputs);
        }
        const bool halves = choices_.attention.positions == PositionForm::halves;
        return add(ir::Rope{.pairs = halves ? ir::RopePairs::halves : ir::RopePairs::adjacent}, named(name),
                   {x, angles_});
    }

    ValueId attention(ValueId x) {
        const AttentionChoices& a = choices_.attention;
        QueryKeyValue y = project(x);
        if (a.norms == HeadNormForm::whole) {
            y.query = head_norm("q_norm", y.query, a.query_heads(), Role::query);
            y.key = head_norm("k_norm", y.key, a.kv_heads, Role::key_value);
        }
        y.query = add(ir::SplitHeads{.heads = a.query_heads()}, named("q_heads"), {y.query});
        y.key = add(ir::SplitHeads{.heads = a.kv_heads}, named("k_heads"), {y.key});
        y.value = add(ir::SplitHeads{.heads = a.kv_heads}, named("v_heads"), {y.value});
        if (a.norms != HeadNormForm::whole) {
            y.query = head_norm("q_norm", y.query, a.query_heads(), Role::query);
            y.key = head_norm("k_norm", y.key, a.kv_heads, Role::key_value);
        }
        y.query = rotated("q_rope", y.query);
        y.key = rotated("k_rope", y.key);
        const ValueId merged = add(ir::MergeHeads{}, named("merged"), {attend(y)});
        return linear(named("attn_output"), merged,
                      {a.output_type, choices_.width, a.query_heads() * a.value_width,
                       attention_cut(Role::attention_output), a.output_bias});
    }

    ValueId attend(const QueryKeyValue& y) {
        const AttentionChoices& a = choices_.attention;
        ValueId& keys = states_[place_of(layer_)];
        ValueId& values = states_[place_of(layer_) + 1];
        keys = add(ir::KvWrite{}, named("k_write"), {y.key, keys});
        values = add(ir::KvWrite{}, named("v_write"), {y.value, values});
        std::vector<ValueId> inputs{y.query, keys, values};
        if (a.sinks)
            inputs.push_back(
                weight(named("sinks"), DType::F32, {a.query_heads()}, attention_cut(Role::query)));
        return add(attention_op(), named("attention"), inputs);
    }

    // Scores of about 1, whatever the weights: others only blow up rounding.
    ir::Attention attention_op() const {
        const AttentionChoices& a = choices_.attention;
        const double size = a.norms == HeadNormForm::none ? gain(choices_.input_type, choices_.width) : 1.0;
        const double scale = 1.0 / (size * size * std::sqrt(static_cast<double>(a.key_width)));
        return {.scale = static_cast<float>(scale),
                .window = choices_.windows[static_cast<size_t>(layer_)],
                .soft_cap = a.soft_cap ? 1.5f : 0.0f,
                .alibi = {.max_bias = a.alibi ? 4.0f : 0.0f, .all_heads = a.query_heads()}};
    }

    // --- feed-forward networks

    struct NetworkNames {
        std::string part;  // of the cut, and in names
        int64_t inner_width = 0;
        DType down_type = DType::F32;
        int64_t out = 0;
        bool bias = false;
    };

    ValueId network(ValueId x) {
        const NetworkChoices& n = choices_.network;
        if (n.form == NetworkForm::experts) return experts(x);
        return plain(n.form, x, {"ffn", n.inner_width, n.down_type, choices_.width, n.bias});
    }

    ValueId plain(NetworkForm form, ValueId x, const NetworkNames& names) {
        const auto inward = [&](const char* part, int64_t out, Role role) {
            return linear(named(names.part + part), x,
                          {choices_.input_type, out, choices_.width, {role, named(names.part)}, names.bias});
        };
        const std::string active = named(names.part + "_active");
        const ir::GatedActivate gating{.activation = choices_.network.activation};
        ValueId y = -1;
        if (form == NetworkForm::plain) {
            y = add(ir::Activate{.activation = choices_.network.activation}, active,
                    {inward("_up", names.inner_width, Role::ffn_up)});
        } else if (form == NetworkForm::gated) {
            const ValueId gate = inward("_gate", names.inner_width, Role::ffn_up);
            y = add(gating, active, {gate, inward("_up", names.inner_width, Role::ffn_up)});
        } else {
            const ValueId both = inward("_gate_up", 2 * names.inner_width, Role::fused_gate_up);
            const auto half = [&](const char* part, int64_t begin) {
                return add(ir::Slice{.begin = begin, .extent = names.inner_width}, named(names.part + part),
                           {both});
            };
            const ValueId gate = half("_gate", 0);
            y = add(gating, active, {gate, half("_up", names.inner_width)});
        }
        return linear(
            named(names.part + "_down"), y,
            {names.down_type, names.out, names.inner_width, {Role::ffn_down, named(names.part)}, names.bias});
    }

    ValueId router(ValueId x) {
        const NetworkChoices& n = choices_.network;
        if (n.router == RouterForm::matrix)
            return linear(named("router"), x, {DType::F32, n.experts, choices_.width, {}, n.bias});
        return plain(NetworkForm::plain, x, {"router", 5, DType::F32, n.experts, false});
    }

    ValueId expert_linear(const char* part, ValueId x, ValueId ids, const Matrix& matrix) {
        const int64_t count = choices_.network.experts;
        const ValueId w = weight(named(part), matrix.type, {count, matrix.out, matrix.in}, matrix.cut);
        const ValueId product = add(ir::MatmulExperts{}, named(part), {x, w, ids});
        if (!matrix.bias) return product;
        const Role role = matrix.cut.role == Role::expert_down ? Role::expert_down_bias : matrix.cut.role;
        const ValueId b = weight(named(part) + std::string(".bias"), DType::F32, {count, matrix.out},
                                 {role, matrix.cut.part});
        return add(ir::AddExpertBias{}, named(part) + std::string(".biased"), {product, b, ids});
    }

    ValueId experts(ValueId x) {
        const NetworkChoices& n = choices_.network;
        const std::vector<ValueId> chosen = add_all(
            ir::TopKExperts{.used = n.used, .renormalise = n.renormalise}, named("choice"), {router(x)});
        const auto inward = [&](const char* part) {
            return expert_linear(part, x, chosen[0],
                                 {choices_.input_type,
                                  n.inner_width,
                                  choices_.width,
                                  {Role::expert_up, named("ffn")},
                                  n.bias});
        };
        const ValueId gate = inward("gate_exps");
        const ValueId up = inward("up_exps");
        const ir::Op gating = n.swiglu ? ir::Op(ir::ClampedSwiglu{.limit = 2.0f})
                                       : ir::Op(ir::GatedActivate{.activation = n.activation});
        const ValueId active = add(gating, named("exps_active"), {gate, up});
        const ValueId down = expert_linear(
            "down_exps", active, chosen[0],
            {n.down_type, choices_.width, n.inner_width, {Role::expert_down, named("ffn")}, n.bias});
        const ValueId sum = add(ir::WeightedSum{}, named("exps_sum"), {down, chosen[1]});
        return n.shared_width == 0 ? sum : add(ir::Add{}, named("exps_out"), {sum, shared_expert(x)});
    }

    ValueId shared_expert(ValueId x) {
        const ValueId logit = linear(named("shexp_gate"), x, {DType::F32, 1, choices_.width});
        const ValueId share =
            add(ir::Activate{.activation = ir::Activation::sigmoid}, named("shexp_share"), {logit});
        const ValueId y = plain(NetworkForm::gated, x,
                                {"shexp", choices_.network.shared_width, DType::F32, choices_.width, false});
        const ValueId alone = add(ir::SplitHeads{.heads = 1}, named("shexp_alone"), {y});
        return add(ir::WeightedSum{}, named("shexp_out"), {alone, share});
    }

    // --- state: layers with a window form a group of their own, and one page list serves both groups

    void declare_state() {
        places_.assign(static_cast<size_t>(choices_.layers), 0);
        size_t next = 0;
        for (const bool windowed : {false, true}) {
            ir::StateGroupSpec group{.name = windowed ? "windowed" : "full"};
            for (layer_ = 0; layer_ < choices_.layers; ++layer_) {
                if ((choices_.windows[static_cast<size_t>(layer_)] > 0) != windowed) continue;
                const AttentionChoices& a = choices_.attention;
                const auto tensor = [&](const char* name, DType type, int64_t width) {
                    group.tensors.push_back(
                        {named(name), type, a.kv_heads, width, attention_cut(Role::key_value)});
                    state_.push_back({type, {pages(), a.kv_heads, choices_.page_tokens, width}});
                };
                places_[static_cast<size_t>(layer_)] = next;
                next += 2;
                tensor("k", a.key_cache, a.key_width);
                tensor("v", a.value_cache, a.value_width);
            }
            if (!group.tensors.empty()) groups_.push_back(std::move(group));
        }
        for (size_t i = 0; i < state_.size(); ++i)
            states_.push_back(graph_.state(static_cast<int32_t>(i), "state." + std::to_string(i), state_[i]));
    }

    size_t place_of(int64_t layer) const { return places_[static_cast<size_t>(layer)]; }

    void copy_pages() {
        if (!states_.empty()) states_ = add_all(ir::CopyPages{}, "copy_pages", states_);
    }

    // --- what is expected

    // Two for each layer; one if both halves' sums may be added before they are complete. What stands in the
    // way is a norm, a tap, or a factor that would have to go to a bias as well.
    int64_t collectives_of_layer() const {
        const AttentionChoices& a = choices_.attention;
        const NetworkChoices& n = choices_.network;
        const bool moe = n.form == NetworkForm::experts;
        const bool term_in_the_way = choices_.residual_scale && (a.output_bias || (!moe && n.bias));
        const bool one = choices_.parallel && !choices_.post_norms && !choices_.half_taps && !term_in_the_way;
        int64_t count = one ? 1 : 2;
        if (a.norms == HeadNormForm::whole) ++count;
        if (moe && n.router == RouterForm::network) ++count;
        return count;
    }

    int64_t expected_collectives() const {
        int64_t count = choices_.layers * collectives_of_layer();
        switch (choices_.embedding) {
            case EmbeddingSplit::automatic:
                return count + (choices_.tied ? 1 : 0);
            case EmbeddingSplit::mirrored:
                return count;
            case EmbeddingSplit::vocabulary:
                return count + 1;
            case EmbeddingSplit::hidden:
                return count + (choices_.tied ? 2 : 1);  // the logits are a sum then
        }
        return count;
    }

    // A value near the middle between two of a cache's codes may fall either way.
    static double tolerance_of(DType cache) {
        if (cache == DType::F32) return 1e-9;
        return cache == DType::F16 ? 1e-6 : 1e-3;
    }

    RandomModel finish() {
        RandomModel model{.choices = choices_,
                          .weights = std::move(weights_),
                          .groups = std::move(groups_),
                          .state = std::move(state_),
                          .graph = std::move(graph_),
                          .step = step()};
        model.cut = {choices_.ratios, choices_.embedding, choices_.experts};
        uint64_t seed = choices_.seed * 1000;
        for (const ir::WeightSpec& spec : model.weights)
            model.weight_data.push_back(data_of(spec.desc, ++seed));
        for (const TensorDesc& desc : model.state)
            model.state_data.push_back(ir::test::make_tensor(desc, ++seed));
        model.collectives = expected_collectives();
        const AttentionChoices& a = choices_.attention;
        model.normalises_rows = a.norms == HeadNormForm::whole && choices_.layer_norm && choices_.layers > 0;
        model.tolerance = std::max(tolerance_of(a.key_cache), tolerance_of(a.value_cache));
        return model;
    }

    // Matrices keep the size of what they are multiplied with; other tensors have values below 1.
    static TestTensor data_of(const TensorDesc& desc, uint64_t seed) {
        if (desc.shape.rank() < 2 || dtype::info(desc.type).encode == nullptr)
            return ir::test::make_tensor(desc, seed);
        std::vector<float> values = ir::test::random_values(desc.shape.elements(), seed);
        const float factor = std::sqrt(3.0f / static_cast<float>(desc.shape.last()));
        for (float& value : values) value *= factor;
        return ir::test::make_tensor(desc, values);
    }

    Choices choices_;
    ir::Graph graph_;
    std::vector<ir::WeightSpec> weights_;
    std::vector<ir::StateGroupSpec> groups_;
    std::vector<TensorDesc> state_;
    std::vector<ValueId> states_;  // their current versions
    std::vector<size_t> places_;   // by layer, of its keys in state_
    ValueId table_ = -1;
    ValueId angles_ = -1;
    int64_t layer_ = 0;
    int32_t tap_ = 0;
};

}  // namespace

RandomModel make_model(const Choices& choices) { return ModelMaker(choices).make(); }

std::ostream& operator<<(std::ostream& os, const Choices& c) {
    const auto flag = [&](const char* name, bool value) {
        if (value) os << ' ' << name;
    };
    const auto name_of = [](DType type) { return dtype::info(type).name; };
    const AttentionChoices& a = c.attention;
    const NetworkChoices& n = c.network;
    os << "width " << c.width << ", vocabulary " << c.vocabulary << ", layers " << c.layers << ", matrices "
       << name_of(c.input_type) << ':';
    flag("tied", c.tied);
    flag("learned_positions", c.learned_positions);
    flag("embedding_norm", c.embedding_norm);
    flag("layer_norm", c.layer_norm);
    flag("post_norms", c.post_norms);
    flag("parallel", c.parallel);
    flag("second_norm", c.second_norm);
    flag("embedding_scale", c.embedding_scale);
    flag("residual_scale", c.residual_scale);
    flag("logit_scale", c.logit_scale);
    flag("logit_cap", c.logit_cap);
    flag("logit_bias", c.logit_bias);
    flag("taps", c.taps);
    flag("half_taps", c.half_taps);
    os << "\nwindows";
    for (const int64_t window : c.windows) os << ' ' << window;
    os << "\nattention " << a.query_heads() << '/' << a.kv_heads << " heads of " << a.key_width << " and "
       << a.value_width << ", output " << name_of(a.output_type) << ", caches " << name_of(a.key_cache)
       << " and " << name_of(a.value_cache) << ", head norms " << static_cast<int>(a.norms) << ", rotation "
       << static_cast<int>(a.positions) << ':';
    flag("fused", a.fused);
    flag("bias", a.bias);
    flag("output_bias", a.output_bias);
    flag("clamp", a.clamp);
    flag("sinks", a.sinks);
    flag("alibi", a.alibi);
    flag("soft_cap", a.soft_cap);
    flag("norm_bias", a.norm_bias);
    flag("divisors", a.divisors);
    os << "\nnetwork form " << static_cast<int>(n.form) << ", inner width " << n.inner_width
       << ", activation " << ir::activation_name(n.activation) << ", down " << name_of(n.down_type) << ':';
    flag("bias", n.bias);
    if (n.form == NetworkForm::experts) {
        os << " experts " << n.used << " of " << n.experts << ", router " << static_cast<int>(n.router)
           << ", shared " << n.shared_width << ':';
        flag("renormalise", n.renormalise);
        flag("swiglu", n.swiglu);
    }
    os << "\nsequences (past + tokens)";
    for (const auto& sequence : c.sequences) os << ' ' << sequence.past << '+' << sequence.tokens;
    os << ", spare " << c.spare_tokens << " and " << c.spare_outputs << ", pages of " << c.page_tokens << ':';
    flag("all_rows", c.all_rows);
    flag("page_copy", c.page_copy);
    os << "\nratios";
    for (const double ratio : c.ratios) os << ' ' << ratio;
    os << ", embedding " << static_cast<int>(c.embedding) << ", experts " << static_cast<int>(c.experts)
       << ", seed " << c.seed << '\n';
    return os;
}

}  // namespace plait::plan::test

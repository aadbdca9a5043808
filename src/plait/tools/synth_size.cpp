#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <set>

#include "plait/base/error.h"
#include "plait/base/quote.h"
#include "plait/tools/synth.h"
#include "plait/tools/synth_arch.h"

namespace plait::tools {
namespace {

constexpr int64_t kLargest = 1 << 20;  // of any dimension, so that the weights of a matrix fit an int64
constexpr int64_t kMostLayers = 10'000;
constexpr int64_t kSmallestVocabulary = 3;  // a byte, begin and end
constexpr int64_t kUsualExperts = 8;        // of architectures that cannot be without

struct Field {
    std::string_view name;
    int64_t SynthSize::*member;
    int64_t smallest = 1;
    int64_t largest = kLargest;
};

constexpr Field kFields[] = {
    {.name = "layers", .member = &SynthSize::layers, .largest = kMostLayers},
    {.name = "width", .member = &SynthSize::width},
    {.name = "heads", .member = &SynthSize::heads},
    {.name = "kv_heads", .member = &SynthSize::kv_heads},
    {.name = "head_dim", .member = &SynthSize::head_dim},
    {.name = "ffn", .member = &SynthSize::ffn},
    {.name = "vocab", .member = &SynthSize::vocab, .smallest = kSmallestVocabulary},
    {.name = "experts", .member = &SynthSize::experts, .smallest = 0},
    {.name = "used", .member = &SynthSize::used},
    {.name = "ctx", .member = &SynthSize::ctx},
    {.name = "window", .member = &SynthSize::window},
};

// 0: derived from the others once they are known.
constexpr int64_t kDerived = 0;

struct Preset {
    std::string_view name;
    SynthSize size;
};

constexpr Preset kPresets[] = {
    {"tiny",
     {.layers = 2,
      .width = 256,
      .heads = 4,
      .kv_heads = 2,
      .head_dim = kDerived,
      .ffn = 512,
      .vocab = 512,
      .experts = 0,
      .used = kDerived,
      .ctx = 512,
      .window = kDerived}},
    {"1b",
     {.layers = 16,
      .width = 2048,
      .heads = 32,
      .kv_heads = 8,
      .head_dim = kDerived,
      .ffn = 8192,
      .vocab = 32000,
      .experts = 0,
      .used = kDerived,
      .ctx = 8192,
      .window = kDerived}},
};

template <class Table>
std::string names(const Table& table) {
    std::string all;
    for (const auto& row : table) all += fmt::format("{}{}", all.empty() ? "" : ", ", row.name);
    return all;
}

const Preset* find_preset(std::string_view name) {
    const auto* at = std::ranges::find(kPresets, name, &Preset::name);
    return at == std::end(kPresets) ? nullptr : at;
}

int64_t parse_count(const Field& field, std::string_view text) {
    int64_t value = 0;
    const char* end = text.data() + text.size();
    const auto [stop, problem] = std::from_chars(text.data(), end, value);
    if (problem != std::errc() || stop != end || value < field.smallest || value > field.largest)
        throw Error(fmt::format("size: {} is {}, expected a whole number from {} to {}", field.name,
                                quote(text), field.smallest, field.largest));
    return value;
}

void assign(SynthSize& size, std::string_view item, std::set<std::string_view>& seen) {
    const size_t equals = item.find('=');
    if (equals == std::string_view::npos)
        throw Error(fmt::format("size: {} is neither a preset at the front ({}) nor key=value", quote(item),
                                names(kPresets)));
    const std::string_view key = item.substr(0, equals);
    const auto* field = std::ranges::find(kFields, key, &Field::name);
    if (field == std::end(kFields))
        throw Error(fmt::format("size: unknown key {}, expected one of {}", quote(key), names(kFields)));
    if (!seen.insert(key).second) throw Error(fmt::format("size: {} is given twice", key));
    size.*field->member = parse_count(*field, item.substr(equals + 1));
}

void derive(const SynthArch& arch, SynthSize& size) {
    if (size.kv_heads == kDerived) size.kv_heads = size.heads;
    if (size.head_dim == kDerived) {
        if (size.width % size.heads != 0)
            throw Error(
                fmt::format("size: a width of {} cannot be divided among {} heads; give head_dim, or other "
                            "numbers",
                            size.width, size.heads));
        size.head_dim = size.width / size.heads;
    }
    if (size.used == kDerived && size.experts > 0) size.used = std::min<int64_t>(2, size.experts);
    if (size.window == kDerived) size.window = arch.window;
}

void check_attention(const SynthArch& arch, const SynthSize& size) {
    if (size.head_dim % 2 != 0)
        throw Error(fmt::format("size: head_dim is {}, expected an even number (rotary positions turn pairs)",
                                size.head_dim));
    if (size.heads * size.head_dim > kLargest)
        throw Error(
            fmt::format("size: {} heads of {} are more than {} wide", size.heads, size.head_dim, kLargest));
    if (size.heads % size.kv_heads != 0)
        throw Error(
            fmt::format("size: {} heads cannot be divided among {} kv_heads", size.heads, size.kv_heads));
    if (!arch.grouped_heads && size.kv_heads != size.heads)
        throw Error(fmt::format("size: {} has as many kv_heads as heads, found {} and {}", arch.name,
                                size.kv_heads, size.heads));
    if (arch.window == 0 && size.window > 0)
        throw Error(fmt::format("size: {} has no layers with a window", arch.name));
    if (!arch.free_head_dim && size.head_dim * size.heads != size.width)
        throw Error(fmt::format("size: in {} heads times head_dim is the width, found {} times {} and {}",
                                arch.name, size.heads, size.head_dim, size.width));
}

void check_experts(const SynthArch& arch, const SynthSize& size) {
    if (arch.experts == SynthExperts::never && size.experts > 0)
        throw Error(fmt::format("size: {} has no experts", arch.name));
    if (arch.experts == SynthExperts::always && size.experts == 0)
        throw Error(fmt::format("size: {} is made of experts, found 0", arch.name));
    if (size.experts == 0 && size.used > 0) throw Error("size: used is given, but experts is not");
    if (size.used > size.experts)
        throw Error(fmt::format("size: {} experts used of {}", size.used, size.experts));
}

}  // namespace

SynthSize parse_synth_size(std::string_view arch_name, std::string_view text) {
    const SynthArch& arch = find_synth_arch(arch_name);
    const std::string_view front = text.substr(0, text.find(','));
    const Preset* preset = find_preset(front);
    SynthSize size = preset ? preset->size : find_preset("tiny")->size;
    if (!arch.grouped_heads) size.kv_heads = kDerived;
    if (arch.experts == SynthExperts::always) size.experts = kUsualExperts;

    std::set<std::string_view> seen;
    bool first = true;
    for (size_t at = 0; at <= text.size(); first = false) {
        const size_t comma = std::min(text.find(',', at), text.size());
        if (!(first && preset)) assign(size, text.substr(at, comma - at), seen);
        at = comma + 1;
    }
    derive(arch, size);
    check_attention(arch, size);
    check_experts(arch, size);
    return size;
}

}  // namespace plait::tools

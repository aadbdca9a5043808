#include "plait/text/jinja/value.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <compare>

#include "plait/base/ensure.h"
#include "plait/text/jinja/budget.h"
#include "plait/text/jinja/fault.h"

namespace plait::text::jinja {
namespace {

int around(int inner) {
    if (inner >= kMaxValueDepth) {
        throw Fault(fmt::format("more than {} values inside one another", kMaxValueDepth));
    }
    return inner + 1;
}

int depth_of(const std::vector<Value>& items) {
    int deepest = 0;
    for (const Value& item : items) deepest = std::max(deepest, item.depth());
    return around(deepest);
}

// Which keys can be equal at all.
int key_class(const Value& key) { return key.is_none() ? 0 : key.is_number() ? 1 : 2; }

// NaN comes first and equals itself: an order must be total.
std::weak_ordering compare_numbers(const Value& left, const Value& right) {
    const auto a = left.integer(), b = right.integer();
    if (a && b) return *a <=> *b;
    // Holds every int64 and every double.
    static_assert(std::numeric_limits<long double>::digits >= 64);
    const long double x = a ? static_cast<long double>(*a) : left.real();
    const long double y = b ? static_cast<long double>(*b) : right.real();
    if (std::isnan(x) || std::isnan(y)) return std::isnan(y) <=> std::isnan(x);
    return x < y   ? std::weak_ordering::less
           : x > y ? std::weak_ordering::greater
                   : std::weak_ordering::equivalent;
}

}  // namespace

Sequence::Sequence(std::vector<Value> members) : items(std::move(members)), depth(depth_of(items)) {}

Value::Value(Dict dict) : data_(std::make_shared<const Dict>(std::move(dict))) {}

Value Value::list(std::vector<Value> items) {
    Value value;
    value.data_ = List{std::make_shared<const Sequence>(std::move(items))};
    return value;
}

Value Value::tuple(std::vector<Value> items) {
    Value value;
    value.data_ = Tuple{std::make_shared<const Sequence>(std::move(items))};
    return value;
}

double Value::real() const {
    if (const auto* number = std::get_if<double>(&data_)) return *number;
    const auto whole = integer();
    ENSURE(whole, "the value of something that is no number");
    return static_cast<double>(*whole);
}

std::optional<int64_t> Value::integer() const {
    if (const auto* number = std::get_if<int64_t>(&data_)) return *number;
    if (const auto* flag = std::get_if<bool>(&data_)) return *flag ? 1 : 0;
    return std::nullopt;
}

const std::vector<Value>& Value::items() const {
    if (const auto* list = std::get_if<List>(&data_)) return list->items->items;
    return std::get<Tuple>(data_).items->items;
}

int Value::depth() const {
    if (const auto* list = std::get_if<List>(&data_)) return list->items->depth;
    if (const auto* tuple = std::get_if<Tuple>(&data_)) return tuple->items->depth;
    if (is_dict()) return dict().depth();
    return is_object() ? object().depth() : 0;
}

std::string_view Value::type_name() const {
    struct Names {
        std::string_view operator()(const Undefined&) const { return "Undefined"; }
        std::string_view operator()(None) const { return "NoneType"; }
        std::string_view operator()(bool) const { return "bool"; }
        std::string_view operator()(int64_t) const { return "int"; }
        std::string_view operator()(double) const { return "float"; }
        std::string_view operator()(const Text&) const { return "str"; }
        std::string_view operator()(const List&) const { return "list"; }
        std::string_view operator()(const Tuple&) const { return "tuple"; }
        std::string_view operator()(const DictData&) const { return "dict"; }
        std::string_view operator()(const std::shared_ptr<Object>& object) const {
            return object->type_name();
        }
    };
    return std::visit(Names(), data_);
}

bool Value::same_storage(const Value& other) const {
    if (data_.index() != other.data_.index()) return false;
    if (is_sequence()) return &items() == &other.items();
    if (is_dict()) return &dict() == &other.dict();
    if (is_object()) return &object() == &other.object();
    return is_text() && &text() == &other.text();
}

Dict::Dict(std::vector<Entry> entries) {
    std::vector<uint32_t> order(entries.size());
    for (size_t i = 0; i < entries.size(); ++i) {
        if (!can_be_key(entries[i].first)) {
            throw Fault(fmt::format("a {} cannot be a key", entries[i].first.type_name()));
        }
        order[i] = static_cast<uint32_t>(i);
    }
    std::ranges::stable_sort(
        order, [&](uint32_t a, uint32_t b) { return compare_keys(entries[a].first, entries[b].first) < 0; });
    std::vector<bool> repeated(entries.size());
    for (size_t i = 0; i < order.size();) {
        const uint32_t first = order[i];
        for (++i; i < order.size() && compare_keys(entries[first].first, entries[order[i]].first) == 0; ++i) {
            entries[first].second = std::move(entries[order[i]].second);
            repeated[order[i]] = true;
        }
    }
    std::vector<uint32_t> place(entries.size());
    int deepest = 0;
    for (size_t i = 0; i < entries.size(); ++i) {
        if (repeated[i]) continue;
        place[i] = static_cast<uint32_t>(entries_.size());
        deepest = std::max(deepest, entries[i].second.depth());
        entries_.push_back(std::move(entries[i]));
    }
    for (const uint32_t i : order) {
        if (!repeated[i]) by_key_.push_back(place[i]);
    }
    depth_ = around(deepest);
}

const Value* Dict::find(const Value& key) const {
    const auto at = std::ranges::lower_bound(
        by_key_, key, [](const Value& a, const Value& b) { return compare_keys(a, b) < 0; },
        [&](uint32_t i) -> const Value& { return entries_[i].first; });
    if (at == by_key_.end() || compare_keys(entries_[*at].first, key) != 0) return nullptr;
    return &entries_[*at].second;
}

bool Dict::can_be_key(const Value& value) { return value.is_text() || value.is_number() || value.is_none(); }

std::weak_ordering Dict::compare_keys(const Value& left, const Value& right) {
    if (const auto order = key_class(left) <=> key_class(right); order != 0) return order;
    if (left.is_none()) return std::weak_ordering::equivalent;
    if (left.is_text()) return left.text() <=> right.text();
    return compare_numbers(left, right);
}

Value Object::call(const Arguments&) { throw Fault(fmt::format("a {} cannot be called", type_name())); }

Iterable::Iterable(Kind kind, std::string type_name, std::vector<Value> items)
    : kind_(kind), type_name_(std::move(type_name)), items_(std::move(items)), depth_(depth_of(items_)) {}

Value Iterable::iterator(std::vector<Value> items) {
    return Value(std::make_shared<Iterable>(Kind::iterator, "generator", std::move(items)));
}

std::vector<Value> Iterable::take() {
    if (kind_ != Kind::iterator) return items_;
    std::vector<Value> rest(items_.begin() + static_cast<std::ptrdiff_t>(next_), items_.end());
    next_ = items_.size();
    return rest;
}

std::optional<Value> Iterable::take_one() {
    if (next_ >= items_.size()) return std::nullopt;
    return kind_ == Kind::iterator ? items_[next_++] : items_[0];
}

std::optional<Value> Namespace::attribute(std::string_view name) const {
    const auto at = entries_.find(name);
    return at == entries_.end() ? std::nullopt : std::optional(at->second);
}

void Namespace::set(std::string_view name, Value value) {
    entries_.insert_or_assign(std::string(name), std::move(value));
}

}  // namespace plait::text::jinja

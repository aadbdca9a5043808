#pragma once

#include <compare>
#include <concepts>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

// The values that templates compute with: Python's, as far as templates can see them. They do not change once
// made, except what namespaces and iterators hold. Copies share. For one thread at a time.
namespace plait::text::jinja {

class Value;
class Dict;
class Object;

struct None {
    bool operator==(const None&) const = default;
};

// What a name or attribute that does not exist stands for. Prints as nothing, is false and empty; any other
// use is a fault with this text.
struct Undefined {
    std::shared_ptr<const std::string> why;  // "'name' is undefined"; null: the plain undefined value
};

// A list or tuple.
struct Sequence {
    explicit Sequence(std::vector<Value> members);

    std::vector<Value> items;
    int depth;
};
struct List {
    std::shared_ptr<const Sequence> items;
};
struct Tuple {
    std::shared_ptr<const Sequence> items;
};

class Value {
  public:
    Value() = default;  // undefined
    Value(None none) : data_(none) {}
    Value(Undefined undefined) : data_(std::move(undefined)) {}
    Value(std::same_as<bool> auto flag) : data_(flag) {}
    template <class Integer>
    requires(std::integral<Integer> && !std::same_as<Integer, bool>) Value(Integer number)
        : data_(static_cast<int64_t>(number)) {}
    Value(double number) : data_(number) {}
    Value(std::string text) : data_(std::make_shared<const std::string>(std::move(text))) {}
    Value(std::string_view text) : Value(std::string(text)) {}
    Value(const char* text) : Value(std::string(text)) {}
    Value(Dict dict);
    Value(std::shared_ptr<Object> object) : data_(std::move(object)) {}
    // Throw Fault when values nest deeper than kMaxValueDepth.
    static Value list(std::vector<Value> items);
    static Value tuple(std::vector<Value> items);

    bool is_undefined() const { return std::holds_alternative<Undefined>(data_); }
    bool is_none() const { return std::holds_alternative<None>(data_); }
    bool is_bool() const { return std::holds_alternative<bool>(data_); }
    bool is_int() const { return std::holds_alternative<int64_t>(data_); }
    bool is_float() const { return std::holds_alternative<double>(data_); }
    bool is_number() const { return is_bool() || is_int() || is_float(); }  // as for Python, bools are
    bool is_text() const { return std::holds_alternative<Text>(data_); }
    bool is_list() const { return std::holds_alternative<List>(data_); }
    bool is_tuple() const { return std::holds_alternative<Tuple>(data_); }
    bool is_sequence() const { return is_list() || is_tuple(); }
    bool is_dict() const { return std::holds_alternative<DictData>(data_); }
    bool is_object() const { return std::holds_alternative<std::shared_ptr<Object>>(data_); }

    // Of values that are such; anything else is a bug.
    const Undefined& undefined() const { return std::get<Undefined>(data_); }
    double real() const;                     // of any number
    std::optional<int64_t> integer() const;  // of ints and bools; otherwise nothing
    const std::string& text() const { return *std::get<Text>(data_); }
    const std::vector<Value>& items() const;  // of a list or tuple
    const Dict& dict() const { return *std::get<DictData>(data_); }
    Object& object() const { return *std::get<std::shared_ptr<Object>>(data_); }
    // The object as a Thing; null if it, or the value, is none.
    template <class Thing>
    Thing* object_as() const;

    int depth() const;                            // of values inside this one; 0: none can be
    std::string_view type_name() const;           // Python's: "str", "NoneType"
    bool same_storage(const Value& other) const;  // both are one container or text

  private:
    using Text = std::shared_ptr<const std::string>;
    using DictData = std::shared_ptr<const Dict>;

    std::variant<Undefined, None, bool, int64_t, double, Text, List, Tuple, DictData, std::shared_ptr<Object>>
        data_;
};

// Keys in the order they came, each a text, number, bool or none.
class Dict {
  public:
    using Entry = std::pair<Value, Value>;

    Dict() = default;
    // Of equal keys the first gives the place and the last the value, as in Python. Throws Fault for other
    // keys and for values that nest too deep. Takes n log n time.
    explicit Dict(std::vector<Entry> entries);

    const std::vector<Entry>& entries() const { return entries_; }
    size_t size() const { return entries_.size(); }
    // Null when missing. Takes log n time.
    const Value* find(const Value& key) const;
    int depth() const { return depth_; }

    static bool can_be_key(const Value& value);
    // An order of all possible keys; 1, 1.0 and true are one key.
    static std::weak_ordering compare_keys(const Value& left, const Value& right);

  private:
    std::vector<Entry> entries_;
    std::vector<uint32_t> by_key_;  // positions in entries_
    int depth_ = 1;
};

// What a call hands over.
struct Arguments {
    std::vector<Value> positional;
    std::vector<std::pair<std::string, Value>> named;
};

// Everything that is no plain data: functions, namespaces, loops, iterators.
class Object {
  public:
    virtual ~Object() = default;
    virtual std::string_view type_name() const = 0;
    // Nothing: there is no such attribute.
    virtual std::optional<Value> attribute(std::string_view) const { return std::nullopt; }
    virtual bool callable() const { return false; }
    // Only if callable; throws Fault.
    virtual Value call(const Arguments& arguments);
    // Drops the values that may lead back here.
    virtual void forget() {}
    virtual int depth() const { return 0; }
};

template <class Thing>
Thing* Value::object_as() const {
    return is_object() ? dynamic_cast<Thing*>(&object()) : nullptr;
}

// What Python calls an iterable that is no list: ranges, the views of dicts, and what filters like `map`
// yield.
class Iterable : public Object {
  public:
    enum class Kind : uint8_t {
        iterator,  // each item comes once; it has no length and is always true
        view,      // can be counted and walked again
        range,     // and indexed
    };
    Iterable(Kind kind, std::string type_name, std::vector<Value> items);
    static Value iterator(std::vector<Value> items);

    std::string_view type_name() const override { return type_name_; }
    int depth() const override { return depth_; }
    Kind kind() const { return kind_; }
    const std::vector<Value>& all() const { return items_; }
    // The items still to come; of an iterator they are then gone.
    std::vector<Value> take();
    std::optional<Value> take_one();

  private:
    Kind kind_;
    std::string type_name_;
    std::vector<Value> items_;
    size_t next_ = 0;
    int depth_;
};

// Attributes that `set` may assign to.
class Namespace : public Object {
  public:
    std::string_view type_name() const override { return "Namespace"; }
    std::optional<Value> attribute(std::string_view name) const override;
    void forget() override { entries_.clear(); }
    void set(std::string_view name, Value value);
    const std::map<std::string, Value, std::less<>>& entries() const { return entries_; }

  private:
    std::map<std::string, Value, std::less<>> entries_;
};

}  // namespace plait::text::jinja

#include "plait/gguf/cursor.h"

#include <fmt/format.h>

#include "plait/base/error.h"
#include "plait/base/quote.h"

namespace plait::gguf {

void Cursor::enter(std::string_view kind, uint64_t index, uint64_t count) {
    kind_ = kind;
    name_ = {};
    index_ = index;
    count_ = count;
    start_ = offset_;
}

void Cursor::revisit(std::string_view kind, std::string_view name) {
    enter(kind, 0, 1);
    set_name(name);
    const auto* name_data = reinterpret_cast<const std::byte*>(name.data());
    start_ =
        static_cast<uint64_t>(name_data - bytes_.data()) - sizeof(uint64_t);  // the length before the name
}

std::string_view Cursor::string(std::string_view what) {
    const auto length = number<uint64_t>(what);
    return {reinterpret_cast<const char*>(take(length, what)), length};
}

const std::byte* Cursor::elements(uint64_t count, uint64_t size, std::string_view what) {
    if (count > remaining() / size)
        fail(fmt::format("the {} needs {} times {} bytes at byte {}, but the file ends at byte {}", what,
                         count, size, offset_, bytes_.size()));
    return take(count * size, what);
}

void Cursor::fail(std::string_view problem) const {
    std::string thing(kind_);
    if (!name_.empty())
        thing += " " + quote(name_);
    else if (count_ > 0)
        thing += fmt::format(" {} of {}", index_ + 1, count_);
    throw Error(fmt::format("{}: {} at byte {}: {}", source_, thing, start_, problem));
}

const std::byte* Cursor::take(uint64_t bytes, std::string_view what) {
    if (bytes > remaining())
        fail(fmt::format("the {} needs {} bytes at byte {}, but the file ends at byte {}", what, bytes,
                         offset_, bytes_.size()));
    const std::byte* data = here();
    offset_ += bytes;
    return data;
}

}  // namespace plait::gguf

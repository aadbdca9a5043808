#pragma once

#include <cstddef>
#include <cstdint>

namespace plait::text::jinja {

// How much one rendering may do. A template comes from a file that anybody may have written, so everything it
// can make grow is counted. The defaults leave conversations of a million tokens alone and end a hostile
// template within seconds.
struct Limits {
    // Nodes evaluated, items visited, and each 64 bytes of text looked at.
    int64_t steps = 10'000'000;
    // Bytes of all texts and containers made, output included, whether kept or not: so also the most memory.
    int64_t bytes = int64_t{256} << 20;
    // Statements, expressions and macro calls inside one another, while rendering.
    int depth = 600;
};

// Values inside values: lists of lists and so on. Bounds every recursion over a value.
inline constexpr int kMaxValueDepth = 100;
// Brackets and blocks inside one another, in a template's text. Bounds the parser's recursion.
inline constexpr int kMaxNesting = 150;
// Operators in one tag: each may wrap what stands before it. With the former, bounds the depth of the tree.
inline constexpr int kMaxOperators = 1000;
// As Jinja's sandbox has it.
inline constexpr int64_t kMaxRange = 100'000;

// What is left of the limits. Throws Fault when nothing is.
class Budget {
  public:
    explicit Budget(Limits limits) : left_(limits), limits_(limits) {}

    void step(int64_t count = 1) {
        if ((left_.steps -= count) < 0) refuse_steps();
    }
    void look_at(size_t text_bytes) { step(1 + static_cast<int64_t>(text_bytes / 64)); }
    // Before the bytes are made.
    void make(size_t bytes) {
        step(1 + static_cast<int64_t>(bytes / 64));
        if (bytes > static_cast<size_t>(left_.bytes)) refuse_bytes();
        left_.bytes -= static_cast<int64_t>(bytes);
    }

    // For as long as something is being evaluated.
    class Level {
      public:
        explicit Level(Budget& budget) : budget_(budget) {
            if (--budget_.left_.depth < 0) budget_.refuse_depth();
        }
        ~Level() { ++budget_.left_.depth; }
        Level(const Level&) = delete;
        Level& operator=(const Level&) = delete;

      private:
        Budget& budget_;
    };

  private:
    [[noreturn]] void refuse_steps() const;
    [[noreturn]] void refuse_bytes() const;
    [[noreturn]] void refuse_depth();

    Limits left_;
    Limits limits_;
};

}  // namespace plait::text::jinja

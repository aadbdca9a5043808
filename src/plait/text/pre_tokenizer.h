#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "plait/text/pre_rules.h"

struct pcre2_real_code_8;

namespace plait::text {

// Cuts text by a rule's patterns, compiled once (PCRE2, just in time where the machine allows it). Const
// methods are thread-safe, each caller with its own Scratch.
//
// Bounds: nothing recurses; compiled patterns backtrack on a stack of their own of at most 1 MiB; a search
// may take a fixed number of steps per byte, after which Error is thrown. No text makes today's patterns come
// near either.
class PreTokenizer {
  public:
    explicit PreTokenizer(const PreRule& rule);

    // PCRE2's working memory. Making one costs some microseconds; it may serve many calls, one at a time.
    class Scratch {
      public:
        Scratch();
        ~Scratch();

      private:
        friend class PreTokenizer;
        struct Pcre;
        std::unique_ptr<Pcre> pcre_;
    };

    // The pieces of `text`, in order, which together are `text`. `text` need not be UTF-8: a byte that is
    // part of no character is a piece of its own, and the patterns see what lies before and after as separate
    // texts.
    std::vector<std::string_view> split(std::string_view text, Scratch& scratch) const;

  private:
    struct FreeCode {
        void operator()(pcre2_real_code_8* code) const;
    };
    using Code = std::unique_ptr<pcre2_real_code_8, FreeCode>;

    static Code compile(std::string_view pattern);
    static void cut(const Code& code, std::string_view piece, Scratch& scratch,
                    std::vector<std::string_view>& pieces);

    std::vector<Code> patterns_;
};

}  // namespace plait::text

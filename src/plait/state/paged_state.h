#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "plait/state/page_pool.h"

namespace plait::state {

// Layers that keep their per-token state alike and share one pool of pages (architecture: state groups).
struct GroupSpec {
    std::string name;     // as errors call it
    int64_t page_tokens;  // tokens a page holds
    int64_t pages;        // in the pool, over all sequences
    int64_t window = 0;   // a token looks at itself and the window - 1 before it; 0: at all
};

// What a group is to bear at most.
struct GroupLoad {
    int64_t sequences;            // at a time
    int64_t tokens_per_sequence;  // at least 1
    int64_t tokens_per_step;      // over all sequences, at least 1
};

struct GroupNeeds {
    int64_t pages;  // with which no step within the load finds the pool empty, whatever is shared
    int64_t pages_per_sequence;  // entries of one sequence's list in a step
};

// Pages a group needs. Behind a window a sequence keeps what its next token will look at, so beyond a few
// pages its length does not matter.
GroupNeeds needed_pages(int64_t page_tokens, int64_t window, const GroupLoad& load);

// A small number, from 0 on; after release() it is given out again.
using SequenceId = int32_t;

struct Append {
    SequenceId sequence;
    int64_t tokens;  // may be 0: the step then only reads the sequence
};

// Bytes of a page to be copied by the device before the step's first write. Sources are pages from before the
// step and destinations fresh ones, so the copies of a step may run in any order and at once.
struct PageCopy {
    int32_t group;
    int32_t source;
    int32_t destination;
    bool operator==(const PageCopy&) const = default;
};

struct TestOptions {
    std::optional<uint64_t> page_order_seed;  // see PagePool
    std::function<bool()> page_fails;  // asked before each page is taken; true: the pool acts as if empty
};

class Step;

// Bookkeeping of paged per-token state: which pages of each group hold the tokens of which sequence. It knows
// page numbers, not bytes; those belong to the devices, which all use the same numbers.
//
// A fork shares pages with its parent. A page with more than one reference is never written: whoever appends
// into one gets a copy first. The one exception is a page whose holders all append in the same step: the
// longest of them keeps the page and the others copy. It writes only behind its own length, hence behind
// every other holder's too, so even after a rollback no token is lost; letting a shorter one keep it would
// overwrite tokens that a rollback brings back.
//
// In a group with a window a commit gives up the pages that lie wholly behind what the sequence's next token
// will look at. Until then a step keeps them, for its own tokens and for a rollback.
//
// Everything is reserved at construction; afterwards nothing allocates except an Error. One thread at a time.
class PagedState {
  public:
    // Throws Error naming the group and the value if a size is not positive or numbers of pages, slots (page
    // · page_tokens + offset) or list entries would not fit in 32 bits. No groups at all is fine: lengths are
    // still kept.
    PagedState(std::vector<GroupSpec> groups, int max_sequences, int64_t max_tokens_per_sequence,
               TestOptions testing = {});
    ~PagedState();
    PagedState(const PagedState&) = delete;
    PagedState& operator=(const PagedState&) = delete;

    // An empty sequence, with the lowest free number. Throws Error when all are in use.
    SequenceId create();
    // A new sequence whose `tokens` tokens are the first ones of `parent`; takes no page. Throws Error like
    // create() and truncate().
    SequenceId fork(SequenceId parent, int64_t tokens);
    // Forgets all but the first `tokens` tokens; at most the length. Throws Error, changing nothing, for
    // fewer than shortest_cut() but some: they must then be computed again.
    void truncate(SequenceId sequence, int64_t tokens);
    void release(SequenceId sequence);

    // The fewest tokens, besides none, that a sequence can be cut back to or forked at; 0 without windows.
    int64_t shortest_cut(SequenceId sequence) const;

    // Reserves what the step will write. A sequence may appear once. Throws Error, leaving everything as it
    // was, when a sequence would grow beyond max_tokens_per_sequence or a group has too few free pages
    // (saying how many the step needs and how many are free). While the step is open, only the functions
    // below may be called.
    Step begin(std::span<const Append> appends);

    int groups() const { return static_cast<int>(groups_.size()); }
    int64_t length(SequenceId sequence) const;  // committed tokens
    int64_t free_pages(int group) const;
    int64_t pages_in_use(int group) const;  // those an open step has reserved count

  private:
    friend class Step;

    struct Group {
        GroupSpec spec;
        PagePool pool;
        int64_t list_capacity;       // pages a sequence can hold at a time
        std::vector<int32_t> lists;  // page lists of all sequences, list_capacity apart: rings by page index
        // Of the open step:
        int32_t free_before = 0;
        std::vector<int32_t> copied_from;  // per append: the shared page its copy replaced, or kNoPage

        // A sequence of `tokens` tokens holds its pages [first_page, pages_for); neither is stored.
        int64_t pages_for(int64_t tokens) const;
        int64_t first_page(int64_t tokens) const;
        int32_t& page(SequenceId sequence, int64_t index) {
            return lists[sequence * list_capacity + index % list_capacity];
        }
        int32_t page(SequenceId sequence, int64_t index) const {
            return lists[sequence * list_capacity + index % list_capacity];
        }
    };

    struct Sequence {
        bool alive = false;
        bool in_step = false;
        int64_t length = 0;
    };

    struct Growth {
        SequenceId sequence;
        int64_t from;  // length before the step
        int64_t to;    // and after it
    };

    struct Demand {
        int64_t pages = 0;  // needed so far
        int64_t taken = 0;  // stays behind once a page could not be taken
    };

    static Group make_group(GroupSpec spec, int max_sequences, int64_t max_tokens,
                            const TestOptions& testing);
    Sequence& live(SequenceId sequence);
    const Sequence& live(SequenceId sequence) const;
    const Group& group(int index) const;
    void require_no_step() const;
    void require_kept(SequenceId sequence, int64_t tokens) const;

    void open(std::span<const Append> appends);
    void record(const Append& append);
    void reserve(int index);
    void own_last_page(int index, size_t append, Demand& demand);
    void extend(Group& group, const Growth& growth, Demand& demand);
    int32_t take(Group& group, Demand& demand);
    void commit();
    void rollback();
    void close();

    TestOptions testing_;
    int64_t max_tokens_;
    std::vector<Group> groups_;
    std::vector<Sequence> sequences_;

    bool open_ = false;
    std::vector<Growth> growths_;  // in the order of the appends
    std::vector<size_t> by_length_;
    std::vector<PageCopy> copies_;
};

// An open transaction on a PagedState, which must outlive it. What it says holds until commit or rollback;
// its end without a commit is a rollback, after which everything is as before begin(): lengths, pages,
// reference counts, and which pages will be taken next. Appends keep the order in which begin() was given
// them. Output spans may be longer than needed; the rest is left alone. One thread at a time.
class Step {
  public:
    Step(Step&& other) noexcept;
    Step& operator=(Step&&) = delete;
    ~Step();

    size_t appends() const;
    int64_t tokens() const;                 // appended, over all sequences
    int64_t list_entries(int group) const;  // over all page lists of the step

    // The length of each sequence after the step: [appends].
    void lengths(std::span<int32_t> lengths) const;
    // The pages of each sequence after the step, as CSR: those of append i are
    // pages[offsets[i]..offsets[i+1]), the page of token t at t / page_tokens - first_pages[i]. offsets:
    // [appends + 1], pages: [list_entries].
    void page_lists(int group, std::span<int32_t> offsets, std::span<int32_t> pages) const;
    // How many pages each sequence has left behind its window, and are not in its list: [appends].
    void first_pages(int group, std::span<int32_t> first) const;
    // Where each appended token goes: page · page_tokens + offset, append by append: [tokens].
    void write_slots(int group, std::span<int32_t> slots) const;
    // Over all groups.
    std::span<const PageCopy> copies() const;

    void commit();
    void rollback();

  private:
    friend class PagedState;
    explicit Step(PagedState& state) : state_(&state) {}
    const PagedState& state() const;

    PagedState* state_;  // nullptr once closed
};

}  // namespace plait::state

#include "plait/state/paged_state.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

#include "plait/base/ensure.h"
#include "plait/base/error.h"

namespace plait::state {
namespace {

constexpr int64_t kMaxInt32 = std::numeric_limits<int32_t>::max();

int64_t divide_up(int64_t value, int64_t divisor) { return value / divisor + (value % divisor != 0); }

void require_size(const std::string& what, int64_t value) {
    if (value < 1 || value > kMaxInt32)
        throw Error(fmt::format("{} must be from 1 to {}, got {}", what, kMaxInt32, value));
}

// Both at most kMaxInt32, so that the product cannot overflow.
void require_product(const std::string& what, int64_t a, int64_t b) {
    if (a * b > kMaxInt32)
        throw Error(fmt::format("{} must be at most {}, got {} x {}", what, kMaxInt32, a, b));
}

// The most pages that `positions` consecutive positions, at least one, can touch.
int64_t most_touched(int64_t positions, int64_t page_tokens) {
    return (positions + page_tokens - 2) / page_tokens + 1;
}

}  // namespace

GroupNeeds needed_pages(int64_t page_tokens, int64_t window, const GroupLoad& load) {
    const int64_t whole = divide_up(load.tokens_per_sequence, page_tokens);
    if (window == 0) return {load.sequences * whole, whole};
    // Between steps: the window without the next token, and at least the page that token goes into. A step's
    // tokens begin the most new pages when every sequence it can serve gets one, and one of them the rest.
    const int64_t kept = load.sequences * most_touched(std::max<int64_t>(window - 1, 1), page_tokens);
    const int64_t grown = std::min(load.sequences, load.tokens_per_step);
    const int64_t begun = grown + (load.tokens_per_step - grown) / page_tokens;
    return {std::min(load.sequences * whole, kept + begun),
            std::min(whole, most_touched(window - 1 + load.tokens_per_step, page_tokens))};
}

int64_t PagedState::Group::pages_for(int64_t tokens) const { return divide_up(tokens, spec.page_tokens); }

// That of the first position the next token looks at.
int64_t PagedState::Group::first_page(int64_t tokens) const {
    return spec.window == 0 ? 0 : std::max<int64_t>(0, tokens - spec.window + 1) / spec.page_tokens;
}

PagedState::Group PagedState::make_group(GroupSpec spec, int max_sequences, int64_t max_tokens,
                                         const TestOptions& testing) {
    require_size(fmt::format("state group {}: tokens per page", spec.name), spec.page_tokens);
    require_size(fmt::format("state group {}: pages", spec.name), spec.pages);
    ENSURE(spec.window >= 0, "the window of a state group");
    require_product(fmt::format("state group {}: pages x tokens per page", spec.name), spec.pages,
                    spec.page_tokens);
    // No list can hold more pages than there are.
    const int64_t list_capacity = std::min(spec.pages, divide_up(max_tokens, spec.page_tokens));
    require_product(fmt::format("state group {}: sequences x pages of each", spec.name), max_sequences,
                    list_capacity);
    return {.spec = spec,
            .pool = PagePool(static_cast<int32_t>(spec.pages), testing.page_order_seed),
            .list_capacity = list_capacity,
            .lists = std::vector<int32_t>(max_sequences * list_capacity, kNoPage),
            .copied_from = std::vector<int32_t>(max_sequences, kNoPage)};
}

PagedState::PagedState(std::vector<GroupSpec> groups, int max_sequences, int64_t max_tokens_per_sequence,
                       TestOptions testing)
    : testing_(std::move(testing)), max_tokens_(max_tokens_per_sequence) {
    require_size("sequences", max_sequences);
    require_size("tokens per sequence", max_tokens_per_sequence);
    require_product("state groups x sequences", static_cast<int64_t>(groups.size()), max_sequences);
    for (GroupSpec& spec : groups)
        groups_.push_back(make_group(std::move(spec), max_sequences, max_tokens_per_sequence, testing_));
    sequences_.resize(max_sequences);
    growths_.reserve(max_sequences);
    by_length_.reserve(max_sequences);
    copies_.reserve(groups_.size() * max_sequences);
}

PagedState::~PagedState() { require_no_step(); }

PagedState::Sequence& PagedState::live(SequenceId sequence) {
    return const_cast<Sequence&>(std::as_const(*this).live(sequence));
}

const PagedState::Sequence& PagedState::live(SequenceId sequence) const {
    ENSURE(sequence >= 0 && static_cast<size_t>(sequence) < sequences_.size(), "sequence number");
    ENSURE(sequences_[sequence].alive, "a sequence that does not exist");
    return sequences_[sequence];
}

const PagedState::Group& PagedState::group(int index) const {
    ENSURE(index >= 0 && index < groups(), "state group number");
    return groups_[index];
}

void PagedState::require_no_step() const { ENSURE(!open_, "a change of state while a step is open"); }

SequenceId PagedState::create() {
    require_no_step();
    const auto free =
        std::find_if(sequences_.begin(), sequences_.end(), [](const auto& s) { return !s.alive; });
    if (free == sequences_.end())
        throw Error(fmt::format("no room for another sequence: all {} are in use", sequences_.size()));
    *free = {.alive = true};
    return static_cast<SequenceId>(free - sequences_.begin());
}

SequenceId PagedState::fork(SequenceId parent, int64_t tokens) {
    require_no_step();
    ENSURE(tokens >= 0 && tokens <= live(parent).length, "tokens to fork");
    require_kept(parent, tokens);
    const SequenceId child = create();
    for (Group& g : groups_) {
        for (int64_t i = g.first_page(tokens); i < g.pages_for(tokens); ++i) {
            const int32_t page = g.page(parent, i);
            g.pool.share(page);
            g.page(child, i) = page;
        }
    }
    sequences_[child].length = tokens;
    return child;
}

// Pages are dropped from the end, so that the pool gives them out again in the order they had.
void PagedState::truncate(SequenceId sequence, int64_t tokens) {
    require_no_step();
    Sequence& kept = live(sequence);
    ENSURE(tokens >= 0 && tokens <= kept.length, "tokens to keep");
    require_kept(sequence, tokens);
    for (Group& g : groups_) {
        const int64_t keep = tokens == 0 ? g.first_page(kept.length) : g.pages_for(tokens);
        for (int64_t i = g.pages_for(kept.length); i-- > keep;) g.pool.drop(g.page(sequence, i));
    }
    kept.length = tokens;
}

void PagedState::release(SequenceId sequence) {
    truncate(sequence, 0);
    live(sequence).alive = false;
}

int64_t PagedState::shortest_cut(SequenceId sequence) const {
    int64_t tokens = 0;
    for (const Group& g : groups_) {
        const int64_t left_behind = g.first_page(live(sequence).length);
        if (left_behind > 0) tokens = std::max(tokens, left_behind * g.spec.page_tokens + g.spec.window - 1);
    }
    return tokens;
}

void PagedState::require_kept(SequenceId sequence, int64_t tokens) const {
    const int64_t shortest = shortest_cut(sequence);
    if (tokens == 0 || tokens >= shortest) return;
    throw Error(
        fmt::format("sequence {} cannot go back from {} to {} tokens: pages behind its window are "
                    "gone, {} is the fewest",
                    sequence, length(sequence), tokens, shortest));
}

int64_t PagedState::length(SequenceId sequence) const { return live(sequence).length; }
int64_t PagedState::free_pages(int index) const { return group(index).pool.free_pages(); }
int64_t PagedState::pages_in_use(int index) const {
    return group(index).pool.pages() - group(index).pool.free_pages();
}

// From open() on the step's destructor undoes whatever has been done, so each part may throw.
Step PagedState::begin(std::span<const Append> appends) {
    require_no_step();
    open_ = true;
    Step step(*this);
    open(appends);
    for (int index = 0; index < groups(); ++index) reserve(index);
    return step;
}

void PagedState::open(std::span<const Append> appends) {
    for (Group& g : groups_) {
        g.free_before = g.pool.free_pages();
        std::fill(g.copied_from.begin(), g.copied_from.end(), kNoPage);
    }
    for (const Append& append : appends) record(append);
    by_length_.resize(growths_.size());
    std::iota(by_length_.begin(), by_length_.end(), size_t{0});
    std::sort(by_length_.begin(), by_length_.end(), [this](size_t a, size_t b) {
        return std::pair(growths_[a].from, a) < std::pair(growths_[b].from, b);
    });
}

void PagedState::record(const Append& append) {
    Sequence& grown = live(append.sequence);
    ENSURE(!grown.in_step, "a sequence twice in a step");
    ENSURE(append.tokens >= 0, "tokens to append");
    if (append.tokens > max_tokens_ - grown.length)
        throw Error(fmt::format("sequence {} holds {} tokens and can hold {}: {} more do not fit",
                                append.sequence, grown.length, max_tokens_, append.tokens));
    grown.in_step = true;
    growths_.push_back({append.sequence, grown.length, grown.length + append.tokens});
}

// Shorter sequences first: of the holders of a shared page the longest comes last and finds itself alone with
// it, if all the others were in the step and took copies. A shortage is noticed at the end, so that the error
// can tell the whole demand.
void PagedState::reserve(int index) {
    Group& g = groups_[index];
    Demand demand;
    for (size_t append : by_length_) {
        const Growth& growth = growths_[append];
        if (growth.to == growth.from) continue;
        own_last_page(index, append, demand);
        extend(g, growth, demand);
    }
    if (demand.taken < demand.pages)
        throw Error(fmt::format("state group {}: the step needs {} pages, but {} of {} are free", g.spec.name,
                                demand.pages, demand.taken, g.spec.pages));
}

// Replaces the page into which the append's first token goes by a copy, if it is begun and someone else holds
// it too.
void PagedState::own_last_page(int index, size_t append, Demand& demand) {
    Group& g = groups_[index];
    const Growth& growth = growths_[append];
    if (growth.from % g.spec.page_tokens == 0) return;
    int32_t& page = g.page(growth.sequence, growth.from / g.spec.page_tokens);
    if (g.pool.references(page) == 1) return;
    const int32_t own = take(g, demand);
    g.pool.drop(page);
    g.copied_from[append] = page;
    copies_.push_back({index, page, own});
    page = own;
}

void PagedState::extend(Group& g, const Growth& growth, Demand& demand) {
    for (int64_t i = g.pages_for(growth.from); i < g.pages_for(growth.to); ++i) {
        const int32_t page = take(g, demand);
        if (page != kNoPage) g.page(growth.sequence, i) = page;
    }
}

int32_t PagedState::take(Group& g, Demand& demand) {
    ++demand.pages;
    const bool is_short = demand.taken + 1 < demand.pages;
    if (is_short || (testing_.page_fails && testing_.page_fails())) return kNoPage;
    const int32_t page = g.pool.take();
    if (page != kNoPage) ++demand.taken;
    return page;
}

void PagedState::commit() {
    for (const Growth& growth : growths_) {
        sequences_[growth.sequence].length = growth.to;
        for (Group& g : groups_)
            for (int64_t i = g.first_page(growth.to); i-- > g.first_page(growth.from);)
                g.pool.drop(g.page(growth.sequence, i));
    }
    close();
}

void PagedState::rollback() {
    for (Group& g : groups_) {
        for (size_t append = 0; append < growths_.size(); ++append) {
            const int32_t page = g.copied_from[append];
            if (page == kNoPage) continue;
            const Growth& growth = growths_[append];
            g.pool.share(page);
            g.page(growth.sequence, growth.from / g.spec.page_tokens) = page;
        }
        g.pool.undo_takes(g.free_before);
    }
    close();
}

void PagedState::close() {
    for (const Growth& growth : growths_) sequences_[growth.sequence].in_step = false;
    growths_.clear();
    copies_.clear();
    open_ = false;
}

Step::Step(Step&& other) noexcept : state_(std::exchange(other.state_, nullptr)) {}

Step::~Step() {
    if (state_ != nullptr) state_->rollback();
}

const PagedState& Step::state() const {
    ENSURE(state_ != nullptr, "a step that is closed");
    return *state_;
}

size_t Step::appends() const { return state().growths_.size(); }

int64_t Step::tokens() const {
    int64_t sum = 0;
    for (const auto& growth : state().growths_) sum += growth.to - growth.from;
    return sum;
}

int64_t Step::list_entries(int group) const {
    const auto& g = state().group(group);
    int64_t sum = 0;
    for (const auto& growth : state_->growths_) sum += g.pages_for(growth.to) - g.first_page(growth.from);
    return sum;
}

void Step::lengths(std::span<int32_t> lengths) const {
    ENSURE(lengths.size() >= appends(), "room for lengths");
    for (size_t i = 0; i < appends(); ++i) lengths[i] = static_cast<int32_t>(state_->growths_[i].to);
}

void Step::page_lists(int group, std::span<int32_t> offsets, std::span<int32_t> pages) const {
    const auto& g = state().group(group);
    ENSURE(offsets.size() > appends() && pages.size() >= static_cast<size_t>(list_entries(group)),
           "room for page lists");
    size_t filled = 0;
    offsets[0] = 0;
    for (size_t i = 0; i < appends(); ++i) {
        const auto& growth = state_->growths_[i];
        for (int64_t index = g.first_page(growth.from); index < g.pages_for(growth.to); ++index)
            pages[filled++] = g.page(growth.sequence, index);
        offsets[i + 1] = static_cast<int32_t>(filled);
    }
}

void Step::first_pages(int group, std::span<int32_t> first) const {
    const auto& g = state().group(group);
    ENSURE(first.size() >= appends(), "room for first pages");
    for (size_t i = 0; i < appends(); ++i)
        first[i] = static_cast<int32_t>(g.first_page(state_->growths_[i].from));
}

void Step::write_slots(int group, std::span<int32_t> slots) const {
    const auto& g = state().group(group);
    ENSURE(slots.size() >= static_cast<size_t>(tokens()), "room for write slots");
    size_t filled = 0;
    for (const auto& growth : state_->growths_) {
        for (int64_t token = growth.from; token < growth.to; ++token) {
            const int64_t page = g.page(growth.sequence, token / g.spec.page_tokens);
            slots[filled++] = static_cast<int32_t>(page * g.spec.page_tokens + token % g.spec.page_tokens);
        }
    }
}

std::span<const PageCopy> Step::copies() const { return state().copies_; }

void Step::commit() {
    state();
    std::exchange(state_, nullptr)->commit();
}

void Step::rollback() {
    state();
    std::exchange(state_, nullptr)->rollback();
}

}  // namespace plait::state

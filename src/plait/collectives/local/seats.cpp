#include "plait/collectives/local/seats.h"

#include <algorithm>

namespace plait::collectives::local {
namespace {

class Dealing {
  public:
    explicit Dealing(size_t most_threads) : most_threads_(most_threads) {}

    // A worker that must run on this core.
    void seat_on(int core, Role role) {
        for (size_t thread = 0; thread < seats_.roles.size(); ++thread) {
            if (seats_.pins[thread] == core && !works_for(thread, role.member)) return take(thread, role);
        }
        add_thread(core, role);
    }

    // A worker that may run anywhere: on a thread of its own while there are cores, then on the least busy.
    void seat(Role role) {
        if (seats_.roles.size() < most_threads_) return add_thread(-1, role);
        size_t best = seats_.roles.size();
        for (size_t thread = 0; thread < seats_.roles.size(); ++thread) {
            if (works_for(thread, role.member)) continue;
            if (best == seats_.roles.size() || seats_.roles[thread].size() < seats_.roles[best].size())
                best = thread;
        }
        if (best == seats_.roles.size()) return add_thread(-1, role);
        take(best, role);
    }

    Seats finish() && {
        if (std::ranges::all_of(seats_.pins, [](int pin) { return pin < 0; })) seats_.pins.clear();
        return std::move(seats_);
    }

  private:
    bool works_for(size_t thread, int member) const {
        return std::ranges::any_of(seats_.roles[thread],
                                   [&](const Role& role) { return role.member == member; });
    }
    void take(size_t thread, Role role) { seats_.roles[thread].push_back(role); }
    void add_thread(int core, Role role) {
        seats_.roles.push_back({role});
        seats_.pins.push_back(core);
    }

    const size_t most_threads_;
    Seats seats_;
};

// Cores for members that name none, where others do.
std::vector<int> left_over(std::span<const Wanted> members, std::span<const int> cpus) {
    std::vector<int> left;
    for (const int cpu : cpus) {
        const auto names_it = [&](const Wanted& member) {
            return std::ranges::find(member.pins, cpu) != member.pins.end();
        };
        if (std::ranges::none_of(members, names_it)) left.push_back(cpu);
    }
    return left.empty() ? std::vector<int>(cpus.begin(), cpus.end()) : left;
}

}  // namespace

Seats deal_seats(std::span<const Wanted> members, int usable, std::span<const int> cpus) {
    const bool named =
        std::ranges::any_of(members, [](const Wanted& member) { return !member.pins.empty(); });
    const std::vector<int> left = left_over(members, cpus);
    Dealing dealing(static_cast<size_t>(usable));
    size_t next = 0;
    for (size_t m = 0; m < members.size(); ++m) {
        const Wanted& member = members[m];
        for (int worker = 0; worker < member.workers; ++worker) {
            const Role role{static_cast<int>(m), worker};
            if (!named) {
                dealing.seat(role);
            } else if (member.pins.empty()) {
                dealing.seat_on(left[next++ % left.size()], role);
            } else {
                dealing.seat_on(member.pins[static_cast<size_t>(worker) % member.pins.size()], role);
            }
        }
    }
    return std::move(dealing).finish();
}

}  // namespace plait::collectives::local

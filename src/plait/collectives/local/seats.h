#pragma once

#include <span>
#include <vector>

// Which threads do the work of members that share this process's cores. Pure.
namespace plait::collectives::local {

// The workers that a member wants, and the cores it may run on: worker k on pins[k % pins.size()]; empty:
// wherever the system likes.
struct Wanted {
    int workers = 1;
    std::vector<int> pins;
};

// A thread does the work of one or more workers, of different members, in the members' order.
struct Role {
    int member = 0;
    int worker = 0;
    bool operator==(const Role&) const = default;
};

struct Seats {
    std::vector<std::vector<Role>> roles;  // by thread; nobody is without
    std::vector<int> pins;                 // by thread; empty: wherever the system likes
};

// Workers of one core share a thread, and workers without cores of their own share `usable` threads, the
// least busy one next; a member's workers never share one, so a member with more workers than there are cores
// has more threads. When only some members name cores, the others get those of `cpus` that nobody names, in
// that order, or all of them if there is none left.
Seats deal_seats(std::span<const Wanted> members, int usable, std::span<const int> cpus);

}  // namespace plait::collectives::local

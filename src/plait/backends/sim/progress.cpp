#include "plait/backends/sim/progress.h"

namespace plait::backends::sim {

void Progress::add_item() {
    std::lock_guard lock(mutex_);
    ++added_;
    changed_.notify_all();
}

void Progress::close() {
    std::lock_guard lock(mutex_);
    closed_ = true;
    changed_.notify_all();
}

bool Progress::next() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return done_ < added_ || closed_; });
    return done_ < added_;
}

void Progress::finish_item() {
    std::lock_guard lock(mutex_);
    ++done_;
    changed_.notify_all();
}

bool Progress::is_done(uint64_t mark) const {
    std::lock_guard lock(mutex_);
    return done_ >= mark;
}

void Progress::wait_done(uint64_t mark) const {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return done_ >= mark; });
}

}  // namespace plait::backends::sim

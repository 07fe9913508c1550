// The threads that compute together. All of them run the same function and meet at barriers; which of them takes a piece
// of work never changes a result.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <immintrin.h>
#include <mutex>
#include <thread>
#include <vector>

namespace engine {

// Spins for some microseconds, which is how long a member usually waits; then sleeps, so that where other programs want
// the same cores the one that is waited for gets its turn.
inline void await_change(const std::atomic<int>& value, int from) {
    for (int spins = 0; value.load(std::memory_order_acquire) == from; spins++) {
        if (spins == 2000) {
            value.wait(from, std::memory_order_acquire);
            return;
        }
        _mm_pause();
    }
}

// Where all members of a team wait for each other, and share out numbered pieces of work.
class Meeting {
   public:
    explicit Meeting(int members) : members_(members) {}

    int members() const { return members_; }

    void wait() {
        if (members_ == 1) {
            next_.store(0, std::memory_order_relaxed);
            return;
        }
        int round = round_.load(std::memory_order_relaxed);
        if (arrived_.fetch_add(1, std::memory_order_acq_rel) == members_ - 1) {
            arrived_.store(0, std::memory_order_relaxed);
            next_.store(0, std::memory_order_relaxed);
            round_.store(round + 1, std::memory_order_release);
            round_.notify_all();
            return;
        }
        await_change(round_, round);
    }

    // The next piece of the current stretch of work; a stretch begins at a barrier.
    int take() { return next_.fetch_add(1, std::memory_order_relaxed); }

   private:
    const int members_;
    std::atomic<int> arrived_{0};
    std::atomic<int> round_{0};
    alignas(64) std::atomic<int> next_{0};
};

class Team {
   public:
    using Work = std::function<void(int)>;

    explicit Team(int members) : members_(members) {
        for (int i = 1; i < members; i++) threads_.emplace_back([this, i] { serve(i); });
    }

    ~Team() {
        {
            std::lock_guard<std::mutex> hold(lock_);
            ended_ = true;
        }
        wake_.notify_all();
        for (auto& thread : threads_) thread.join();
    }

    int members() const { return members_; }

    // Runs work(member) on every member at once; returns when all are done.
    void run(const Work& work) {
        if (members_ > 1) {
            std::lock_guard<std::mutex> hold(lock_);
            work_ = &work;
            busy_.store(members_ - 1, std::memory_order_relaxed);
            job_++;
        }
        wake_.notify_all();
        work(0);
        for (int left; (left = busy_.load(std::memory_order_acquire)) > 0;) await_change(busy_, left);
    }

   private:
    void serve(int member) {
        for (uint64_t seen = 0;;) {
            const Work* work;
            {
                std::unique_lock<std::mutex> hold(lock_);
                wake_.wait(hold, [&] { return ended_ || job_ != seen; });
                if (ended_) return;
                seen = job_;
                work = work_;
            }
            (*work)(member);
            busy_.fetch_sub(1, std::memory_order_acq_rel);
            busy_.notify_all();
        }
    }

    const int members_;
    std::vector<std::thread> threads_;
    std::mutex lock_;
    std::condition_variable wake_;
    const Work* work_ = nullptr;
    uint64_t job_ = 0;
    bool ended_ = false;
    std::atomic<int> busy_{0};
};

}  // namespace engine

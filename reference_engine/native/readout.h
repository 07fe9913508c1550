// What is read out of last states, by tiles of the vocabulary: normaliser, most likely tokens, single tokens and ranks.
#pragma once

#include <algorithm>
#include <vector>

#include "matrix.h"
#include "simd.h"
#include "team.h"

namespace engine {

// What is asked of n last states, and where the answers go (see reference_engine/forward/batch.py).
struct ReadOut {
    int32_t count;
    int32_t top_k;
    int32_t chosen_width;
    int32_t bfloat;
    const float* states;  // [count][hidden]
    const int32_t* own;
    const int32_t* chosen;
    double* log_normaliser;
    int32_t* top_ids;
    float* top_logits;
    float* own_logit;
    int32_t* own_rank;
    float* chosen_logits;
};

struct Candidate {
    float logit;
    int32_t id;
};

inline bool before(const Candidate& a, const Candidate& b) {
    return a.logit > b.logit || (a.logit == b.logit && a.id < b.id);
}

// The best few of what was offered, in order.
class Best {
   public:
    explicit Best(int most) : most_(most) { kept_.reserve(most + 1); }
    float least() const { return static_cast<int>(kept_.size()) < most_ ? -INFINITY : kept_.back().logit; }
    void offer(Candidate c) {
        if (static_cast<int>(kept_.size()) == most_ && !before(c, kept_.back())) return;
        kept_.insert(std::upper_bound(kept_.begin(), kept_.end(), c, before), c);
        if (static_cast<int>(kept_.size()) > most_) kept_.pop_back();
    }
    const std::vector<Candidate>& kept() const { return kept_; }

   private:
    int most_;
    std::vector<Candidate> kept_;
};

constexpr int TILE_PANELS = 24;

class Reading {
   public:
    // Of states, or of logits that are there already, `step` floats apart.
    Reading(const Matrix& head, const ReadOut& asked, int hidden, int members, const float* logits, size_t step)
        : head_(head), asked_(asked), hidden_(hidden), logits_(logits), logits_step_(step), meeting_(members) {
        tiles_ = (static_cast<int>(panels(head)) + TILE_PANELS - 1) / TILE_PANELS;
        tops_.assign(static_cast<size_t>(tiles_) * asked.count, 0.0f);
        masses_.assign(static_cast<size_t>(tiles_) * asked.count, 0.0);
        best_.assign(members, std::vector<Best>(asked.count, Best(asked.top_k)));
        ranks_.assign(members, std::vector<int32_t>(asked.count, 0));
    }

    void run(int member) {
        for (int row; (row = meeting_.take()) < asked_.count;) single_logits(row);
        meeting_.wait();
        const size_t step = TILE_PANELS * LANES;
        std::vector<float> logits(step * asked_.count);
        for (int tile; (tile = meeting_.take()) < tiles_;) {
            const size_t from = static_cast<size_t>(tile) * TILE_PANELS;
            const size_t to = std::min(from + TILE_PANELS, panels(head_));
            const int first = static_cast<int>(from * LANES);
            const int width = std::min(static_cast<int>((to - from) * LANES), head_.outputs - first);
            if (logits_ == nullptr) {
                const Inputs in = {asked_.states, nullptr, nullptr, static_cast<size_t>(hidden_), asked_.count};
                multiply_panels(head_, in, from, to, logits.data(), step);
            }
            for (int row = 0; row < asked_.count; row++)
                take_in(member, tile, row, tile_of(row, first, width, logits.data() + row * step), first, width);
        }
        meeting_.wait();
        for (int row; (row = meeting_.take()) < asked_.count;) conclude(row);
    }

   private:
    // Whole lanes of logits, rounded where that is asked for; those that are there already stay where they are if they can.
    const float* tile_of(int row, int first, int width, float* room) const {
        const int whole = static_cast<int>(padded(width));
        if (logits_ != nullptr) {
            const float* given = logits_ + row * logits_step_ + first;
            if (whole == width && !asked_.bfloat) return given;
            std::memcpy(room, given, width * sizeof(float));
        }
        for (int i = width; i < whole; i++) room[i] = -INFINITY;
        if (asked_.bfloat) round_row(room, whole);
        return room;
    }

    float single(int row, int32_t id) const {
        if (logits_ != nullptr) return logits_[row * logits_step_ + id];
        const float* state = asked_.states + static_cast<size_t>(row) * hidden_;
        float total = 0.0f;
        for (int from = 0; from < hidden_; from += BLOCK_INPUTS) {
            const int to = std::min<int>(from + BLOCK_INPUTS, hidden_);
            float block = 0.0f;
            for (int i = from; i < to; i++) block = std::fma(state[i], weight_at(head_, id, i), block);
            total = from == 0 ? block : total + block;
        }
        if (head_.bias != nullptr) total += head_.bias[id];
        return rounded(total);
    }

    float rounded(float x) const {
        if (!asked_.bfloat) return x;
        float lanes[LANES];
        store(lanes, to_bfloat(all(x)));
        return lanes[0];
    }

    void single_logits(int row) {
        asked_.own_logit[row] = asked_.own[row] < 0 ? NAN : single(row, asked_.own[row]);
        for (int i = 0; i < asked_.chosen_width; i++) {
            const size_t at = static_cast<size_t>(row) * asked_.chosen_width + i;
            asked_.chosen_logits[at] = asked_.chosen[at] < 0 ? NAN : single(row, asked_.chosen[at]);
        }
    }

    void take_in(int member, int tile, int row, const float* logits, int first, int width) {
        Lanes most = all(-INFINITY);
        for (int i = 0; i < width; i += LANES) most = maximum(most, load(logits + i));
        const Lanes top = all(largest(most));
        Wide masses;
        Best& best = best_[member][row];
        const int32_t own = asked_.own[row];
        const Lanes own_logit = all(asked_.own_logit[row]);
        int32_t ahead = 0;
        for (int i = 0; i < width; i += LANES) {
            const Lanes x = load(logits + i);
            masses.add(exponential(x - top));
            if (own >= 0) {
                ahead += __builtin_popcount(above(x, own_logit));
                for (uint32_t same = equal(x, own_logit); same != 0; same &= same - 1)
                    ahead += first + i + __builtin_ctz(same) < own;
            }
            if (asked_.top_k == 0) continue;
            const Lanes least = all(best.least());
            for (uint32_t some = above(x, least) | equal(x, least); some != 0; some &= some - 1) {
                const int lane = __builtin_ctz(some);
                if (i + lane < width) best.offer({logits[i + lane], first + i + lane});
            }
        }
        ranks_[member][row] += ahead;
        tops_[static_cast<size_t>(tile) * asked_.count + row] = largest(most);
        masses_[static_cast<size_t>(tile) * asked_.count + row] = sum(masses);
    }

    void conclude(int row) {
        double most = -INFINITY, total = 0.0;
        for (int tile = 0; tile < tiles_; tile++)
            most = std::max(most, static_cast<double>(tops_[static_cast<size_t>(tile) * asked_.count + row]));
        for (int tile = 0; tile < tiles_; tile++) {
            const size_t at = static_cast<size_t>(tile) * asked_.count + row;
            total += masses_[at] * std::exp(static_cast<double>(tops_[at]) - most);
        }
        asked_.log_normaliser[row] = most + std::log(total);
        Best all_best(asked_.top_k);
        int32_t ahead = 0;
        for (size_t member = 0; member < best_.size(); member++) {
            for (const Candidate& c : best_[member][row].kept()) all_best.offer(c);
            ahead += ranks_[member][row];
        }
        asked_.own_rank[row] = asked_.own[row] < 0 ? -1 : ahead;
        // Fewer are kept where logits are not numbers.
        const int kept = static_cast<int>(all_best.kept().size());
        for (int i = 0; i < asked_.top_k; i++) {
            const size_t at = static_cast<size_t>(row) * asked_.top_k + i;
            asked_.top_ids[at] = i < kept ? all_best.kept()[i].id : 0;
            asked_.top_logits[at] = i < kept ? all_best.kept()[i].logit : NAN;
        }
    }

    const Matrix& head_;
    const ReadOut& asked_;
    const int hidden_;
    const float* logits_;
    const size_t logits_step_;
    Meeting meeting_;
    int tiles_;
    std::vector<float> tops_;
    std::vector<double> masses_;
    std::vector<std::vector<Best>> best_;
    std::vector<std::vector<int32_t>> ranks_;
};

}  // namespace engine

// One token for each row of logits: the largest logit / temperature + Gumbel noise, where a token's noise is a hash of
// (seed, position, token). sample.py defines it and says why; this is the same arithmetic.
#pragma once

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "simd.h"

namespace engine {

struct Draw {
    double temperature;
    double top_p;
    uint64_t seed;
    int64_t position;
};

constexpr uint64_t GOLDEN = 0x9E3779B97F4A7C15ull;

inline uint64_t mixed(uint64_t x) {
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ull;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBull;
    return x ^ (x >> 31);
}

class Noise {
   public:
    Noise(uint64_t seed, int64_t position)
        : key_(mixed(mixed(seed + GOLDEN) ^ (static_cast<uint64_t>(position) * GOLDEN))) {}

    // Uniform in (0, 1).
    double uniform(uint64_t token) const {
        const uint64_t bits = mixed(mixed(token * GOLDEN + key_) ^ key_);
        return (static_cast<double>(bits >> 11) + 0.5) * 0x1p-53;
    }

   private:
    uint64_t key_;
};

// The first of the largest logits.
inline int32_t most_likely(const float* logits, int width) {
    const int whole = width / LANES * LANES;
    Lanes large = all(-INFINITY);
    for (int i = 0; i < whole; i += LANES) large = maximum(load(logits + i), large);
    float most = largest(large);
    for (int i = whole; i < width; i++) most = std::max(most, logits[i]);
    for (int i = 0; i < whole; i += LANES)
        if (const uint32_t same = equal(load(logits + i), all(most))) return i + __builtin_ctz(same);
    return static_cast<int32_t>(std::find(logits + whole, logits + width, most) - logits) % width;
}

// Of all tokens. Where 1 - u is at least e^(scaled - best), the noise is too small to win, and its logarithms are saved.
inline int32_t sampled(const float* logits, int width, const Draw& draw) {
    const Noise noise(draw.seed, draw.position);
    const double top = logits[most_likely(logits, width)];
    double best = -INFINITY;
    int32_t chosen = 0;
    float chances[LANES];
    for (int from = 0; from < width; from += LANES) {
        const int count = std::min(LANES, width - from);
        float scaled[LANES];
        for (int i = 0; i < LANES; i++)
            scaled[i] = i < count ? static_cast<float>((logits[from + i] - top) / draw.temperature) : -INFINITY;
        store(chances, exponential(load(scaled)));
        const double bound = std::exp(-best) * 1.0001;
        for (int i = 0; i < count; i++) {
            const double u = noise.uniform(from + i);
            if (1.0 - u > chances[i] * bound + 1e-30) continue;
            const double value = (logits[from + i] - top) / draw.temperature - std::log(-std::log(u));
            if (value > best) {
                best = value;
                chosen = from + i;
            }
        }
    }
    return chosen;
}

// Of the fewest most likely tokens whose probabilities reach top_p.
inline int32_t sampled_from_nucleus(const float* logits, int width, const Draw& draw) {
    const double top = logits[most_likely(logits, width)];
    std::vector<double> scaled(width);
    double total = 0.0;
    for (int i = 0; i < width; i++) {
        scaled[i] = (logits[i] - top) / draw.temperature;
        total += std::exp(scaled[i]);
    }
    std::vector<int32_t> order(width);
    std::iota(order.begin(), order.end(), 0);
    const auto earlier = [&](int32_t a, int32_t b) { return scaled[a] > scaled[b] || (scaled[a] == scaled[b] && a < b); };
    int sorted = 0, kept = 0;
    double reached = 0.0;
    while (kept == 0 && sorted < width) {
        const int some = std::min(std::max(256, sorted * 8), width);
        std::partial_sort(order.begin() + sorted, order.begin() + some, order.end(), earlier);
        for (; kept == 0 && sorted < some; sorted++) {
            reached += std::exp(scaled[order[sorted]]);
            if (reached / total >= draw.top_p) kept = sorted + 1;
        }
    }
    if (kept == 0) kept = width;
    const Noise noise(draw.seed, draw.position);
    std::sort(order.begin(), order.begin() + kept);
    double best = -INFINITY;
    int32_t chosen = order[0];
    for (int i = 0; i < kept; i++) {
        const double value = scaled[order[i]] - std::log(-std::log(noise.uniform(order[i])));
        if (value > best) {
            best = value;
            chosen = order[i];
        }
    }
    return chosen;
}

inline int32_t sample(const float* logits, int width, const Draw& draw) {
    if (draw.temperature == 0.0) return most_likely(logits, width);
    return draw.top_p < 1.0 ? sampled_from_nucleus(logits, width, draw) : sampled(logits, width, draw);
}

}  // namespace engine

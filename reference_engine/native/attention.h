// Causal grouped-query attention over paged keys and values. A page of a layer holds, for each key-value head, the keys
// as [dimension][16 tokens] and then the values as [16 tokens][dimension]. Keys are taken in ascending positions and
// every sum has one order, so a query's result depends on its own position and the tokens before it only.
#pragma once

#include <algorithm>

#include "simd.h"

namespace engine {

constexpr int PAGE = 16;

struct Heads {
    int queries;
    int keys;
    int width;  // of a head
};

inline size_t head_floats(const Heads& h) { return padded(h.width) * PAGE; }
inline size_t layer_floats(const Heads& h) { return 2 * head_floats(h) * h.keys; }

inline float* key_page(uint8_t* arena, int64_t offset, int layer, const Heads& h, int head) {
    return reinterpret_cast<float*>(arena + offset) + layer * layer_floats(h) + head * 2 * head_floats(h);
}

inline void write_token(float* page, const Heads& h, int slot, const float* key, const float* value) {
    for (int d = 0; d < h.width; d++) page[d * PAGE + slot] = key[d];
    std::memcpy(page + head_floats(h) + slot * padded(h.width), value, h.width * sizeof(float));
}

constexpr int QUERIES_AT_ONCE = 12;

// Where a few queries that share a key-value head stand, and what they may see.
struct Queries {
    const float* q[QUERIES_AT_ONCE];
    float* out[QUERIES_AT_ONCE];
    int last[QUERIES_AT_ONCE];   // the last position each may look at
    int first[QUERIES_AT_ONCE];  // and the first
};

template <int N>
inline void attend_some(const Queries& some, uint8_t* arena, const int64_t* table, int layer, const Heads& h, int head,
                        float scale, float* weights) {
    const int from = some.first[0], last = some.last[N - 1];
    const int first_page = from / PAGE, pages = last / PAGE + 1;
    const size_t room = static_cast<size_t>(pages) * PAGE;
    Lanes most[N];
    for (int i = 0; i < N; i++) most[i] = all(-INFINITY);
    for (int page = first_page; page < pages; page++) {
        const float* keys = key_page(arena, table[page], layer, h, head);
        Lanes scores[N];
#pragma GCC unroll 12
        for (int i = 0; i < N; i++) scores[i] = zeros();
        for (int d = 0; d < h.width; d++) {
            const Lanes key = load(keys + d * PAGE);
#pragma GCC unroll 12
            for (int i = 0; i < N; i++) scores[i] = fma(all(some.q[i][d]), key, scores[i]);
        }
        for (int i = 0; i < N; i++) {
            uint32_t seen = 0xFFFF;
            const int begin = page * PAGE;
            if (some.last[i] < begin + PAGE - 1)
                seen = some.last[i] < begin ? 0 : (2u << (some.last[i] - begin)) - 1;
            if (some.first[i] > begin)
                seen &= some.first[i] >= begin + PAGE ? 0 : ~((1u << (some.first[i] - begin)) - 1);
            const Lanes score = where(seen, scores[i] * all(scale), -INFINITY);
            most[i] = maximum(most[i], score);
            store(weights + i * room + begin, score);
        }
    }
    float total[N];
    for (int i = 0; i < N; i++) {
        const Lanes top = all(largest(most[i]));
        Lanes sums = zeros();
        for (int page = first_page; page < pages; page++) {
            float* at = weights + i * room + page * PAGE;
            const Lanes weight = exponential(load(at) - top);
            store(at, weight);
            sums = sums + weight;
        }
        total[i] = sum(sums);
    }
    for (int d = 0; d < h.width; d += LANES) {
        Lanes mixed[N];
#pragma GCC unroll 12
        for (int i = 0; i < N; i++) mixed[i] = zeros();
        for (int page = first_page; page < pages; page++) {
            const float* values = key_page(arena, table[page], layer, h, head) + head_floats(h) + d;
            const int tokens = std::min(PAGE, last - page * PAGE + 1);
            for (int t = std::max(0, from - page * PAGE); t < tokens; t++) {
                const Lanes value = load(values + t * padded(h.width));
#pragma GCC unroll 12
                for (int i = 0; i < N; i++)
                    mixed[i] = fma(all(weights[i * room + page * PAGE + t]), value, mixed[i]);
            }
        }
        const int width = std::min<int>(LANES, h.width - d);
        for (int i = 0; i < N; i++) {
            float whole[LANES];
            store(whole, mixed[i] / all(total[i]));
            std::memcpy(some.out[i] + d, whole, width * sizeof(float));
        }
    }
}

inline void attend(int count, const Queries& some, uint8_t* arena, const int64_t* table, int layer, const Heads& h,
                   int head, float scale, float* weights) {
    switch (count) {
#define ENGINE_QUERIES(N) \
    case N: attend_some<N>(some, arena, table, layer, h, head, scale, weights); break;
        ENGINE_QUERIES(1)
        ENGINE_QUERIES(2)
        ENGINE_QUERIES(3)
        ENGINE_QUERIES(4)
        ENGINE_QUERIES(5)
        ENGINE_QUERIES(6)
        ENGINE_QUERIES(7)
        ENGINE_QUERIES(8)
        ENGINE_QUERIES(9)
        ENGINE_QUERIES(10)
        ENGINE_QUERIES(11)
        ENGINE_QUERIES(12)
#undef ENGINE_QUERIES
    }
}

}  // namespace engine

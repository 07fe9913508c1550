// Causal grouped-query attention over paged keys and values. A page holds, for each layer of its group and each key-value
// head, the keys as [dimension][16 tokens] and then the values as [16 tokens][dimension]; each is a `Held`: a float, or
// the upper half of one that has no lower. Keys are taken in ascending positions and every sum has one order, so a
// query's result depends on its own position and the tokens before it only.
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

inline size_t head_values(const Heads& h) { return padded(h.width) * PAGE; }
inline size_t layer_values(const Heads& h) { return 2 * head_values(h) * h.keys; }

template <typename Held>
inline Held* key_page(uint8_t* arena, int64_t offset, int layer, const Heads& h, int head) {
    return reinterpret_cast<Held*>(arena + offset) + layer * layer_values(h) + head * 2 * head_values(h);
}

inline void hold(float x, float* at) { *at = x; }
inline void hold(float x, Bfloat* at) { *at = to_bfloat(x); }
inline Lanes held(const float* p) { return load(p); }
inline Lanes held(const Bfloat* p) { return from_bfloat(p); }

template <typename Held>
inline void write_token(Held* page, const Heads& h, int slot, const float* key, const float* value) {
    for (int d = 0; d < h.width; d++) hold(key[d], page + d * PAGE + slot);
    for (int d = 0; d < h.width; d++) hold(value[d], page + head_values(h) + slot * padded(h.width) + d);
}

// As many as there are registers for their sums.
#if defined(__AVX512F__)
constexpr int QUERIES_AT_ONCE = 12;
#else
constexpr int QUERIES_AT_ONCE = 6;
#endif

// Where a few queries that share a key-value head stand, and what they may see.
struct Queries {
    const float* q[QUERIES_AT_ONCE];
    float* out[QUERIES_AT_ONCE];
    int last[QUERIES_AT_ONCE];   // the last position each may look at
    int first[QUERIES_AT_ONCE];  // and the first
};

// How many pages, or lanes of the values, are summed side by side, each in its own order: one alone would leave the
// processor's multipliers waiting for the sum before, or for the queries.
template <int N>
constexpr int side_by_side() {
#if defined(__AVX512F__)
    return N <= 6 ? 4 : 2;
#else
    return N <= 1 ? 2 : 1;
#endif
}

// Products of N queries with the keys of some pages, one page each: scores[page][query]. `next` are the pages to come:
// their lines are asked for while these are worked on, since a page's end is where the processor stops reading ahead.
template <typename Held, int N, int PAGES>
inline void score_pages(const Queries& some, const Held* const* keys, const Held* const* next, int width,
                        Lanes (*scores)[N]) {
#pragma GCC unroll 4
    for (int p = 0; p < PAGES; p++)
#pragma GCC unroll 12
        for (int i = 0; i < N; i++) scores[p][i] = zeros();
    for (int d = 0; d < width; d++) {
        Lanes key[PAGES];
#pragma GCC unroll 4
        for (int p = 0; p < PAGES; p++) {
            key[p] = held(keys[p] + d * PAGE);
            if (PAGES > 1) _mm_prefetch(next[p] + d * PAGE, _MM_HINT_T0);
        }
#pragma GCC unroll 12
        for (int i = 0; i < N; i++) {
            const Lanes q = all(some.q[i][d]);
#pragma GCC unroll 4
            for (int p = 0; p < PAGES; p++) scores[p][i] = fma(q, key[p], scores[p][i]);
        }
    }
}

// The tokens of the page that begins at `begin` which a query from `first` to `last` sees, a bit each.
inline uint32_t seen_of(int begin, int first, int last) {
    uint32_t seen = 0xFFFF;
    if (last < begin + PAGE - 1) seen = last < begin ? 0 : (2u << (last - begin)) - 1;
    if (first > begin) seen &= first >= begin + PAGE ? 0 : ~((1u << (first - begin)) - 1);
    return seen;
}

// The mean of the values under the weights, in WIDE times sixteen dimensions from `d` on.
template <typename Held, int N, int WIDE>
inline void mix_values(const Queries& some, uint8_t* arena, const int64_t* table, int layer, const Heads& h, int head,
                       int d, const float* weights, const float* total) {
    const int from = some.first[0], last = some.last[N - 1], pages = last / PAGE + 1;
    const size_t room = static_cast<size_t>(pages) * PAGE, step = padded(h.width);
    Lanes mixed[N][WIDE];
#pragma GCC unroll 12
    for (int i = 0; i < N; i++)
#pragma GCC unroll 4
        for (int w = 0; w < WIDE; w++) mixed[i][w] = zeros();
    for (int page = from / PAGE; page < pages; page++) {
        const Held* values = key_page<Held>(arena, table[page], layer, h, head) + head_values(h) + d;
        const int64_t after = table[std::min(page + 1, pages - 1)];
        const Held* next = key_page<Held>(arena, after, layer, h, head) + head_values(h) + d;
        const int tokens = std::min(PAGE, last - page * PAGE + 1);
        for (int t = std::max(0, from - page * PAGE); t < tokens; t++) {
            Lanes value[WIDE];
#pragma GCC unroll 4
            for (int w = 0; w < WIDE; w++) {
                value[w] = held(values + t * step + w * LANES);
                if (WIDE > 1) _mm_prefetch(next + t * step + w * LANES, _MM_HINT_T0);
            }
#pragma GCC unroll 12
            for (int i = 0; i < N; i++) {
                const Lanes weight = all(weights[i * room + page * PAGE + t]);
#pragma GCC unroll 4
                for (int w = 0; w < WIDE; w++) mixed[i][w] = fma(weight, value[w], mixed[i][w]);
            }
        }
    }
#pragma GCC unroll 12
    for (int i = 0; i < N; i++)
#pragma GCC unroll 4
        for (int w = 0; w < WIDE; w++) {
            float whole[LANES];
            store(whole, mixed[i][w] / all(total[i]));
            const int at = d + w * LANES;
            std::memcpy(some.out[i] + at, whole, std::min<int>(LANES, h.width - at) * sizeof(float));
        }
}

template <typename Held, int N>
inline void attend_some(const Queries& some, uint8_t* arena, const int64_t* table, int layer, const Heads& h, int head,
                        float scale, float* weights) {
    constexpr int BESIDE = side_by_side<N>();
    const int from = some.first[0], last = some.last[N - 1];
    const int first_page = from / PAGE, pages = last / PAGE + 1;
    const size_t room = static_cast<size_t>(pages) * PAGE;
    Lanes most[N];
    for (int i = 0; i < N; i++) most[i] = all(-INFINITY);
    const auto take = [&](int page, const Lanes* scores) {
        for (int i = 0; i < N; i++) {
            const uint32_t seen = seen_of(page * PAGE, some.first[i], some.last[i]);
            const Lanes score = where(seen, scores[i] * all(scale), -INFINITY);
            most[i] = maximum(most[i], score);
            store(weights + i * room + page * PAGE, score);
        }
    };
    int page = first_page;
    for (; page + BESIDE <= pages; page += BESIDE) {
        const Held *keys[BESIDE], *next[BESIDE];
        for (int p = 0; p < BESIDE; p++) {
            keys[p] = key_page<Held>(arena, table[page + p], layer, h, head);
            next[p] = key_page<Held>(arena, table[std::min(page + p + BESIDE, pages - 1)], layer, h, head);
        }
        Lanes scores[BESIDE][N];
        score_pages<Held, N, BESIDE>(some, keys, next, h.width, scores);
        for (int p = 0; p < BESIDE; p++) take(page + p, scores[p]);
    }
    for (; page < pages; page++) {
        const Held* keys = key_page<Held>(arena, table[page], layer, h, head);
        Lanes scores[1][N];
        score_pages<Held, N, 1>(some, &keys, &keys, h.width, scores);
        take(page, scores[0]);
    }
    float total[N];
    for (int i = 0; i < N; i++) {
        const Lanes top = all(largest(most[i]));
        Lanes sums = zeros();
        for (int each = first_page; each < pages; each++) {
            float* at = weights + i * room + each * PAGE;
            const Lanes weight = exponential(load(at) - top);
            store(at, weight);
            sums = sums + weight;
        }
        total[i] = sum(sums);
    }
    int d = 0;
    for (; d + BESIDE * LANES <= h.width; d += BESIDE * LANES)
        mix_values<Held, N, BESIDE>(some, arena, table, layer, h, head, d, weights, total);
    for (; d < h.width; d += LANES) mix_values<Held, N, 1>(some, arena, table, layer, h, head, d, weights, total);
}

template <typename Held>
inline void attend(int count, const Queries& some, uint8_t* arena, const int64_t* table, int layer, const Heads& h,
                   int head, float scale, float* weights) {
    with_count<QUERIES_AT_ONCE>(
        count, [&](auto n) { attend_some<Held, n>(some, arena, table, layer, h, head, scale, weights); });
}

}  // namespace engine

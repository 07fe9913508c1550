// Products of int8 rows with int8 panels: exact integers, in whatever order they are summed.
#pragma once

#include <algorithm>

#include "panels.h"

namespace engine {

// Exact sums of int8 products, then float(sum) · row scale · output scale.
#if defined(__AVX512F__)

template <int ROWS, int PANELS>
inline void int8_tile(const Matrix& m, size_t panel, const int8_t* a, size_t a_step, const float* a_scales, float* c,
                      size_t c_step) {
    const size_t fours = (static_cast<size_t>(m.inputs) + 3) / 4, step = panel_bytes(m);
    const uint8_t* b = m.data + panel * step;
    const __m512i flip = _mm512_set1_epi8(static_cast<char>(0x80)), ones = _mm512_set1_epi8(1);
    __m512i sums[ROWS][PANELS];
#pragma GCC unroll 32
    for (int r = 0; r < ROWS; r++)
#pragma GCC unroll 8
        for (int p = 0; p < PANELS; p++) sums[r][p] = _mm512_setzero_si512();
    // The instruction wants one side unsigned: weights + 128, and 128 times the row's own sum is taken off again.
    __m512i own[ROWS];
#pragma GCC unroll 32
    for (int r = 0; r < ROWS; r++) own[r] = _mm512_setzero_si512();
    for (size_t i = 0; i < fours; i++) {
        __m512i weights[PANELS];
#pragma GCC unroll 8
        for (int p = 0; p < PANELS; p++)
            weights[p] = _mm512_xor_si512(_mm512_loadu_si512(b + p * step + i * 64), flip);
#pragma GCC unroll 32
        for (int r = 0; r < ROWS; r++) {
            int32_t four;
            std::memcpy(&four, a + r * a_step + i * 4, 4);
            const __m512i x = _mm512_set1_epi32(four);
#pragma GCC unroll 8
            for (int p = 0; p < PANELS; p++) sums[r][p] = _mm512_dpbusd_epi32(sums[r][p], weights[p], x);
            own[r] = _mm512_dpbusd_epi32(own[r], ones, x);
        }
    }
#pragma GCC unroll 32
    for (int r = 0; r < ROWS; r++)
#pragma GCC unroll 8
        for (int p = 0; p < PANELS; p++) {
            const __m512i exact = _mm512_sub_epi32(sums[r][p], _mm512_slli_epi32(own[r], 7));
            const Lanes value = {_mm512_cvtepi32_ps(exact)};
            store(c + r * c_step + p * LANES, value * all(a_scales[r]) * load(m.scales + (panel + p) * LANES));
        }
}

#else

template <int ROWS, int PANELS>
inline void int8_tile(const Matrix& m, size_t panel, const int8_t* a, size_t a_step, const float* a_scales, float* c,
                      size_t c_step) {
    const size_t fours = (static_cast<size_t>(m.inputs) + 3) / 4, step = panel_bytes(m);
    for (int p = 0; p < PANELS; p++) {
        const uint8_t* b = m.data + (panel + p) * step;
        __m256i sums[ROWS][4];
#pragma GCC unroll 8
        for (int r = 0; r < ROWS; r++)
#pragma GCC unroll 4
            for (int q = 0; q < 4; q++) sums[r][q] = _mm256_setzero_si256();
        for (size_t i = 0; i < fours; i++) {
            __m256i x[ROWS];
#pragma GCC unroll 8
            for (int r = 0; r < ROWS; r++) {
                int32_t four;
                std::memcpy(&four, a + r * a_step + i * 4, 4);
                x[r] = _mm256_broadcastq_epi64(_mm_cvtepi8_epi16(_mm_cvtsi32_si128(four)));
            }
#pragma GCC unroll 4
            for (int q = 0; q < 4; q++) {
                const __m256i weights =
                    _mm256_cvtepi8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(b + i * 64 + q * 16)));
#pragma GCC unroll 8
                for (int r = 0; r < ROWS; r++)
                    sums[r][q] = _mm256_add_epi32(sums[r][q], _mm256_madd_epi16(weights, x[r]));
            }
        }
        for (int r = 0; r < ROWS; r++) {
            alignas(32) int32_t pairs[4][8];
            float* out = c + r * c_step + p * LANES;
            for (int q = 0; q < 4; q++) _mm256_store_si256(reinterpret_cast<__m256i*>(pairs[q]), sums[r][q]);
            const float* scales = m.scales + (panel + p) * LANES;
            for (int lane = 0; lane < LANES; lane++) {
                const int32_t exact = pairs[lane / 4][lane % 4 * 2] + pairs[lane / 4][lane % 4 * 2 + 1];
                out[lane] = static_cast<float>(exact) * a_scales[r] * scales[lane];
            }
        }
    }
}

#endif

#if defined(__AVX512F__)
constexpr int INT8_ROWS = 8, INT8_PANELS = 2;
#else
constexpr int INT8_ROWS = 3, INT8_PANELS = 1;
#endif

template <int PANELS>
inline void int8_panels(const Matrix& m, size_t panel, const int8_t* a, size_t a_step, const float* a_scales, int rows,
                        float* c, size_t c_step) {
    for (int row = 0; row < rows; row += INT8_ROWS) {
        const int8_t* x = a + row * a_step;
        float* y = c + row * c_step;
#define ENGINE_ROWS(N) \
    case N: int8_tile<N, PANELS>(m, panel, x, a_step, a_scales + row, y, c_step); break;
        switch (std::min(INT8_ROWS, rows - row)) {
            ENGINE_ROWS(1)
            ENGINE_ROWS(2)
            ENGINE_ROWS(3)
#if defined(__AVX512F__)
            ENGINE_ROWS(4)
            ENGINE_ROWS(5)
            ENGINE_ROWS(6)
            ENGINE_ROWS(7)
            ENGINE_ROWS(8)
#endif
        }
#undef ENGINE_ROWS
    }
}

// The row's scale, and its codes: whole numbers of scales, ties to even. Rows of zeros have scale 1. Reads and writes
// whole lanes: the room behind the row has to be there.
inline float quantize(const float* x, size_t width, int8_t* codes) {
    Lanes large = zeros();
    size_t i = 0;
    for (; i + LANES <= width; i += LANES) large = maximum(magnitude(load(x + i)), large);
    float most = largest(large);
    for (; i < width; i++) most = std::max(most, std::fabs(x[i]));
    const float scale = most > 0.0f ? most / 127.0f : 1.0f;
    for (i = 0; i < padded(width); i += LANES) {
        alignas(64) float whole[LANES];
        store(whole, nearest(load(x + i) / all(scale)));
        for (int lane = 0; lane < LANES; lane++) codes[i + lane] = static_cast<int8_t>(whole[lane]);
    }
    return scale;
}

}  // namespace engine

// Products of int8 rows with int8 panels: exact integers, in whatever order they are summed.
#pragma once

#include <algorithm>

#include "float_product.h"
#include "panels.h"

namespace engine {

// Exact sums of int8 products, then float(sum) · row scale · output scale.
#if defined(__AVX512F__)

// The instruction wants one side unsigned: inputs are kept as code + 128, and 128 times the weights' own sum is taken
// off again.
using Code = uint8_t;
constexpr int INT8_ROWS = 12;

inline void store_codes(Code* out, Lanes whole) {
    const __m128i flipped = _mm_xor_si128(_mm512_cvtepi32_epi8(_mm512_cvtps_epi32(whole.v)), _mm_set1_epi8(-128));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(out), flipped);
}

// sums += Σ of four products in each lane. Not by the intrinsic: compilers wrap it in moves of the sums that cost as
// much as the products.
inline void add_products(__m512i& sums, __m512i inputs, __m512i weights) {
    asm("vpdpbusd %2, %1, %0" : "+v"(sums) : "v"(inputs), "v"(weights));
}

// With AHEAD the panels to come are asked for meanwhile.
template <int ROWS, int PANELS, bool AHEAD>
inline void int8_tile(const Matrix& m, size_t panel, const Code* a, size_t a_step, const float* a_scales, float* c,
                      size_t c_step) {
    const size_t fours = (static_cast<size_t>(m.inputs) + 3) / 4, step = panel_bytes(m);
    const uint8_t* b = m.data + panel * step;
    __m512i sums[ROWS][PANELS];
#pragma GCC unroll 32
    for (int r = 0; r < ROWS; r++)
#pragma GCC unroll 8
        for (int p = 0; p < PANELS; p++) sums[r][p] = _mm512_setzero_si512();
    for (size_t i = 0; i < fours; i++) {
        __m512i weights[PANELS];
#pragma GCC unroll 8
        for (int p = 0; p < PANELS; p++) {
            weights[p] = _mm512_loadu_si512(b + p * step + i * 64);
            if (AHEAD) _mm_prefetch(b + (PANELS + p) * step + i * 64, _MM_HINT_T1);
        }
#pragma GCC unroll 32
        for (int r = 0; r < ROWS; r++) {
            int32_t four;
            std::memcpy(&four, a + r * a_step + i * 4, 4);
            const __m512i x = _mm512_set1_epi32(four);
#pragma GCC unroll 8
            for (int p = 0; p < PANELS; p++) add_products(sums[r][p], x, weights[p]);
        }
    }
#pragma GCC unroll 32
    for (int r = 0; r < ROWS; r++)
#pragma GCC unroll 8
        for (int p = 0; p < PANELS; p++) {
            const __m512i more = _mm512_slli_epi32(_mm512_loadu_si512(m.sums + (panel + p) * LANES), 7);
            const Lanes value = {_mm512_cvtepi32_ps(_mm512_sub_epi32(sums[r][p], more))};
            store(c + r * c_step + p * LANES, value * all(a_scales[r]) * load(m.scales + (panel + p) * LANES));
        }
}

#else

// Of two bytes, as the instruction that adds pairs of products takes them.
using Code = int16_t;
constexpr int INT8_ROWS = 3;

inline void store_codes(Code* out, Lanes whole) {
    const __m256i pairs = _mm256_packs_epi32(_mm256_cvtps_epi32(whole.a), _mm256_cvtps_epi32(whole.b));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(out), _mm256_permute4x64_epi64(pairs, 0b11011000));
}

template <int ROWS, int PANELS, bool AHEAD>
inline void int8_tile(const Matrix& m, size_t panel, const Code* a, size_t a_step, const float* a_scales, float* c,
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
                int64_t four;
                std::memcpy(&four, a + r * a_step + i * 4, 8);
                x[r] = _mm256_set1_epi64x(four);
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

template <int PANELS>
inline void int8_panels(const Matrix& m, size_t panel, const Code* a, size_t a_step, const float* a_scales, int rows,
                        float* c, size_t c_step) {
    for (int row = 0; row < rows; row += INT8_ROWS) {
        const Code* x = a + row * a_step;
        float* y = c + row * c_step;
        constexpr int most = PANELS <= PANELS_AT_ONCE ? INT8_ROWS : std::min(INT8_ROWS, FEW_ROWS);
        with_count<most>(std::min(INT8_ROWS, rows - row), [&](auto count) {
            if (row == 0) {
                int8_tile<count, PANELS, true>(m, panel, x, a_step, a_scales, y, c_step);
            } else {
                int8_tile<count, PANELS, false>(m, panel, x, a_step, a_scales + row, y, c_step);
            }
        });
    }
}

// The row's scale, and its codes: whole numbers of scales, ties to even. Rows of zeros have scale 1. Reads and writes
// whole lanes: the room behind the row has to be there.
inline float quantize(const float* x, size_t width, Code* codes) {
    Lanes large = zeros();
    size_t i = 0;
    for (; i + LANES <= width; i += LANES) large = maximum(magnitude(load(x + i)), large);
    float most = largest(large);
    for (; i < width; i++) most = std::max(most, std::fabs(x[i]));
    const float scale = most > 0.0f ? most / 127.0f : 1.0f;
    for (i = 0; i < padded(width); i += LANES) store_codes(codes + i, nearest(load(x + i) / all(scale)));
    return scale;
}

}  // namespace engine

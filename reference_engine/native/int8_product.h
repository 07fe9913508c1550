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
constexpr int INT8_ROWS = 6;

inline void store_codes(Code* out, Lanes whole) {
    const __m256i pairs = _mm256_packs_epi32(_mm256_cvtps_epi32(whole.a), _mm256_cvtps_epi32(whole.b));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(out), _mm256_permute4x64_epi64(pairs, 0b11011000));
}

// sums + Σ of two products in each lane. Not by the intrinsics: compilers put all products before all additions, and then
// lack registers for them.
inline __m256i plus_products(__m256i sums, __m256i inputs, __m256i weights) {
    __m256i products;
    asm("vpmaddwd %3, %2, %1\n\tvpaddd %1, %0, %0" : "+x"(sums), "=&x"(products) : "x"(inputs), "x"(weights));
    return sums;
}

// Four times QUADS outputs.
template <int ROWS, int QUADS>
inline void int8_quads(const uint8_t* b, size_t fours, const Code* a, size_t a_step, const float* a_scales,
                       const float* scales, float* c, size_t c_step) {
    __m256i sums[ROWS][QUADS];
#pragma GCC unroll 8
    for (int r = 0; r < ROWS; r++)
#pragma GCC unroll 4
        for (int q = 0; q < QUADS; q++) sums[r][q] = _mm256_setzero_si256();
    for (size_t i = 0; i < fours; i++) {
        __m256i weights[QUADS];
#pragma GCC unroll 4
        for (int q = 0; q < QUADS; q++)
            weights[q] = _mm256_cvtepi8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(b + i * 64 + q * 16)));
#pragma GCC unroll 8
        for (int r = 0; r < ROWS; r++) {
            int64_t four;
            std::memcpy(&four, a + r * a_step + i * 4, 8);
            const __m256i x = _mm256_set1_epi64x(four);
#pragma GCC unroll 4
            for (int q = 0; q < QUADS; q++) sums[r][q] = plus_products(sums[r][q], x, weights[q]);
        }
    }
#pragma GCC unroll 8
    for (int r = 0; r < ROWS; r++)
#pragma GCC unroll 4
        for (int q = 0; q < QUADS; q++) {
            const __m128i low = _mm256_castsi256_si128(sums[r][q]), high = _mm256_extracti128_si256(sums[r][q], 1);
            const __m128 value = _mm_cvtepi32_ps(_mm_hadd_epi32(low, high));
            const __m128 scaled = _mm_mul_ps(_mm_mul_ps(value, _mm_set1_ps(a_scales[r])), _mm_loadu_ps(scales + q * 4));
            _mm_storeu_ps(c + r * c_step + q * 4, scaled);
        }
}

template <int ROWS, int PANELS, bool AHEAD>
inline void int8_tile(const Matrix& m, size_t panel, const Code* a, size_t a_step, const float* a_scales, float* c,
                      size_t c_step) {
    constexpr int QUADS = ROWS <= 2 ? 4 : 2;
    const size_t fours = (static_cast<size_t>(m.inputs) + 3) / 4, step = panel_bytes(m);
    for (int p = 0; p < PANELS; p++)
        for (int q = 0; q < 4; q += QUADS)
            int8_quads<ROWS, QUADS>(m.data + (panel + p) * step + q * 16, fours, a, a_step, a_scales,
                                    m.scales + (panel + p) * LANES + q * 4, c + p * LANES + q * 4, c_step);
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

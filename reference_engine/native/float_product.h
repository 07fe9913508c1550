// Products of float rows with panels. An output is the sum of blocks of 128 inputs, each summed in ascending order, one
// fused multiply-add each, in a lane of its own: so it depends on its own row and column only, never on the rows beside it,
// on how many there are, or on threads.
#pragma once

#include <algorithm>

#include "panels.h"

namespace engine {

constexpr size_t BLOCK_INPUTS = 128;

// c[row][panel][16] (+)= Σ a[row][i] · b[panel][i][16] over a block of inputs.
template <int ROWS, int PANELS>
inline void tile(const float* a, size_t a_step, const float* b, size_t b_step, size_t inputs, float* c, size_t c_step,
                 bool first) {
    Lanes sums[ROWS][PANELS];
#pragma GCC unroll 32
    for (int r = 0; r < ROWS; r++)
#pragma GCC unroll 8
        for (int p = 0; p < PANELS; p++) sums[r][p] = zeros();
    for (size_t i = 0; i < inputs; i++) {
        Lanes weights[PANELS];
#pragma GCC unroll 8
        for (int p = 0; p < PANELS; p++) weights[p] = load(b + p * b_step + i * LANES);
#pragma GCC unroll 32
        for (int r = 0; r < ROWS; r++) {
            const Lanes x = all(a[r * a_step + i]);
#pragma GCC unroll 8
            for (int p = 0; p < PANELS; p++) sums[r][p] = fma(x, weights[p], sums[r][p]);
        }
    }
#pragma GCC unroll 32
    for (int r = 0; r < ROWS; r++)
#pragma GCC unroll 8
        for (int p = 0; p < PANELS; p++) {
            float* at = c + r * c_step + p * LANES;
            store(at, first ? sums[r][p] : load(at) + sums[r][p]);
        }
}

#if defined(__AVX512F__)
constexpr int ROWS_AT_ONCE = 12, PANELS_AT_ONCE = 2, FEW_ROWS = 4, PANELS_FOR_FEW = 6;
#else
constexpr int ROWS_AT_ONCE = 6, PANELS_AT_ONCE = 1, FEW_ROWS = 2, PANELS_FOR_FEW = 3;
#endif

// As many rows at once as there are registers for.
template <int PANELS>
constexpr int rows_beside = PANELS == PANELS_FOR_FEW ? FEW_ROWS : ROWS_AT_ONCE;

// A few rows by packed panels: every weight is unpacked once, in registers, and used at once. The sums are those of tile.
template <int ROWS, int PANELS>
inline void packed_tile(const Matrix& m, size_t panel, const float* a, size_t a_step, float* c, size_t c_step) {
    const size_t inputs = m.inputs, width = grouped(m), step = group_bytes(m);
    const __m128i low = _mm_set1_epi8(15);
    Lanes totals[ROWS][PANELS];
    for (size_t block = 0; block < inputs; block += BLOCK_INPUTS) {
        Lanes sums[ROWS][PANELS];
#pragma GCC unroll 8
        for (int r = 0; r < ROWS; r++)
#pragma GCC unroll 8
            for (int p = 0; p < PANELS; p++) sums[r][p] = zeros();
        const size_t end = std::min(block + BLOCK_INPUTS, inputs);
        for (size_t from = block; from < end; from += width) {
            const size_t to = std::min(from + width, end);
            Lanes scale[PANELS], lowest[PANELS];
            const uint8_t* codes[PANELS];
#pragma GCC unroll 8
            for (int p = 0; p < PANELS; p++) {
                const uint8_t* at = m.data + (panel + p) * panel_bytes(m) + from / width * step;
                const uint16_t* halves = reinterpret_cast<const uint16_t*>(at);
                if (m.format == Q8) {
                    scale[p] = from_half(halves);
                    codes[p] = at + LANES * 2;
                } else if (m.format == Q4) {
                    scale[p] = load(reinterpret_cast<const float*>(at));
                    lowest[p] = all(-8.0f) * scale[p];
                    codes[p] = at + LANES * 4;
                } else {
                    scale[p] = from_half(halves);
                    lowest[p] = from_half(halves + LANES);
                    codes[p] = at + LANES * 4;
                }
            }
            if (m.format == Q8) {
                for (size_t i = from; i < to; i++) {
#pragma GCC unroll 8
                    for (int p = 0; p < PANELS; p++) {
                        const Lanes w = from_int8(reinterpret_cast<const int8_t*>(codes[p]) + (i - from) * LANES) * scale[p];
#pragma GCC unroll 8
                        for (int r = 0; r < ROWS; r++) sums[r][p] = fma(all(a[r * a_step + i]), w, sums[r][p]);
                    }
                }
                continue;
            }
            for (size_t i = from; i < to; i += 2) {
#pragma GCC unroll 8
                for (int p = 0; p < PANELS; p++) {
                    const __m128i both =
                        _mm_loadu_si128(reinterpret_cast<const __m128i*>(codes[p] + (i - from) / 2 * LANES));
                    const Lanes even = fma(from_uint8(_mm_and_si128(both, low)), scale[p], lowest[p]);
                    const Lanes odd = fma(from_uint8(_mm_and_si128(_mm_srli_epi16(both, 4), low)), scale[p], lowest[p]);
#pragma GCC unroll 8
                    for (int r = 0; r < ROWS; r++) {
                        const float* x = a + r * a_step + i;
                        sums[r][p] = fma(all(x[0]), even, sums[r][p]);
                        if (i + 1 < to) sums[r][p] = fma(all(x[1]), odd, sums[r][p]);
                    }
                }
            }
        }
#pragma GCC unroll 8
        for (int r = 0; r < ROWS; r++)
#pragma GCC unroll 8
            for (int p = 0; p < PANELS; p++) totals[r][p] = block == 0 ? sums[r][p] : totals[r][p] + sums[r][p];
    }
#pragma GCC unroll 8
    for (int r = 0; r < ROWS; r++)
#pragma GCC unroll 8
        for (int p = 0; p < PANELS; p++) store(c + r * c_step + p * LANES, totals[r][p]);
}

template <int PANELS>
inline void float_panels(const Matrix& m, size_t panel, const float* a, size_t a_step, int rows, float* c,
                         size_t c_step) {
    if constexpr (PANELS == PANELS_FOR_FEW)
        if (rows <= FEW_ROWS && m.format != F32 && m.format != BF16)
            return with_count<FEW_ROWS>(
                rows, [&](auto count) { packed_tile<count, PANELS>(m, panel, a, a_step, c, c_step); });
    alignas(64) float room[PANELS * BLOCK_INPUTS * LANES];
    const size_t inputs = m.inputs;
    for (size_t from = 0; from < inputs; from += BLOCK_INPUTS) {
        const size_t count = std::min(BLOCK_INPUTS, inputs - from);
        const float* b = room;
        size_t b_step = BLOCK_INPUTS * LANES;
        if (m.format == F32) {
            b = reinterpret_cast<const float*>(group_at(m, panel, from));
            b_step = panel_bytes(m) / sizeof(float);
        } else {
            for (int p = 0; p < PANELS; p++) unpack(m, panel + p, from, count, room + p * b_step);
        }
        constexpr int most = rows_beside<PANELS>;
        for (int row = 0; row < rows; row += most)
            with_count<most>(std::min(most, rows - row), [&](auto some) {
                tile<some, PANELS>(a + row * a_step + from, a_step, b, b_step, count, c + row * c_step, c_step,
                                   from == 0);
            });
    }
}

}  // namespace engine

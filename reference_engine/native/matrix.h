// Products of rows with a matrix of weights. The weights lie in panels of sixteen outputs, [panel][input][16], in the
// format they are stored in. An output is the sum of blocks of 128 inputs, each summed in ascending order, one fused
// multiply-add each, in a lane of its own: so it depends on its own row and column only, never on the rows beside it, on
// how many there are, or on threads. The int8 format sums exact integers.
#pragma once

#include <algorithm>

#include "simd.h"
#include "team.h"

namespace engine {

enum Format : int32_t {
    F32 = 0,     // float
    BF16 = 1,    // bfloat16
    Q8 = 2,      // groups of inputs: 16 half scales, then int8; value = code · scale
    Q4 = 3,      // groups: 16 float scales, then nibbles, even inputs low; value = (code - 8) · scale
    Q4_MIN = 4,  // groups: 16 half scales, 16 half minima, then nibbles; value = code · scale + minimum
    I8 = 5,      // [input / 4][16][4] int8, with a float scale for each output; inputs are int8 too
};

struct Matrix {
    int32_t format;
    int32_t outputs;  // without the padding of the last panel
    int32_t inputs;
    int32_t group;        // inputs that share a scale
    const uint8_t* data;  // the panels
    const float* scales;  // I8: of each output
    const float* bias;    // of each output, or null
};

inline size_t panels(const Matrix& m) { return padded(m.outputs) / LANES; }

// Bytes of one group of a panel; a format without groups has one input in each.
inline size_t group_bytes(const Matrix& m) {
    switch (m.format) {
        case F32: return LANES * 4;
        case BF16: return LANES * 2;
        case Q8: return LANES * 2 + static_cast<size_t>(m.group) * LANES;
        case Q4: return LANES * 4 + static_cast<size_t>(m.group) * LANES / 2;
        default: return LANES * 4 + static_cast<size_t>(m.group) * LANES / 2;
    }
}

inline size_t grouped(const Matrix& m) { return m.format == F32 || m.format == BF16 ? 1 : m.group; }

inline size_t panel_bytes(const Matrix& m) {
    if (m.format == I8) return (static_cast<size_t>(m.inputs) + 3) / 4 * 4 * LANES;
    return (m.inputs + grouped(m) - 1) / grouped(m) * group_bytes(m);  // the last group may be shorter, its room is not
}

inline const uint8_t* group_at(const Matrix& m, size_t panel, size_t input) {
    return m.data + panel * panel_bytes(m) + input / grouped(m) * group_bytes(m);
}

template <typename Value>
inline void nibbles(const uint8_t* codes, size_t inputs, float* out, const Value& value) {
    const __m128i low = _mm_set1_epi8(15);
    for (size_t i = 0; i < inputs; i += 2, codes += LANES, out += 2 * LANES) {
        __m128i both = _mm_loadu_si128(reinterpret_cast<const __m128i*>(codes));
        store(out, value(from_uint8(_mm_and_si128(both, low))));
        store(out + LANES, value(from_uint8(_mm_and_si128(_mm_srli_epi16(both, 4), low))));
    }
}

// Values of inputs [from, from + count) of a panel as floats [count][16], written by whole groups: `from` begins one.
inline void unpack(const Matrix& m, size_t panel, size_t from, size_t count, float* out) {
    const uint8_t* at = group_at(m, panel, from);
    const size_t step = group_bytes(m), width = grouped(m);
    for (size_t done = 0; done < count; done += width, at += step, out += width * LANES) {
        if (m.format == BF16) {
            store(out, from_bfloat(reinterpret_cast<const uint16_t*>(at)));
        } else if (m.format == Q8) {
            const Lanes scale = from_half(reinterpret_cast<const uint16_t*>(at));
            const int8_t* codes = reinterpret_cast<const int8_t*>(at + LANES * 2);
            for (size_t i = 0; i < width; i++) store(out + i * LANES, from_int8(codes + i * LANES) * scale);
        } else if (m.format == Q4) {
            const Lanes scale = load(reinterpret_cast<const float*>(at));
            const Lanes lowest = all(-8.0f) * scale;  // exact, so that one rounding is left
            nibbles(at + LANES * 4, width, out, [&](Lanes code) { return fma(code, scale, lowest); });
        } else {
            const uint16_t* halves = reinterpret_cast<const uint16_t*>(at);
            const Lanes scale = from_half(halves), lowest = from_half(halves + LANES);
            nibbles(at + LANES * 4, width, out, [&](Lanes code) { return fma(code, scale, lowest); });
        }
    }
}

// One weight, the same bits as unpack gives.
inline float weight_at(const Matrix& m, size_t output, size_t input) {
    const size_t panel = output / LANES, lane = output % LANES, inside = input % grouped(m);
    const uint8_t* at = group_at(m, panel, input);
    const uint16_t* halves = reinterpret_cast<const uint16_t*>(at);
    const auto half = [&](size_t i) { return _cvtsh_ss(halves[i]); };
    const auto nibble = [&](const uint8_t* codes) {
        const uint8_t both = codes[inside / 2 * LANES + lane];
        return static_cast<float>(inside % 2 ? both >> 4 : both & 15);
    };
    switch (m.format) {
        case F32: return reinterpret_cast<const float*>(at)[lane];
        case BF16: {
            const uint32_t bits = static_cast<uint32_t>(halves[lane]) << 16;
            float value;
            std::memcpy(&value, &bits, 4);
            return value;
        }
        case Q8:
            return static_cast<float>(reinterpret_cast<const int8_t*>(at + LANES * 2)[inside * LANES + lane]) *
                   half(lane);
        case Q4: {
            const float scale = reinterpret_cast<const float*>(at)[lane];
            return std::fma(nibble(at + LANES * 4), scale, -8.0f * scale);
        }
        default: return std::fma(nibble(at + LANES * 4), half(lane), half(LANES + lane));
    }
}

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

template <int PANELS>
inline void tile_rows(int rows, const float* a, size_t a_step, const float* b, size_t b_step, size_t inputs, float* c,
                      size_t c_step, bool first) {
#define ENGINE_ROWS(N) \
    case N: tile<N, PANELS>(a, a_step, b, b_step, inputs, c, c_step, first); break;
    if constexpr (PANELS == PANELS_FOR_FEW) {
        switch (rows) {
            ENGINE_ROWS(1)
            ENGINE_ROWS(2)
#if defined(__AVX512F__)
            ENGINE_ROWS(3)
            ENGINE_ROWS(4)
#endif
        }
    } else {
        switch (rows) {
            ENGINE_ROWS(1)
            ENGINE_ROWS(2)
            ENGINE_ROWS(3)
            ENGINE_ROWS(4)
            ENGINE_ROWS(5)
            ENGINE_ROWS(6)
#if defined(__AVX512F__)
            ENGINE_ROWS(7)
            ENGINE_ROWS(8)
            ENGINE_ROWS(9)
            ENGINE_ROWS(10)
            ENGINE_ROWS(11)
            ENGINE_ROWS(12)
#endif
        }
    }
#undef ENGINE_ROWS
}

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
inline void packed_rows(const Matrix& m, size_t panel, const float* a, size_t a_step, int rows, float* c, size_t c_step) {
#define ENGINE_ROWS(N) \
    case N: packed_tile<N, PANELS>(m, panel, a, a_step, c, c_step); break;
    switch (rows) {
        ENGINE_ROWS(1)
        ENGINE_ROWS(2)
#if defined(__AVX512F__)
        ENGINE_ROWS(3)
        ENGINE_ROWS(4)
#endif
    }
#undef ENGINE_ROWS
}

template <int PANELS>
inline void float_panels(const Matrix& m, size_t panel, const float* a, size_t a_step, int rows, float* c,
                         size_t c_step) {
    if constexpr (PANELS == PANELS_FOR_FEW)
        if (rows <= FEW_ROWS && m.format != F32 && m.format != BF16) return packed_rows<PANELS>(m, panel, a, a_step, rows, c, c_step);
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
        for (int row = 0; row < rows; row += ROWS_AT_ONCE) {
            const int some = std::min(ROWS_AT_ONCE, rows - row);
            tile_rows<PANELS>(some, a + row * a_step + from, a_step, b, b_step, count, c + row * c_step, c_step,
                              from == 0);
        }
    }
}

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

// Rows to be multiplied: floats, and for int8 matrices their codes and scales.
struct Inputs {
    const float* values;
    const int8_t* codes;
    const float* scales;
    size_t step;  // elements from row to row, of both
    int rows;
};

template <int PANELS>
inline void some_panels(const Matrix& m, size_t panel, const Inputs& in, float* out, size_t out_step) {
    if (m.format == I8) {
        int8_panels<PANELS>(m, panel, in.codes, in.step, in.scales, in.rows, out, out_step);
    } else {
        float_panels<PANELS>(m, panel, in.values, in.step, in.rows, out, out_step);
    }
}

// Outputs of panels [from, to) into out[row][(panel - from) · 16 …], bias added.
inline void multiply_panels(const Matrix& m, const Inputs& in, size_t from, size_t to, float* out, size_t out_step) {
    size_t panel = from;
    float* at = out;
    if (in.rows <= FEW_ROWS)
        for (; panel + PANELS_FOR_FEW <= to; panel += PANELS_FOR_FEW, at += PANELS_FOR_FEW * LANES)
            some_panels<PANELS_FOR_FEW>(m, panel, in, at, out_step);
    for (; panel + PANELS_AT_ONCE <= to; panel += PANELS_AT_ONCE, at += PANELS_AT_ONCE * LANES)
        some_panels<PANELS_AT_ONCE>(m, panel, in, at, out_step);
    for (; panel < to; panel++, at += LANES) some_panels<1>(m, panel, in, at, out_step);
    if (m.bias == nullptr) return;
    for (int row = 0; row < in.rows; row++)
        for (size_t p = from; p < to; p++) {
            float* y = out + row * out_step + (p - from) * LANES;
            store(y, load(y) + load(m.bias + p * LANES));
        }
}

// A member's share of a whole product.
inline void multiply(const Matrix& m, const Inputs& in, float* out, size_t out_step, Meeting& meeting) {
    const int count = static_cast<int>(panels(m));
    const int piece = in.rows <= FEW_ROWS ? PANELS_FOR_FEW : PANELS_AT_ONCE * (in.rows < 64 ? 2 : 1);
    for (int from; (from = meeting.take() * piece) < count;)
        multiply_panels(m, in, from, std::min(from + piece, count), out + static_cast<size_t>(from) * LANES, out_step);
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

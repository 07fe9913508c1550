// Matrices of weights in panels of sixteen outputs, [panel][input][16], in the format they are stored in, and what a
// format stands for.
#pragma once

#include <algorithm>

#include "simd.h"

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
    const int32_t* sums;  // I8: of each output's codes
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

}  // namespace engine

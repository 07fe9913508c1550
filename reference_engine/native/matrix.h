// Products of rows with a matrix, whatever its format, shared among the members of a team.
#pragma once

#include <algorithm>

#include "float_product.h"
#include "int8_product.h"
#include "team.h"

namespace engine {

// Rows to be multiplied: floats, and for int8 matrices their codes and scales.
struct Inputs {
    const float* values;
    const Code* codes;
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

// A member's share of a whole product, in pieces: small enough for all members to end together, and large enough for
// the next panels to be on their way.
inline void multiply(const Matrix& m, const Inputs& in, float* out, size_t out_step, Meeting& meeting) {
    const int count = static_cast<int>(panels(m));
    const int at_once = in.rows <= FEW_ROWS ? PANELS_FOR_FEW : PANELS_AT_ONCE;
    const int piece = std::max(1, count / (meeting.members() * 6 * at_once)) * at_once;
    for (int from; (from = meeting.take() * piece) < count;)
        multiply_panels(m, in, from, std::min(from + piece, count), out + static_cast<size_t>(from) * LANES, out_step);
}

}  // namespace engine

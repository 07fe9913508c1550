// The forward pass of a decoder over paged keys and values, run by all members of a team at once.
#pragma once

#include <algorithm>
#include <deque>
#include <vector>

#include "attention.h"
#include "matrix.h"
#include "shares.h"
#include "simd.h"
#include "team.h"

namespace engine {

enum Activations : int32_t { FLOAT = 0, BFLOAT = 1, INT8_ROW = 2 };
enum KeysAndValues : int32_t { HELD_FLOAT = 0, HELD_BFLOAT = 1 };

struct Layer {
    const float* attention_norm;
    Matrix qkv;
    const float* q_norm;  // null where the family has none
    const float* k_norm;
    Matrix output;
    const float* feed_norm;
    Matrix gate_up;
    Matrix down;
    int32_t window;  // keys a query looks back at, itself included; 0 for all
    int32_t group;   // of the layers with this window, which share a page table
    int32_t index;   // among the layers of a page of its group
};

struct Model {
    int32_t hidden;
    int32_t wide;
    int32_t layer_count;
    int32_t heads;
    int32_t kv_heads;
    int32_t head_width;
    int32_t activations;
    int32_t keys_and_values;
    float epsilon;
    const float* cosines;  // [position][head_width / 2]
    const float* sines;
    const Layer* layers;
    const float* final_norm;
    Matrix embedding;
    Matrix head;
};

inline void round_row(float* x, size_t width) {
    for (size_t i = 0; i < width; i += LANES) store(x + i, to_bfloat(load(x + i)));
}

// Buffers are padded to whole lanes and their padding stays zero, so that rows are worked on in whole lanes.
inline void rms_norm(const float* x, const float* weight, size_t width, float epsilon, float* out) {
    Lanes squares = zeros();
    size_t i = 0;
    for (; i + LANES <= width; i += LANES) {
        const Lanes v = load(x + i);
        squares = fma(v, v, squares);
    }
    float rest = 0.0f;
    for (size_t j = i; j < width; j++) rest = std::fma(x[j], x[j], rest);
    const float mean = (sum(squares) + rest) / static_cast<float>(width);
    const float factor = 1.0f / std::sqrt(mean + epsilon);
    for (size_t j = 0; j < width; j++) out[j] = x[j] * factor * weight[j];
}

inline void rotate(float* x, const float* cosine, const float* sine, int width) {
    const int half = width / 2;
    for (int i = 0; i < half; i++) {
        const float a = x[i], b = x[i + half];
        x[i] = a * cosine[i] + -b * sine[i];
        x[i + half] = b * cosine[i] + a * sine[i];
    }
}

inline void gated(const float* gate, const float* up, size_t width, bool bfloat, float* out) {
    for (size_t i = 0; i < width; i += LANES) {
        const Lanes g = load(gate + i);
        Lanes silu = g / (all(1.0f) + exponential(maximum(zeros() - g, all(-88.0f))));
        if (bfloat) silu = to_bfloat(silu);
        Lanes product = silu * load(up + i);
        store(out + i, bfloat ? to_bfloat(product) : product);
    }
}

// What passes of one shape work in, one after the other.
struct Workspace {
    std::vector<float> x, in, joined, sums, scales;
    std::vector<Code> codes;
};

// One forward pass, run by every member of a team at once: all of them on the same rows, each with columns of its own, or
// where there are enough sequences each on rows of its own. No result depends on it: a row's are those of the row alone.
class Pass {
   public:
    Pass(const Model& model, const Rows& rows, uint8_t* arena, float* out, int members, Workspace& room)
        : m_(model), rows_(rows), arena_(arena), out_(out), x_(room.x), in_(room.in), joined_(room.joined),
          sums_(room.sums), scales_(room.scales), codes_(room.codes) {
        const size_t n = rows.count;
        heads_ = {m_.heads, m_.kv_heads, m_.head_width};
        q_width_ = static_cast<size_t>(m_.heads) * m_.head_width;
        kv_width_ = static_cast<size_t>(m_.kv_heads) * m_.head_width;
        width_ = std::max({padded(m_.hidden), padded(m_.wide), padded(q_width_)});
        joined_width_ = std::max(padded(q_width_ + 2 * kv_width_), padded(2 * static_cast<size_t>(m_.wide)));
        at_least(x_, n * padded(m_.hidden));
        at_least(in_, n * width_);
        at_least(joined_, n * joined_width_);
        at_least(sums_, n * padded(m_.hidden));
        if (m_.activations == INT8_ROW) {
            at_least(codes_, n * width_);
            at_least(scales_, n);
        }
        const std::vector<int> borders = shares_of(rows, members);
        const int each = borders.size() == 2 ? members : 1;
        for (size_t i = 0; i + 1 < borders.size(); i++) {
            parts_.emplace_back(borders[i], borders[i + 1], each);
            share_queries(parts_.back());
        }
    }

    void run(int member) {
        Part& part = parts_.size() == 1 ? parts_[0] : parts_[member];
        std::vector<float> weights;
        each_row(part, [&](int row) { embed(row); });
        for (int layer = 0; layer < m_.layer_count; layer++) {
            const Layer& l = m_.layers[layer];
            each_row(part, [&](int row) { normed(row, l.attention_norm); });
            product(part, l.qkv, joined_, joined_width_);
            each_row(part, [&](int row) { place(row, l); });
            each(part, static_cast<int>(part.tasks.size()), [&](int task) { mix(part.tasks[task], l, weights); });
            each_row(part, [&](int row) { ready(row, q_width_); });
            product(part, l.output, sums_, padded(m_.hidden));
            each_row(part, [&](int row) {
                add(row);
                normed(row, l.feed_norm);
            });
            product(part, l.gate_up, joined_, joined_width_);
            each_row(part, [&](int row) {
                const float* gate = joined_.data() + row * joined_width_;
                rounded(joined_.data() + row * joined_width_, 2 * static_cast<size_t>(m_.wide));
                activate(row, gate);
            });
            product(part, l.down, sums_, padded(m_.hidden));
            each_row(part, [&](int row) { add(row); });
        }
        each(part, rows_.read_count, [&](int i) {
            if (rows_.read[i] >= part.begin && rows_.read[i] < part.end) finish(i);
        });
    }

   private:
    // Queries of neighbouring rows of a sequence, for one key-value head.
    struct Task {
        int row;
        int count;
        int head;
        int group;  // which of the head's query heads come first
        int width;  // how many of them
    };

    // Rows that some members, or one, work on.
    struct Part {
        Part(int from, int to, int members) : begin(from), end(to), meeting(members) {}
        const int begin, end;
        std::vector<Task> tasks;
        Meeting meeting;
    };

    template <typename Value>
    static void at_least(std::vector<Value>& room, size_t size) {
        if (room.size() < size) room.resize(size);
    }

    template <typename Work>
    static void each(Part& part, int count, const Work& work) {
        part.meeting.wait();
        for (int i; (i = part.meeting.take()) < count;) work(i);
    }

    template <typename Work>
    static void each_row(Part& part, const Work& work) {
        each(part, part.end - part.begin, [&](int i) { work(part.begin + i); });
    }

    void product(Part& part, const Matrix& m, std::vector<float>& out, size_t step) {
        part.meeting.wait();
        const size_t at = part.begin * width_;
        const Inputs in = {in_.data() + at, codes_.data() + (codes_.empty() ? 0 : at),
                           scales_.data() + (scales_.empty() ? 0 : part.begin), width_, part.end - part.begin};
        multiply(m, in, out.data() + part.begin * step, step, part.meeting);
    }

    void finish(int i) {
        float* out = out_ + static_cast<size_t>(i) * m_.hidden;
        const size_t step = padded(m_.hidden);
        std::vector<float> state(step, 0.0f);
        rms_norm(x_.data() + rows_.read[i] * step, m_.final_norm, m_.hidden, m_.epsilon, state.data());
        rounded(state.data(), m_.hidden);
        std::memcpy(out, state.data(), m_.hidden * sizeof(float));
    }

    bool bfloat() const { return m_.activations == BFLOAT; }

    void rounded(float* x, size_t width) const {
        if (bfloat()) round_row(x, padded(width));
    }

    void embed(int row) {
        float* x = x_.data() + row * padded(m_.hidden);
        for (int i = 0; i < m_.hidden; i++) x[i] = weight_at(m_.embedding, rows_.ids[row], i);
    }

    // What the next product takes: the row of in_, rounded or with its codes.
    void ready(int row, size_t width) {
        float* in = in_.data() + row * width_;
        rounded(in, width);
        if (m_.activations == INT8_ROW) scales_[row] = quantize(in, width, codes_.data() + row * width_);
    }

    void normed(int row, const float* weight) {
        rms_norm(x_.data() + row * padded(m_.hidden), weight, m_.hidden, m_.epsilon, in_.data() + row * width_);
        ready(row, m_.hidden);
    }

    void add(int row) {
        float* x = x_.data() + row * padded(m_.hidden);
        float* more = sums_.data() + row * padded(m_.hidden);
        rounded(more, m_.hidden);
        for (size_t i = 0; i < padded(m_.hidden); i += LANES) store(x + i, load(more + i) + load(x + i));
        rounded(x, m_.hidden);
    }

    void activate(int row, const float* gate) {
        float* in = in_.data() + row * width_;
        const size_t wide = m_.wide;
        if (wide % LANES == 0) {
            gated(gate, gate + wide, wide, bfloat(), in);
        } else {
            std::vector<float> both(2 * padded(wide), 0.0f);
            std::memcpy(both.data(), gate, wide * sizeof(float));
            std::memcpy(both.data() + padded(wide), gate + wide, wide * sizeof(float));
            gated(both.data(), both.data() + padded(wide), padded(wide), bfloat(), in);
        }
        if (m_.activations == INT8_ROW) scales_[row] = quantize(in, wide, codes_.data() + row * width_);
    }

    // Turns queries and keys, and puts keys and values into their page.
    void place(int row, const Layer& l) {
        float* q = joined_.data() + row * joined_width_;
        rounded(q, q_width_ + 2 * kv_width_);
        float* k = q + q_width_;
        const float* v = k + kv_width_;
        const int position = rows_.positions[row], width = m_.head_width;
        const float* cosine = m_.cosines + static_cast<size_t>(position) * (width / 2);
        const float* sine = m_.sines + static_cast<size_t>(position) * (width / 2);
        for (int head = 0; head < m_.heads; head++) turned(q + head * width, l.q_norm, cosine, sine);
        const int64_t page = rows_.table(l.group, row)[position / PAGE];
        for (int head = 0; head < m_.kv_heads; head++) {
            turned(k + head * width, l.k_norm, cosine, sine);
            keep(page, l.index, head, position % PAGE, k + head * width, v + head * width);
        }
    }

    void keep(int64_t page, int layer, int head, int slot, const float* key, const float* value) {
        if (m_.keys_and_values == HELD_BFLOAT)
            write_token(key_page<Bfloat>(arena_, page, layer, heads_, head), heads_, slot, key, value);
        else
            write_token(key_page<float>(arena_, page, layer, heads_, head), heads_, slot, key, value);
    }

    void turned(float* x, const float* norm, const float* cosine, const float* sine) const {
        const int width = m_.head_width;
        float head[512];
        std::memcpy(head, x, width * sizeof(float));
        if (norm != nullptr) {
            rms_norm(x, norm, width, m_.epsilon, head);
            bfloat_head(head);
        }
        rotate(head, cosine, sine, width);
        bfloat_head(head);
        std::memcpy(x, head, width * sizeof(float));
    }

    void bfloat_head(float* head) const {
        if (!bfloat()) return;
        std::memset(head + m_.head_width, 0, (padded(m_.head_width) - m_.head_width) * sizeof(float));
        round_row(head, padded(m_.head_width));
    }

    // Head after head of a sequence, so that its keys and values stay near.
    void share_queries(Part& part) const {
        const int group = m_.heads / m_.kv_heads;
        const int width = std::min(group, QUERIES_AT_ONCE);
        const int most = std::max(1, QUERIES_AT_ONCE / width);
        for (int row = part.begin, end = row; row < part.end; row = end) {
            while (end < part.end && rows_.owners[end] == rows_.owners[row]) end++;
            for (int head = 0; head < m_.kv_heads; head++)
                for (int from = row; from < end; from += most)
                    for (int first = 0; first < group; first += width)
                        part.tasks.push_back(
                            {from, std::min(most, end - from), head, first, std::min(width, group - first)});
        }
    }

    void mix(const Task& task, const Layer& l, std::vector<float>& weights) {
        const int group = m_.heads / m_.kv_heads, window = l.window;
        Queries some;
        int n = 0;
        for (int row = task.row; row < task.row + task.count; row++)
            for (int g = 0; g < task.width; g++, n++) {
                const size_t head = static_cast<size_t>(task.head) * group + task.group + g;
                some.q[n] = joined_.data() + row * joined_width_ + head * m_.head_width;
                some.out[n] = in_.data() + row * width_ + head * m_.head_width;
                some.last[n] = rows_.positions[row];
                some.first[n] = window > 0 ? std::max(0, rows_.positions[row] - window + 1) : 0;
            }
        const size_t room = static_cast<size_t>(some.last[n - 1] / PAGE + 1) * PAGE * n;
        if (weights.size() < room) weights.resize(room);
        const int64_t* table = rows_.table(l.group, task.row);
        const float scale = static_cast<float>(1.0 / std::sqrt(static_cast<double>(m_.head_width)));
        const auto attended = m_.keys_and_values == HELD_BFLOAT ? attend<Bfloat> : attend<float>;
        attended(n, some, arena_, table, l.index, heads_, task.head, scale, weights.data());
    }

    const Model& m_;
    const Rows& rows_;
    uint8_t* arena_;
    float* out_;
    Heads heads_;
    size_t q_width_, kv_width_, width_, joined_width_;
    std::vector<float>&x_, &in_, &joined_, &sums_, &scales_;
    std::vector<Code>& codes_;
    std::deque<Part> parts_;
};

}  // namespace engine

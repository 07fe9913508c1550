// The forward pass of a decoder over paged keys and values, run by all members of a team at once.
#pragma once

#include <algorithm>
#include <vector>

#include "attention.h"
#include "matrix.h"
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

struct Rows {
    int32_t count;
    int32_t read_count;
    int32_t owner_count;
    int32_t table_width;
    const int32_t* ids;
    const int32_t* positions;
    const int32_t* owners;
    const int64_t* tables;  // [group][owner][page], byte offsets
    const int32_t* read;

    const int64_t* table(int group, int row) const {
        return tables + (static_cast<size_t>(group) * owner_count + owners[row]) * table_width;
    }
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

// One forward pass, run by every member of a team at once.
class Pass {
   public:
    Pass(const Model& model, const Rows& rows, uint8_t* arena, float* out, int members, Workspace& room)
        : m_(model), rows_(rows), arena_(arena), out_(out), meeting_(members), x_(room.x), in_(room.in),
          joined_(room.joined), sums_(room.sums), scales_(room.scales), codes_(room.codes) {
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
        share_queries();
    }

    void run(int) {
        std::vector<float> weights;
        for (int row; (row = meeting_.take()) < rows_.count;) embed(row);
        for (int layer = 0; layer < m_.layer_count; layer++) {
            const Layer& l = m_.layers[layer];
            each_row([&](int row) { normed(row, l.attention_norm); });
            product(l.qkv, joined_.data(), joined_width_);
            each_row([&](int row) { place(row, l); });
            meeting_.wait();
            for (int task; (task = meeting_.take()) < static_cast<int>(tasks_.size());) mix(tasks_[task], l, weights);
            each_row([&](int row) { ready(row, q_width_); });
            product(l.output, sums_.data(), padded(m_.hidden));
            each_row([&](int row) {
                add(row);
                normed(row, l.feed_norm);
            });
            product(l.gate_up, joined_.data(), joined_width_);
            each_row([&](int row) {
                const float* gate = joined_.data() + row * joined_width_;
                rounded(joined_.data() + row * joined_width_, 2 * static_cast<size_t>(m_.wide));
                activate(row, gate);
            });
            product(l.down, sums_.data(), padded(m_.hidden));
            each_row([&](int row) { add(row); });
        }
        meeting_.wait();
        for (int i; (i = meeting_.take()) < rows_.read_count;) {
            float* out = out_ + static_cast<size_t>(i) * m_.hidden;
            const size_t step = padded(m_.hidden);
            std::vector<float> state(step, 0.0f);
            rms_norm(x_.data() + rows_.read[i] * step, m_.final_norm, m_.hidden, m_.epsilon, state.data());
            rounded(state.data(), m_.hidden);
            std::memcpy(out, state.data(), m_.hidden * sizeof(float));
        }
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

    template <typename Value>
    static void at_least(std::vector<Value>& room, size_t size) {
        if (room.size() < size) room.resize(size);
    }

    template <typename Work>
    void each_row(const Work& work) {
        meeting_.wait();
        for (int row; (row = meeting_.take()) < rows_.count;) work(row);
    }

    void product(const Matrix& m, float* out, size_t step) {
        meeting_.wait();
        multiply(m, {in_.data(), codes_.data(), scales_.data(), width_, rows_.count}, out, step, meeting_);
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
    void share_queries() {
        const int group = m_.heads / m_.kv_heads;
        const int width = std::min(group, QUERIES_AT_ONCE);
        const int most = std::max(1, QUERIES_AT_ONCE / width);
        for (int row = 0, end = 0; row < rows_.count; row = end) {
            while (end < rows_.count && rows_.owners[end] == rows_.owners[row]) end++;
            for (int head = 0; head < m_.kv_heads; head++)
                for (int from = row; from < end; from += most)
                    for (int first = 0; first < group; first += width)
                        tasks_.push_back(
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
    Meeting meeting_;
    Heads heads_;
    size_t q_width_, kv_width_, width_, joined_width_;
    std::vector<float>&x_, &in_, &joined_, &sums_, &scales_;
    std::vector<Code>& codes_;
    std::vector<Task> tasks_;
};

}  // namespace engine

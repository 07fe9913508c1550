// What is called from Python (library.py); every structure here has its twin there.
#include <vector>

#include "model.h"
#include "readout.h"
#include "sampling.h"

using namespace engine;

namespace {

// A team and the room it works in.
struct Site {
    explicit Site(int members) : team(members) {}
    Team team;
    Workspace room;
};

Team& team_of(void* site) { return static_cast<Site*>(site)->team; }

}  // namespace

extern "C" {

void* engine_open(int members) { return new Site(members); }

void engine_close(void* site) { delete static_cast<Site*>(site); }

void engine_hidden(void* site, const Model* model, const Rows* rows, uint8_t* arena, float* out) {
    Team& all_members = team_of(site);
    Pass pass(*model, *rows, arena, out, all_members.members(), static_cast<Site*>(site)->room);
    all_members.run([&](int member) { pass.run(member); });
}

// Of the states in `asked`, or where `logits` is not null of those, `step` floats apart.
void engine_read_out(void* site, const Model* model, const ReadOut* asked, const float* logits, int64_t step) {
    Team& all_members = team_of(site);
    Reading reading(model->head, *asked, model->hidden, all_members.members(), logits, static_cast<size_t>(step));
    all_members.run([&](int member) { reading.run(member); });
}

// states [count][hidden] by the head into out [count][padded outputs].
void engine_logits(void* site, const Model* model, const float* states, int32_t count, int32_t bfloat, float* out) {
    Team& all_members = team_of(site);
    Meeting meeting(all_members.members());
    const size_t step = padded(model->head.outputs);
    const Inputs in = {states, nullptr, nullptr, static_cast<size_t>(model->hidden), count};
    all_members.run([&](int) {
        multiply(model->head, in, out, step, meeting);
        if (!bfloat) return;
        meeting.wait();
        for (int row; (row = meeting.take()) < count;) round_row(out + row * step, step);
    });
}

// One token for each of `count` rows of logits, `step` floats apart.
void engine_sample(void* site, const float* logits, int64_t step, int32_t width, int32_t count, const Draw* draws,
                   int32_t* tokens) {
    Team& all_members = team_of(site);
    Meeting meeting(all_members.members());
    all_members.run([&](int) {
        for (int row; (row = meeting.take()) < count;) tokens[row] = sample(logits + row * step, width, draws[row]);
    });
}

// a [rows][inputs] by a matrix into out [rows][padded outputs]; for int8 the rows are quantized first.
void engine_multiply(void* site, const Matrix* matrix, const float* a, int32_t rows, float* out) {
    Team& all_members = team_of(site);
    Meeting meeting(all_members.members());
    const size_t width = padded(matrix->inputs);
    std::vector<float> values(rows * width, 0.0f), scales(rows);
    std::vector<Code> codes(rows * width, 0);
    for (int row = 0; row < rows; row++) {
        std::memcpy(values.data() + row * width, a + static_cast<size_t>(row) * matrix->inputs,
                    matrix->inputs * sizeof(float));
        if (matrix->format == I8) scales[row] = quantize(values.data() + row * width, matrix->inputs, codes.data() + row * width);
    }
    const Inputs in = {values.data(), codes.data(), scales.data(), width, rows};
    all_members.run([&](int) { multiply(*matrix, in, out, padded(matrix->outputs), meeting); });
}

}  // extern "C"

// The rows of a pass, and how they are shared out among the members of a team.
#pragma once

#include <algorithm>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "attention.h"

namespace engine {

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

// Fewer rows than a product takes at once are better worked on together: each member reads its share of the weights only.
constexpr int LEAST_ROWS_OF_A_SHARE = 12;

// How long a row takes, in units of its products for a model of the size of the bundled one.
inline double effort(const Rows& rows, int row) { return 1.0 + rows.positions[row] / 128.0; }

// Whether every page is looked at from one share only: no row waits for what another share's rows write.
inline bool apart(const Rows& rows, const std::vector<int>& borders) {
    std::unordered_map<int64_t, size_t> share_of_page;
    for (size_t share = 0; share + 1 < borders.size(); share++)
        for (int row = borders[share]; row < borders[share + 1]; row++)
            share_of_page[rows.table(0, row)[rows.positions[row] / PAGE]] = share;
    for (size_t share = 0; share + 1 < borders.size(); share++)
        for (int row = borders[share]; row < borders[share + 1]; row++) {
            if (row + 1 < borders[share + 1] && rows.owners[row] == rows.owners[row + 1]) continue;
            for (int page = 0; page <= rows.positions[row] / PAGE; page++) {
                const auto found = share_of_page.find(rows.table(0, row)[page]);
                if (found != share_of_page.end() && found->second != share) return false;
            }
        }
    return true;
}

// Where shares begin, and behind them where the last ends: whole sequences, one share for each member and all of about
// the same effort; or one share for all, where that cannot be. Apart they wait for nobody and pass nothing on.
inline std::vector<int> shares_of(const Rows& rows, int members) {
    const std::vector<int> together = {0, rows.count};
    if (members == 1 || rows.count < members * LEAST_ROWS_OF_A_SHARE) return together;
    double whole = 0.0, done = 0.0;
    for (int row = 0; row < rows.count; row++) whole += effort(rows, row);
    const double mean = whole / members;
    std::vector<int> borders = {0};
    for (int row = 0; row < rows.count && static_cast<int>(borders.size()) < members; row++) {
        const bool begins = row > 0 && rows.owners[row] != rows.owners[row - 1];
        const double missing = mean * static_cast<double>(borders.size()) - done;
        if (begins && missing < 0.0625 * mean) {
            if (missing < -0.0625 * mean || row - borders.back() < LEAST_ROWS_OF_A_SHARE) return together;
            borders.push_back(row);
        }
        done += effort(rows, row);
    }
    borders.push_back(rows.count);
    const bool whole_team = static_cast<int>(borders.size()) == members + 1;
    return whole_team && rows.count - borders[members - 1] >= LEAST_ROWS_OF_A_SHARE && apart(rows, borders) ? borders : together;
}

}  // namespace engine

// How fast search is beside SQLite's FTS5 on the same messages, as ratios within one run.
//
//   bench_search [CONVERSATIONS] [MESSAGES each]     default: 1000 of 1000
#include <sqlite3.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <random>
#include <string>
#include <vector>

#include "core/rank.h"
#include "core/vectors.h"
#include "palimpsest/memory.h"
#include "search/store_index.h"

using namespace palimpsest;

namespace {

constexpr std::size_t batch_messages = 1000;
constexpr int queries = 60;
constexpr std::size_t vector_size = 384;

// Of the processor: what else the machine does would hit the arms unequally.
using Start = std::clock_t;
double seconds_since(Start start) {
    return static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
}

// Words as often as in a language: the n-th word about 1/n as often as the first.
class Talk {
public:
    Talk() {
        for (int i = 0; i < 40'000; ++i) {
            std::string word;
            for (int n = 30'000 + i * 7; n > 0; n /= 26) word += static_cast<char>('a' + n % 26);
            vocabulary_.push_back(word);
        }
    }
    std::string word() {
        const double u = std::uniform_real_distribution<>(0, 1)(random_);
        const double size = static_cast<double>(vocabulary_.size());
        return vocabulary_[std::min(static_cast<std::size_t>(std::pow(size, u)) - 1,
                                    vocabulary_.size() - 1)];
    }
    // From the middle of the vocabulary: neither the commonest nor the rarest.
    std::string asked_word() { return vocabulary_[20 + random_() % 2000]; }
    std::string message() {
        std::string text;
        const std::size_t length = 5 + random_() % 36;
        for (std::size_t i = 0; i < length; ++i) text += word() + (i % 9 == 8 ? ". " : " ");
        return text;
    }

private:
    std::mt19937 random_{42};
    std::vector<std::string> vocabulary_;
};

void run(sqlite3* db, const std::string& sql) {
    char* error = nullptr;
    if (sqlite3_exec(db, sql.c_str(), nullptr, nullptr, &error) != SQLITE_OK) {
        std::printf("sqlite: %s\n", error);
        std::exit(1);
    }
}

struct Arms {
    sqlite3* fts = nullptr;
    sqlite3* own = nullptr;
    std::vector<WordIndex> logs;
    double fts_s = 0, own_s = 0;
    std::size_t own_bytes = 0;
};

void index_fts(Arms& arms, const std::vector<std::string>& batch, std::int64_t& row) {
    const auto start = std::clock();
    run(arms.fts, "BEGIN");
    sqlite3_stmt* insert = nullptr;
    sqlite3_prepare_v2(arms.fts, "INSERT INTO t(rowid, text) VALUES(?, ?)", -1, &insert, nullptr);
    for (const std::string& text : batch) {
        sqlite3_bind_int64(insert, 1, ++row);
        sqlite3_bind_text(insert, 2, text.data(), static_cast<int>(text.size()), SQLITE_STATIC);
        sqlite3_step(insert);
        sqlite3_reset(insert);
    }
    sqlite3_finalize(insert);
    run(arms.fts, "COMMIT");
    arms.fts_s += seconds_since(start);
}

// One conversation: its words, and their stored form in a table.
void index_own(Arms& arms, const std::vector<std::string>& batch, std::int64_t key,
               Stemmer& stemmer) {
    const auto start = std::clock();
    WordIndex index;
    for (std::size_t i = 0; i < batch.size(); ++i)
        index.add({Seq{i + 1}, Time(std::chrono::minutes(i)), Role::user, batch[i], {}}, stemmer);
    const std::string& stored = index.freeze();
    run(arms.own, "BEGIN");
    sqlite3_stmt* insert = nullptr;
    sqlite3_prepare_v2(arms.own, "INSERT INTO t VALUES(?, ?)", -1, &insert, nullptr);
    sqlite3_bind_int64(insert, 1, key);
    sqlite3_bind_blob(insert, 2, stored.data(), static_cast<int>(stored.size()), SQLITE_STATIC);
    sqlite3_step(insert);
    sqlite3_finalize(insert);
    run(arms.own, "COMMIT");
    arms.own_bytes += index.bytes();
    arms.logs.push_back(std::move(index));
    arms.own_s += seconds_since(start);
}

double median(std::vector<double> values) {
    std::ranges::sort(values);
    return values[values.size() / 2];
}

double ask_fts(sqlite3* db, const std::vector<std::string>& words) {
    std::string match;
    for (const std::string& word : words) match += (match.empty() ? "\"" : " OR \"") + word + "\"";
    const auto start = std::clock();
    sqlite3_stmt* select = nullptr;
    sqlite3_prepare_v2(db, "SELECT rowid FROM t WHERE t MATCH ? ORDER BY bm25(t) LIMIT 10", -1,
                       &select, nullptr);
    sqlite3_bind_text(select, 1, match.data(), static_cast<int>(match.size()), SQLITE_STATIC);
    while (sqlite3_step(select) == SQLITE_ROW) {
    }
    sqlite3_finalize(select);
    return seconds_since(start);
}

double ask_own(std::span<const RankScope> scopes, const std::vector<std::string>& words,
               Stemmer& stemmer) {
    std::string text;
    for (const std::string& word : words) text += word + " ";
    const auto start = std::clock();
    const SearchQuery query = read_query(text, only_language(Language::english), stemmer);
    const auto found = rank(scopes, query, {}, 10);
    const double took = seconds_since(start);
    if (found.size() > 10) std::abort();
    return took;
}

void measure_queries(const Arms& arms, Talk& talk, Stemmer& stemmer) {
    std::vector<RankScope> all;
    for (const WordIndex& index : arms.logs) all.push_back({&index, seq_max});
    std::vector<double> fts, wide, one;
    for (int q = 0; q < queries; ++q) {
        const std::vector<std::string> words{talk.asked_word(), talk.asked_word(),
                                             talk.asked_word()};
        fts.push_back(ask_fts(arms.fts, words));
        wide.push_back(ask_own(all, words, stemmer));
        one.push_back(ask_own({&all[static_cast<std::size_t>(q) % all.size()], 1}, words, stemmer));
    }
    const double base = median(fts);
    std::printf(
        "top 10, three words, p50: FTS5 %.2f ms, ours %.2f ms (%.2f times), one "
        "conversation %.3f ms (%.4f times)\n",
        base * 1e3, median(wide) * 1e3, median(wide) / base, median(one) * 1e3, median(one) / base);
}

// All vectors of a scope against one, beside only reading the same bytes.
void measure_scan() {
    constexpr std::size_t rows = 100'000, dimension = vector_size;
    std::vector<float> vectors(rows * dimension), query(dimension), cosines(rows);
    std::mt19937 random{7};
    for (float& value : vectors) value = static_cast<float>(random() % 1000) / 1000;
    for (float& value : query) value = static_cast<float>(random() % 1000) / 1000;
    double scan = 1e9, read = 1e9;
    std::uint64_t sum = 0;
    const auto* words = reinterpret_cast<const std::uint64_t*>(vectors.data());
    for (int round = 0; round < 15; ++round) {
        Start start = std::clock();
        dot_products(vectors, query, cosines);
        scan = std::min(scan, seconds_since(start));
        start = std::clock();
        std::uint64_t sums[4] = {};
        for (std::size_t i = 0; i < rows * dimension / 2; i += 4)
            for (std::size_t lane = 0; lane < 4; ++lane) sums[lane] += words[i + lane];
        sum += sums[0] ^ sums[1] ^ sums[2] ^ sums[3];
        read = std::min(read, seconds_since(start));
    }
    std::printf(
        "exact scan of 100,000 vectors of 384: %.1f ms, reading them %.1f ms (%.2f times)%s\n",
        scan * 1e3, read * 1e3, read / scan, sum == 1 ? " " : "");
}

// Vectors of unit length around so many directions, as texts on so many matters have them.
class Matters {
public:
    explicit Matters(std::size_t count) {
        for (std::size_t i = 0; i < count; ++i) centers_.push_back(direction());
    }
    std::vector<float> next() {
        std::vector<float> vector = direction();
        const std::vector<float>& center = centers_[random_() % centers_.size()];
        for (std::size_t i = 0; i < vector.size(); ++i) vector[i] += center[i];
        normalize(vector);
        return vector;
    }

private:
    std::vector<float> direction() {
        std::vector<float> vector(vector_size);
        for (float& value : vector) value = normal_(random_);
        normalize(vector);
        return vector;
    }
    std::mt19937 random_{11};
    std::normal_distribution<float> normal_;
    std::vector<std::vector<float>> centers_;
};

std::vector<std::uint32_t> ten_nearest(const std::vector<float>& cosines) {
    std::vector<std::uint32_t> rows(cosines.size());
    for (std::uint32_t i = 0; i < rows.size(); ++i) rows[i] = i;
    std::ranges::partial_sort(rows, rows.begin() + 10,
                              [&](auto a, auto b) { return cosines[a] > cosines[b]; });
    rows.resize(10);
    return rows;
}

// The ten nearest of one scope by a graph, beside looking at all of it.
void measure_graph(std::size_t rows) {
    Matters matters(rows / 100);
    std::vector<float> vectors;
    vectors.reserve(rows * vector_size);
    for (std::size_t i = 0; i < rows; ++i)
        for (const float value : matters.next()) vectors.push_back(value);
    TenantGraph graph(vector_size);
    Start start = std::clock();
    graph.add({}, vectors);
    const double added = seconds_since(start);
    graph.measure();
    std::vector<double> by_graph, by_scan;
    std::vector<float> cosines(rows);
    double found = 0;
    for (int q = 0; q < 200; ++q) {
        const std::vector<float> asked = matters.next();
        start = std::clock();
        dot_products(vectors, asked, cosines);
        by_scan.push_back(seconds_since(start));
        const auto wanted = ten_nearest(cosines);
        const GraphSource sources[] = {{}};
        start = std::clock();
        auto near = graph.nearest(sources, asked, 10).rows;
        by_graph.push_back(seconds_since(start));
        std::ranges::sort(near, [&](auto a, auto b) { return cosines[a.row] > cosines[b.row]; });
        near.resize(std::min<std::size_t>(near.size(), 10));
        for (const auto& one : near) found += std::ranges::count(wanted, one.row) > 0;
    }
    std::printf(
        "graph of %zu vectors of 384: p50 %.2f ms, all of them %.2f ms (%.1f times as fast), "
        "recall@10 %.3f%s; %.2f ms to add one, %.0f bytes each\n",
        rows, median(by_graph) * 1e3, median(by_scan) * 1e3, median(by_scan) / median(by_graph),
        found / 2000, graph.is_ready() ? "" : " (it would not be used)",
        added / static_cast<double>(rows) * 1e3,
        static_cast<double>(graph.bytes()) / static_cast<double>(rows));
}

// Appends alone, and with what it takes to have each of them in the index when it returns.
void measure_append(const std::filesystem::path& folder, Talk& talk) {
    auto memory = Memory::open("sqlite:" + (folder / "append.db").string());
    if (!memory) return;
    StoreIndex index(memory->store(), {});
    const ConversationId name{"t", "c"};
    double append_s = 0, index_s = 0;
    for (int i = 0; i < 2000; ++i) {
        const std::string said = R"({"role":"user","content":")" + talk.message() + R"("})";
        Start start = std::clock();
        const auto done = memory->append(name, {.messages = said});
        append_s += seconds_since(start);
        start = std::clock();
        if (!done || !index.update(done->header)) std::abort();
        index_s += seconds_since(start);
    }
    std::printf("append: %.0f us alone, %.0f us with the index brought up to date (%.2f times)\n",
                append_s / 2000 * 1e6, (append_s + index_s) / 2000 * 1e6,
                (append_s + index_s) / append_s);
}

}  // namespace

int main(int argc, char** argv) {
    const std::size_t conversations = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 1000;
    const std::size_t messages = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : batch_messages;
    const auto folder = std::filesystem::temp_directory_path() /
                        ("bench_search_" + std::to_string(std::random_device{}()));
    std::filesystem::create_directories(folder);
    Arms arms;
    sqlite3_open((folder / "fts.db").c_str(), &arms.fts);
    sqlite3_open((folder / "own.db").c_str(), &arms.own);
    for (sqlite3* db : {arms.fts, arms.own})
        run(db, "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL");
    run(arms.fts, "CREATE VIRTUAL TABLE t USING fts5(text, content='')");
    run(arms.own, "CREATE TABLE t(log INTEGER PRIMARY KEY, words BLOB)");
    Talk talk;
    Stemmer stemmer;
    std::int64_t row = 0;
    std::size_t bytes = 0;
    for (std::size_t c = 0; c < conversations; ++c) {
        std::vector<std::string> batch(messages);
        for (std::string& text : batch) bytes += (text = talk.message()).size();
        index_fts(arms, batch, row);
        index_own(arms, batch, static_cast<std::int64_t>(c) + 1, stemmer);
    }
    const double count = static_cast<double>(conversations * messages);
    std::printf("%.0f messages, %.0f MB; index %.0f MB in memory\n", count,
                static_cast<double>(bytes) / 1e6, static_cast<double>(arms.own_bytes) / 1e6);
    std::printf("indexing: FTS5 %.0f messages/s, ours %.0f messages/s (%.2f times)\n",
                count / arms.fts_s, count / arms.own_s, arms.fts_s / arms.own_s);
    measure_queries(arms, talk, stemmer);
    measure_scan();
    for (const std::size_t rows : {5'000, 20'000, 100'000}) measure_graph(rows);
    measure_append(folder, talk);
    sqlite3_close(arms.fts);
    sqlite3_close(arms.own);
    std::filesystem::remove_all(folder);
    return 0;
}

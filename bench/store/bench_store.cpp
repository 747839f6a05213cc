// How fast the SQLite store is, as ratios within one run: every arm is measured in turn, round
// after round, and the medians are compared, so that what else the machine does hits all alike.
//
//   bench_store [FOLDER]     FOLDER must be on the disk that is meant; default: beside the program
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <barrier>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <thread>
#include <vector>

#include "bench_arms.h"
#include "palimpsest/store.h"
#include "store/lineage.h"
#include "store/sqlite_schema.h"

using namespace palimpsest;
using namespace bench;

namespace {

constexpr int long_history = 100'000;
constexpr int short_history = 10;

// ---- the raw arm: the same tables, pragmas and checkpoints, nothing else ------------------------

class RawInserts {
public:
    explicit RawInserts(const std::string& path) {
        good(create_sqlite_file(path));
        db_ = good(open_sqlite_writer(path, SyncLevel::full));
        good(db_->execute(
            "INSERT INTO log(uid, tenant, name, base, owner, title, system_prompt, metadata, "
            "policy, created, revision, sum) VALUES(x'00', 't', 'raw', 0, '', '', '', '{}', '', 0, "
            "0, 0);"
            "INSERT INTO head VALUES(1, x'00', 't', 0, 0, 0, 0, 0, 0, NULL, 0, 0, 0)"));
    }
    void append(int count, bool with_head) {
        const std::string payload(message_bytes, 'x'), meta(30, 'm');
        for (int i = 0; i < count; ++i) {
            good(db_->query("BEGIN IMMEDIATE").run());
            ++seq_;
            good(db_->query("INSERT INTO entry(log, seq, kind, at, ordinal, sum, payload_sum, "
                            "meta, payload) VALUES(1, ?, 0, ?, ?, 7777777777, 7777777777, ?, ?)")
                     .integer(seq_)
                     .integer(1'800'000'000'000 + seq_)
                     .integer(seq_)
                     .blob(meta)
                     .blob(payload)
                     .run());
            if (with_head)
                good(db_->query("UPDATE head SET \"end\" = ?, messages = ?, updated = ?, "
                                "accessed = ?, sum = 7777777777 WHERE log = 1")
                         .integer(seq_)
                         .integer(seq_)
                         .integer(1'800'000'000'000 + seq_)
                         .integer(1'800'000'000'000 + seq_)
                         .run());
            if (db_->commit().outcome != CommitOutcome::done) stop({.message = "commit failed"});
            if (db_->wal_pages() >= 2000) good(db_->checkpoint(false, 0));
        }
    }

private:
    std::unique_ptr<SqliteDatabase> db_;
    std::int64_t seq_ = 0;
};

// ---- the measurements ---------------------------------------------------------------------------

void bench_one_writer(const std::string& folder) {
    RawInserts raw(folder + "/raw.db"), bare(folder + "/bare.db");
    const auto store = good(open_store("sqlite:" + folder + "/one.db"));
    constexpr int each = 100;
    append_many(*store, {"t", "one"}, each);
    raw.append(each, true);
    bare.append(each, false);
    Arm ours, raws, bares;
    for (int round = 0; round < rounds; ++round) {
        in_turn(round, {[&] { raws.add(seconds_of([&] { raw.append(each, true); }), each); },
                        [&] {
                            const ConversationId name{"t", "one"};
                            ours.add(seconds_of([&] { append_many(*store, name, each); }), each);
                        },
                        [&] { bares.add(seconds_of([&] { bare.append(each, false); }), each); }});
    }
    const double ratio = ratio_of(raws, ours);
    print("durable append, one writer, against raw", rates("ours", ours.each(), "raw", raws.each()),
          ratio, ">= 0.90", ratio >= 0.9);
    std::printf("%-44s %-46s ratio %5.2f   (no goal: raw without its header row)\n", "",
                rates("ours", ours.each(), "bare insert", bares.each()).c_str(),
                ratio_of(bares, ours));
}

void bench_many_writers(const std::string& folder) {
    const auto store = good(open_store("sqlite:" + folder + "/many.db"));
    constexpr int writers = 32, each = 25, alone = 100;
    Arm one, many;
    seconds_of_writers(*store, writers, each);
    for (int round = 0; round < rounds; ++round) {
        in_turn(round, {[&] { one.add(seconds_of_writers(*store, 1, alone), alone); },
                        [&] {
                            const double whole = seconds_of_writers(*store, writers, each);
                            many.add(whole, writers * each);
                        }});
    }
    const double ratio = ratio_of(one, many);
    print("32 waiting writers against one", rates("32", many.each(), "1", one.each()), ratio,
          ">= 5.00", ratio >= 5);
}

void make_history(Store& store, const ConversationId& name, int messages) {
    while (messages > 0) {
        const int now = std::min(messages, 1000);
        good(store.append(name, message_batch(now)));
        messages -= now;
    }
}

void bench_long_append(Store& store) {
    constexpr int each = 50;
    Arm long_arm, short_arm;
    for (int round = 0; round < rounds; ++round) {
        const ConversationId fresh{"t", "short" + std::to_string(round)};
        make_history(store, fresh, short_history);
        const ConversationId old{"t", "long"};
        in_turn(
            round,
            {[&] { long_arm.add(seconds_of([&] { append_many(store, old, each); }), each); },
             [&] { short_arm.add(seconds_of([&] { append_many(store, fresh, each); }), each); }});
    }
    const double ratio = ratio_of(long_arm, short_arm);
    print("append at 100,000 messages against at 10",
          micros("100,000", long_arm.each(), "10", short_arm.each()), ratio, "<= 1.20",
          ratio <= 1.2);
}

void fork_many(Store& store, const ConversationId& from, const std::string& to, int count) {
    for (int i = 0; i < count; ++i) {
        const Header header = good(store.head(from));
        Batch batch;
        batch.fork = good(fork_point(store, header, header.end));
        good(store.append({"t", to + std::to_string(i)}, batch));
    }
}

void bench_fork(Store& store) {
    constexpr int each = 50;
    make_history(store, {"t", "ten"}, short_history);
    Arm long_arm, short_arm;
    for (int round = 0; round < rounds; ++round) {
        const std::string name = "fork" + std::to_string(round) + "_";
        const auto time_forks = [&](const char* from, const char* to) {
            return seconds_of([&] { fork_many(store, {"t", from}, name + to, each); });
        };
        in_turn(round, {[&] { long_arm.add(time_forks("long", "l"), each); },
                        [&] { short_arm.add(time_forks("ten", "s"), each); }});
    }
    const double ratio = ratio_of(long_arm, short_arm);
    print("fork of 100,000 messages against of 10",
          micros("100,000", long_arm.each(), "10", short_arm.each()), ratio, "<= 1.50",
          ratio <= 1.5);
}

void bench_long(const std::string& folder) {
    const std::string path = folder + "/long.db";
    constexpr int forks = 1000;
    {
        const auto store = good(open_store("sqlite:" + path));
        make_history(*store, {"t", "long"}, long_history);
        bench_long_append(*store);
        bench_fork(*store);
    }
    const auto before = std::filesystem::file_size(path);  // Closed: nothing is left in the WAL.
    {
        const auto store = good(open_store("sqlite:" + path));
        fork_many(*store, {"t", "long"}, "size", forks);
    }
    const double bytes =
        static_cast<double>(std::filesystem::file_size(path) - before) / static_cast<double>(forks);
    print("bytes on disk of one fork of 100,000 messages",
          "mean of " + std::to_string(forks) + ": " + std::to_string(static_cast<int>(bytes)) +
              " bytes",
          bytes / 1024, "< 1 KB", bytes < 1024);
}

}  // namespace

int main(int argc, char** argv) {
    const std::filesystem::path beside = std::filesystem::path(argv[0]).parent_path();
    const std::filesystem::path folder = (argc > 1 ? std::filesystem::path(argv[1]) : beside) /
                                         ("bench_store_" + std::to_string(::getpid()));
    std::filesystem::create_directories(folder);
    std::printf("SQLite %s; medians of %d interleaved rounds\n", sqlite_library_version(), rounds);
    bench_one_writer(folder.string());
    bench_many_writers(folder.string());
    bench_long(folder.string());
    std::error_code ignored;
    std::filesystem::remove_all(folder, ignored);
    return missed_goals == 0 ? 0 : 1;
}

// Appends on PostgreSQL and Redis, 16 clients, held against the engine's own tool with the same
// statement or script in the same run: pgbench and redis-benchmark. Prints appends per second and
// the ratio; ends with 1 when one is below 0.8.
#include <atomic>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/ids.h"
#include "core/codec.h"
#include "palimpsest/store.h"
#include "store/postgres_store.h"
#include "store/redis_scripts.h"
#include "support/servers.h"

using namespace palimpsest;
using namespace palimpsest::testing_support;

namespace {

constexpr int clients = 16;
constexpr int seconds = 4;
constexpr int conversations = 64;
const std::string payload(1000, 'x');

Batch one_message() {
    MessageEntry entry;
    entry.message.raw = make_bytes(payload);
    Batch batch;
    batch.entries.push_back({.body = std::move(entry)});
    return batch;
}

std::string name_of(int i) {
    return "c" + std::to_string(i);
}

std::unique_ptr<Store> open_with_conversations(std::string url) {
    url.replace(url.find("UNIQUE"), 6, "bench");
    auto store = open_store(url);
    if (!store) {
        std::cerr << store.error().message << "\n";
        std::exit(1);
    }
    for (int i = 0; i < conversations; ++i)
        if (const auto done = (*store)->append({"t", name_of(i)}, one_message()); !done) {
            std::cerr << done.error().message << "\n";
            std::exit(1);
        }
    return std::move(*store);
}

// Appends per second; each client goes round `among` conversations.
double ours(Store& store, int among) {
    std::atomic<long> count = 0;
    std::atomic<bool> stop = false;
    const auto start = std::chrono::steady_clock::now();
    {
        std::vector<std::jthread> threads;
        for (int me = 0; me < clients; ++me)
            threads.emplace_back([&, me] {
                const Batch batch = one_message();
                for (int i = me; !stop; ++i) {
                    const auto done = store.append({"t", name_of(i * 7 % among)}, batch);
                    if (!done) std::cerr << done.error().message << "\n";
                    if (done) ++count;
                }
            });
        std::this_thread::sleep_for(std::chrono::seconds(seconds));
        stop = true;
    }
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    return static_cast<double>(count) / took.count();
}

bool report(const std::string& what, double mine, double theirs, const std::string& tool) {
    std::printf("%-34s %8.0f/s   %s %8.0f/s   ratio %.2f (at least 0.80)\n", what.c_str(), mine,
                tool.c_str(), theirs, mine / theirs);
    std::fflush(stdout);
    return mine >= 0.8 * theirs;
}

std::string hex_of(std::string_view bytes) {
    std::string out;
    for (const char c : bytes) {
        out += "0123456789abcdef"[static_cast<unsigned char>(c) >> 4U];
        out += "0123456789abcdef"[static_cast<unsigned char>(c) & 15U];
    }
    return out;
}

// ---- PostgreSQL ---------------------------------------------------------------------------------

// The statement with the values of one message in place of its parameters.
std::string pgbench_script() {
    const EncodedBody body = encode_body(one_message().entries.front().body);
    const std::string values[] = {"NULL",
                                  "'t'",
                                  "('c' || :c)",
                                  "1",
                                  "NULL",
                                  "1",
                                  "NULL",
                                  "NULL",
                                  "NULL",
                                  "NULL",
                                  "NULL",
                                  "NULL",
                                  "''",
                                  "'{0}'",
                                  "'{NULL}'",
                                  "'{1}'",
                                  "'{\"\\\\x" + hex_of(body.meta) + "\"}'",
                                  "'{\"\\\\x" + hex_of(payload) + "\"}'"};
    std::string sql = PostgresStore::append_statement().sql;
    for (std::size_t i = std::size(values); i > 0; --i) {
        const std::string mark = "$" + std::to_string(i);
        for (std::size_t at = sql.find(mark); at != sql.npos; at = sql.find(mark))
            sql.replace(at, mark.size(), values[i - 1]);
    }
    return "\\set c random(0, " + std::to_string(conversations - 1) + ")\n" + sql + ";\n";
}

double pgbench(const PostgresServer& server) {
    const std::string file = output_of("mktemp").substr(0, 36);
    const std::string path = file.substr(0, file.find('\n'));
    std::ofstream(path) << pgbench_script();
    const std::string said = output_of(
        "PGOPTIONS='-c search_path=bench -c default_text_search_config=simple' "
        "/usr/lib/postgresql/15/bin/pgbench -n -M prepared -c 16 -j 2 -T " +
        std::to_string(seconds) + " -h 127.0.0.1 -U postgres -p " + std::to_string(server.port()) +
        " -f " + path + " postgres 2>&1");
    std::remove(path.c_str());
    const std::size_t at = said.find("tps = ");
    if (at == said.npos) std::cerr << said;
    return at == said.npos ? 1e9 : std::stod(said.substr(at + 6));
}

bool bench_postgres() {
    PostgresServer server(true);
    const auto store = open_with_conversations(server.url());
    (void)ours(*store, conversations);
    const double before = pgbench(server);
    const double mine = ours(*store, conversations);
    const double after = pgbench(server);
    return report("postgres, synced, 64 conversations", mine, (before + after) / 2, "pgbench");
}

// ---- Redis --------------------------------------------------------------------------------------

std::string quoted(const std::string& word) {
    return "'" + word + "'";
}

// The call that the store makes for one message to conversation c0.
std::string script_words(Store& store, const std::string& sha) {
    const auto header = store.head(ConversationId{"t", "c0"});
    const std::string uid = hex(header->log);
    const EncodedBody body = encode_body(one_message().entries.front().body);
    std::string words = "EVALSHA " + sha + " 4";
    for (const char* kind : {"h:", "e:", "p:", "x:"})
        words += " " + quoted("bench:{t/c0}:" + (kind + uid));
    const std::string known = uid + ":" + std::to_string(header->revision);
    const std::string digest(32, '0');
    for (const std::string& word : {std::string("7"),
                                    std::string(),
                                    uid,
                                    std::string("t/c0"),
                                    std::string(),
                                    digest,
                                    std::string(),
                                    std::string(),
                                    std::string(),
                                    std::string(),
                                    std::string(),
                                    std::string(),
                                    std::string("1"),
                                    std::string(),
                                    std::string(),
                                    std::string(),
                                    std::string(),
                                    known,
                                    std::string("0"),
                                    std::string("0"),
                                    std::string(),
                                    std::string("1"),
                                    std::string(body.meta.size(), 'm'),
                                    payload})
        words += " " + quoted(word);
    return words;
}

double redis_benchmark(const RedisServer& server, Store& store, double about) {
    const std::string port = std::to_string(server.port());
    const std::string sha = make_redis_scripts().append.sha;
    const auto count = static_cast<long>(about * seconds);
    const std::string said =
        output_of("redis-benchmark -p " + port + " -c 16 -n " + std::to_string(count) + " " +
                  script_words(store, sha) + " 2>&1");
    const std::size_t at = said.rfind("throughput summary: ");
    if (at == said.npos) std::cerr << said.substr(0, 2000);
    return at == said.npos ? 1e9 : std::stod(said.substr(at + 20));
}

bool bench_redis(const std::string& what, std::vector<std::string> settings) {
    RedisServer server(std::move(settings));
    const auto store = open_with_conversations(server.url());
    const double warm = ours(*store, 1);
    const double before = redis_benchmark(server, *store, warm);
    const double mine = ours(*store, 1);
    const double after = redis_benchmark(server, *store, warm);
    const double spread = ours(*store, conversations);
    const bool good = report(what, mine, (before + after) / 2, "redis-benchmark");
    std::printf("%-34s %8.0f/s\n", "  over 64 conversations", spread);
    return good;
}

}  // namespace

int main() {
    bool good =
        bench_redis("redis, synced always", {"--appendonly", "yes", "--appendfsync", "always"});
    good &= bench_redis("redis, in memory", {});
    good &= bench_postgres();
    return good ? 0 : 1;
}

// Opening a view: cost follows the view, not the history. SQLite, arms interleaved, medians.
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

#include "palimpsest/memory.h"

using namespace palimpsest;

namespace {

constexpr int rounds = 40;

std::string messages(int count) {
    std::string out = "[";
    for (int i = 0; i < count; ++i) {
        if (i > 0) out += ',';
        out += R"({"role":")" + std::string(i % 2 ? "assistant" : "user") + R"(","content":")" +
               std::string(200, static_cast<char>('a' + i % 26)) + "\"}";
    }
    return out + "]";
}

void fill(Memory& memory, const ConversationId& name, int count) {
    for (int done = 0; done < count; done += std::min(count, 1000)) {
        const std::string some = messages(std::min(count, 1000));
        if (!memory.append(name, {.messages = some})) std::abort();
    }
}

double median(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    return values[values.size() / 2];
}

template <class Work>
double microseconds(Work work) {
    const auto start = std::chrono::steady_clock::now();
    work();
    return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start)
        .count();
}

const ConversationId large{"bench", "large"}, small{"bench", "small"};

// Medians of the view of each, in turn. Without hot views: what opening costs.
double compare(const char* what, const std::string& url, const MemoryOptions& options) {
    auto memory = Memory::open(url, options);
    if (!memory) std::abort();
    std::vector<double> of_large, of_small, ratios;
    for (int i = 0; i < rounds; ++i) {
        of_small.push_back(microseconds([&] {
            if (!memory->view(small)) std::abort();
        }));
        of_large.push_back(microseconds([&] {
            if (!memory->view(large)) std::abort();
        }));
        ratios.push_back(of_large.back() / of_small.back());
    }
    std::printf(
        "view, %s, 100,000 messages of which 99,900 are folded: %.0f us; 100 messages: %.0f us; "
        "ratio %.2f (goal: at most 2)\n",
        what, median(of_large), median(of_small), median(ratios));
    return median(ratios);
}

void make_conversations(const std::string& url) {
    auto memory = Memory::open(url);
    if (!memory) {
        std::fprintf(stderr, "%s\n", memory.error().message.c_str());
        std::exit(1);
    }
    fill(*memory, large, 100'000);
    fill(*memory, small, 100);
    Edit fold;
    fold.treatment = Treatment::folded;
    fold.range = {Seq{1}, Seq{99'900}};
    fold.result = make_bytes("They talked for a long time.");
    const auto view = memory->view(large);
    if (!view || !memory->splice(large, *view, {fold}, Cause::request)) std::abort();
}

}  // namespace

int main(int, char** argv) {
    const auto path = std::filesystem::path(argv[0]).parent_path() /
                      ("bench_view_" + std::to_string(::getpid()) + ".db");
    const std::string url = "sqlite:" + path.string();
    make_conversations(url);
    const double opened = compare("opened anew", url, {.hot_bytes_max = 0});
    const double hot = compare("used before", url, {});
    for (const char* suffix : {"", "-wal", "-shm", ".lock"})
        std::filesystem::remove(path.string() + suffix);
    return opened <= 2 && hot <= 2 ? 0 : 1;
}

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

}  // namespace

int main() {
    const auto path = std::filesystem::temp_directory_path() /
                      ("pal_bench_view_" + std::to_string(::getpid()) + ".db");
    const ConversationId large{"bench", "large"}, small{"bench", "small"};
    {
        auto memory = Memory::open("sqlite:" + path.string());
        if (!memory) {
            std::fprintf(stderr, "%s\n", memory.error().message.c_str());
            return 1;
        }
        fill(*memory, large, 100'000);
        fill(*memory, small, 100);
        Edit fold;
        fold.treatment = Treatment::folded;
        fold.range = {Seq{1}, Seq{99'900}};
        fold.result = make_bytes("They talked for a long time.");
        const auto view = memory->view(large);
        if (!view || !memory->splice(large, *view, {fold}, Cause::request)) std::abort();
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
            "view, 100,000 messages of which 99,900 are folded: %.0f us; 100 messages: %.0f us; "
            "ratio %.2f (goal: at most 2)\n",
            median(of_large), median(of_small), median(ratios));
    }
    for (const char* suffix : {"", "-wal", "-shm", ".lock"})
        std::filesystem::remove(path.string() + suffix);
    return 0;
}

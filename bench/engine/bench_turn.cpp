// What a turn costs beside its durable write, and what being kept in memory costs. SQLite with full
// durability, arms interleaved in one run, medians.
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "palimpsest/format.h"
#include "palimpsest/memory.h"

using namespace palimpsest;

namespace {

constexpr std::size_t hot_bytes = std::size_t{256} << 20;
constexpr std::string_view policy =
    R"({"triggers":{"messages":1000000},"passes":[{"pass":"keep_last","turns":20}]})";

// 200 bytes of words.
std::string message(int i) {
    std::string text = "Order " + std::to_string(i) + ": ";
    while (text.size() < 200) text += "the parcel went to the wrong address, send it again. ";
    return R"({"role":")" + std::string(i % 2 ? "assistant" : "user") + R"(","content":")" +
           text.substr(0, 200) + "\"}";
}

void fill(Memory& memory, const ConversationId& name, int count) {
    for (int done = 0; done < count;) {
        std::string list = "[";
        for (int i = 0; i < 1000 && done < count; ++i, ++done)
            list += (i ? "," : "") + message(done);
        list += "]";
        if (!memory.append(name, {.messages = list})) std::abort();
    }
    if (!memory.view(name)) std::abort();
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

void begin(Memory& memory, const ConversationId& name, const std::string& said) {
    if (!memory.begin(name, {.messages = said, .policy = std::string(policy)})) std::abort();
}

// The entries that a begin writes, written to the store as they are.
Batch batch_like(Memory& memory, const ConversationId& name) {
    const auto header = memory.head(name);
    const auto entries =
        memory.store().read(header->log, {.ranges = {{header->end - 1, header->end}}});
    if (!entries) std::abort();
    Batch batch;
    for (const Entry& entry : *entries) batch.entries.push_back({entry.body, {}});
    return batch;
}

std::size_t resident_bytes() {
    std::ifstream file("/proc/self/statm");
    std::size_t total = 0, resident = 0;
    file >> total >> resident;
    return resident * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}

void turns(Memory& memory) {
    const ConversationId small{"bench", "small"}, large{"bench", "large"}, raw{"bench", "raw"};
    fill(memory, small, 100);
    fill(memory, large, 100'000);
    fill(memory, raw, 100);
    const std::string said = message(0);
    begin(memory, small, said);
    begin(memory, large, said);
    const Batch batch = batch_like(memory, small);
    const ConversationId plain{"bench", "plain"};
    fill(memory, plain, 100);
    std::vector<double> append, appended, of_small, of_large, added, above, lengths;
    for (int i = 0; i < 300; ++i) {
        append.push_back(microseconds([&] {
            if (!memory.store().append(raw, batch)) std::abort();
        }));
        appended.push_back(microseconds([&] {
            if (!memory.append(plain, {.messages = said})) std::abort();
        }));
        of_small.push_back(microseconds([&] { begin(memory, small, said); }));
        of_large.push_back(microseconds([&] { begin(memory, large, said); }));
        added.push_back(of_small.back() / append.back());
        above.push_back(of_small.back() / appended.back());
        lengths.push_back(of_large.back() / of_small.back());
    }
    std::printf(
        "begin on a hot conversation: %.0f us; the same entries written by the store alone: %.0f "
        "us, ratio %.3f; append of the message: %.0f us, ratio %.3f (goal: below 1.10)\n",
        median(of_small), median(append), median(added), median(appended), median(above));
    std::printf(
        "begin, nothing due, 100,000 messages: %.0f us; 100 messages: %.0f us; ratio %.3f (goal: "
        "about 1)\n",
        median(of_large), median(of_small), median(lengths));
}

// What a turn costs beside the model: begin and finish, everything durable.
void overhead(Memory& memory) {
    const ConversationId name{"bench", "long"};
    fill(memory, name, 10'000);
    const std::string said = message(0);
    const auto answer = read_message(FormatId::openai_chat, make_bytes(message(1)));
    if (!answer) std::abort();
    std::vector<double> whole;
    for (int i = 0; i < 300; ++i)
        whole.push_back(microseconds([&] {
            const auto begun =
                memory.begin(name, {.messages = said, .policy = std::string(policy)});
            if (!begun || !memory.finish(*begun, {.message = *answer, .usage = {.input = 9}}))
                std::abort();
        }));
    std::sort(whole.begin(), whole.end());
    std::printf(
        "a turn (begin and finish) at 10,000 messages: median %.2f ms, p99 %.2f ms (goal: below "
        "10)\n",
        whole[whole.size() / 2] / 1e3, whole[whole.size() * 99 / 100] / 1e3);
}

void idle(const std::string& url) {
    auto memory = Memory::open(url);
    if (!memory) std::abort();
    const std::string said = message(0);
    begin(*memory, {"bench", "first"}, said);
    const std::size_t before = resident_bytes();
    for (int i = 0; i < 1000; ++i) {
        const ConversationId name{"bench", "idle" + std::to_string(i)};
        fill(*memory, name, 40);
        begin(*memory, name, said);
    }
    std::printf("1,000 idle conversations of 40 messages: %.1f MB (goal: below 64)\n",
                static_cast<double>(resident_bytes() - before) / 1048576.0);
}

}  // namespace

int main() {
    const auto path = std::filesystem::temp_directory_path() /
                      ("pal_bench_turn_" + std::to_string(::getpid()) + ".db");
    const std::string url = "sqlite:" + path.string();
    idle(url);
    {
        auto memory = Memory::open(url, {.hot_bytes_max = hot_bytes});
        if (!memory) {
            std::fprintf(stderr, "%s\n", memory.error().message.c_str());
            return 1;
        }
        turns(*memory);
        overhead(*memory);
    }
    for (const char* suffix : {"", "-wal", "-shm", ".lock"})
        std::filesystem::remove(path.string() + suffix);
    return 0;
}

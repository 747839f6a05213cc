// bench_tokens ROUNDS FILE…: how fast we count, in MB of CPU time of this thread.
// A FILE holds messages, each a u32 size (little endian) and its bytes. Every second message primes
// the cache of a new counter; the others are timed, once ("unseen"), then again ("warm"). A file
// with one message is timed as it is, with an empty cache. Streamed: the same messages again, fed
// to an appending counter in chunks of 1 to 8 tokens and counted after each.
#include "token/appending_counter.h"
#include "token/counter.h"
#include "token/encoding.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

using namespace palimpsest;

namespace {

double cpu_seconds() {
    timespec time{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

std::vector<std::string> load(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    const std::string all((std::istreambuf_iterator<char>(in)), {});
    std::vector<std::string> messages;
    for (std::size_t at = 0; at + 4 <= all.size();) {
        std::uint32_t size = 0;
        std::memcpy(&size, all.data() + at, 4);
        messages.push_back(all.substr(at + 4, size));
        at += 4 + size;
    }
    return messages;
}

struct Timed {
    std::vector<std::string_view> primers, texts;
    double megabytes = 0;
};

Timed choose(const std::vector<std::string>& messages) {
    Timed timed;
    for (std::size_t i = 0; i < messages.size(); ++i) {
        const bool primes = messages.size() > 1 && i % 2 == 0;
        (primes ? timed.primers : timed.texts).push_back(messages[i]);
        if (!primes) timed.megabytes += static_cast<double>(messages[i].size()) / 1e6;
    }
    return timed;
}

struct Speed {
    std::vector<double> rounds;
    std::uint64_t tokens = 0;
    void report(const char* what, std::string_view encoding, const std::string& file) {
        std::ranges::sort(rounds);
        std::printf("%s %s %s median %.1f best %.1f tokens %llu\n", what,
                    std::string(encoding).c_str(), file.substr(file.rfind('/') + 1).c_str(),
                    rounds[rounds.size() / 2], rounds.back(),
                    static_cast<unsigned long long>(tokens));
    }
};

void one_pass(Counter& counter, const Timed& timed, Speed& speed) {
    speed.tokens = 0;
    const double start = cpu_seconds();
    for (const std::string_view text : timed.texts) speed.tokens += counter.count(text);
    speed.rounds.push_back(timed.megabytes / (cpu_seconds() - start));
}

using Chunks = std::vector<std::string_view>;

// Cuts each text after 1, 2, … 8, 1, … tokens.
std::vector<Chunks> cut(const Encoding& encoding, const Timed& timed) {
    std::vector<Chunks> all;
    std::size_t turn = 0;
    for (const std::string_view text : timed.texts) {
        Chunks chunks;
        std::size_t at = 0, size = 0, tokens = 0;
        for (const Token token : encoding.encode(text)) {
            size += encoding.vocabulary().length(token);
            if (++tokens <= turn % 8) continue;
            chunks.push_back(text.substr(at, size));
            at += size, size = 0, tokens = 0, ++turn;
        }
        chunks.push_back(text.substr(at));
        all.push_back(std::move(chunks));
    }
    return all;
}

void streamed_pass(Counter& counter, const std::vector<Chunks>& texts, double megabytes,
                   Speed& speed) {
    speed.tokens = 0;
    std::uint64_t asked = 0;
    const double start = cpu_seconds();
    for (const Chunks& chunks : texts) {
        AppendingCounter growing(counter);
        for (const std::string_view chunk : chunks) {
            growing.append(chunk);
            asked += growing.count();
        }
        speed.tokens += growing.count();
    }
    if (asked < speed.tokens) std::abort();  // Nothing is left out, as it is looked at.
    speed.rounds.push_back(megabytes / (cpu_seconds() - start));
}

}  // namespace

int main(int argc, char** argv) {
    if (argc < 3) return 2;
    const int rounds = std::atoi(argv[1]);
    for (int file = 2; file < argc; ++file) {
        const std::vector<std::string> messages = load(argv[file]);
        const Timed timed = choose(messages);
        for (const char* name : {"o200k_base", "cl100k_base"}) {
            const auto encoding = *open_encoding(name);
            Speed unseen, warm, streamed;
            const std::vector<Chunks> chunks = cut(*encoding, timed);
            for (int round = 0; round < rounds; ++round) {
                Counter counter(*encoding, {});
                for (const std::string_view text : timed.primers) counter.count(text);
                one_pass(counter, timed, unseen);
                one_pass(counter, timed, warm);
                Counter other(*encoding, {});
                for (const std::string_view text : timed.primers) other.count(text);
                streamed_pass(other, chunks, timed.megabytes, streamed);
            }
            unseen.report("unseen", name, argv[file]);
            warm.report("warm", name, argv[file]);
            streamed.report("streamed", name, argv[file]);
        }
    }
}

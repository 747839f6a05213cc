// bench_token_limits: how soon the two main encodings are ready, what they take of memory with full
// caches, and that time grows with the length of the text whatever it holds, counted in one go and
// after every 16 bytes. Prints a line for each goal; exit status 1 if one is missed.
#include "token/appending_counter.h"
#include "token/counter.h"
#include "token/encoding.h"

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <fstream>
#include <memory>
#include <random>
#include <string>
#include <vector>

using namespace palimpsest;

namespace {

double cpu_seconds() {
    timespec time{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

double resident_megabytes() {
    std::ifstream in("/proc/self/statm");
    double size = 0, resident = 0;
    in >> size >> resident;
    return resident * 4096 / 1e6;
}

bool goal(const std::string& what, double found, double most) {
    const bool met = found <= most;
    std::printf("%s %-48s %8.2f  goal <= %g\n", met ? "met   " : "MISSED", what.c_str(), found,
                most);
    return met;
}

std::string random_text(std::mt19937& random, std::string_view letters, std::size_t size) {
    std::string text;
    while (text.size() < size) text += letters[random() % letters.size()];
    return text;
}

std::string random_ideographs(std::mt19937& random, std::size_t size) {
    std::string text;
    while (text.size() < size) {
        const auto code = 0x4E00 + random() % 0x51A5;
        text += static_cast<char>(0xE0 | code >> 12);
        text += static_cast<char>(0x80 | (code >> 6 & 63));
        text += static_cast<char>(0x80 | (code & 63));
    }
    return text;
}

struct Loaded {
    std::shared_ptr<const Encoding> encoding;
    std::unique_ptr<Counter> counter;
};

std::vector<Loaded> load() {
    std::vector<Loaded> loaded;
    for (const char* name : {"o200k_base", "cl100k_base"}) {
        Loaded one{*open_encoding(name), nullptr};
        one.counter = std::make_unique<Counter>(*one.encoding, CounterOptions{});
        one.counter->count("The first text, 42 times, caf\u00e9 \u6f22\u5b57.\n");
        loaded.push_back(std::move(one));
    }
    return loaded;
}

// Words until every place of the caches has held one, and every table was used.
void fill(std::vector<Loaded>& loaded) {
    std::mt19937 random(1);
    for (Loaded& one : loaded)
        for (int i = 0; i < 400; ++i) {
            std::string text = random_ideographs(random, 300);
            for (int word = 0; word < 2000; ++word)
                text += ' ' + random_text(random, "etaoinshrdluETAO", 1 + random() % 28);
            one.counter->count(text);
        }
}

// With a small cache, so that a short text is not remembered better than a long one.
double seconds_for(const Encoding& encoding, std::string_view text, std::size_t step) {
    double best = 1e9;
    for (int round = 0; round < 3; ++round) {
        Counter counter(encoding, {.cache_bits = 8});
        const double start = cpu_seconds();
        if (step == 0) {
            counter.count(text);
        } else {
            AppendingCounter growing(counter);
            for (std::size_t at = 0; at < text.size(); at += step)
                growing.append(text.substr(at, step));
        }
        best = std::min(best, cpu_seconds() - start);
    }
    return best;
}

// The worst of time(2n) / time(n) for n from 0.1 to 1.6 MB.
double growth(const Encoding& encoding, std::string_view text, std::size_t step) {
    double worst = 0;
    for (std::size_t size = 100'000; 2 * size <= text.size(); size *= 2)
        worst = std::max(worst, seconds_for(encoding, text.substr(0, 2 * size), step) /
                                    seconds_for(encoding, text.substr(0, size), step));
    return worst;
}

}  // namespace

int main() {
    const double before = cpu_seconds();
    std::vector<Loaded> loaded = load();
    bool met = goal("both encodings ready, ms", 1000 * (cpu_seconds() - before), 10);
    fill(loaded);
    met = goal("both encodings, caches full: resident MB", resident_megabytes(), 64) && met;
    std::mt19937 random(2);
    constexpr std::size_t size = 3'200'000;
    const std::pair<const char*, std::string> texts[] = {
        {"one letter", std::string(size, 'a')},
        {"letters", random_text(random, "abcdefghijklmnopqrstuvwxyz", size)},
        {"spaces", std::string(size, ' ')},
        {"punctuation", random_text(random, "!\"#$%&()*+,-.:;<=>?@[]^_`{|}~", size)},
        {"base64", random_text(random, "ABCDEFGHIJKLMNabcdefghijklmnop0123456789+/", size)},
        {"hex", random_text(random, "0123456789abcdef", size)},
        {"digits", random_text(random, "0123456789", size)},
        {"ideographs", random_ideographs(random, size)},
        {"not UTF-8", "\xff" + random_text(random, "ab \n", size)}};
    for (Loaded& one : loaded)
        for (const auto& [name, text] : texts) {
            const std::string what = std::string(one.encoding->name()) + " " + name;
            met = goal(what + ": twice the text", growth(*one.encoding, text, 0), 2.3) && met;
            met = goal(what + ", streamed", growth(*one.encoding, text, 16), 2.3) && met;
        }
    return met ? 0 : 1;
}

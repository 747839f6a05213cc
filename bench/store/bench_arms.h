// What the benches of stores share: arms that are measured in turn, ratios of the same round, and
// messages of one size.
#pragma once
#include <algorithm>
#include <barrier>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "palimpsest/store.h"

namespace bench {

using namespace palimpsest;

constexpr int rounds = 24;
constexpr std::size_t message_bytes = 1024;

[[noreturn]] inline void stop(const Error& error) {
    std::fprintf(stderr, "bench: %s\n", error.message.c_str());
    std::exit(1);
}
template <class T>
T good(Result<T> result) {
    if (!result) stop(result.error());
    if constexpr (!std::is_void_v<T>) return std::move(*result);
}

inline double seconds_of(const std::function<void()>& work) {
    const auto start = std::chrono::steady_clock::now();
    work();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

inline double median(std::vector<double> values) {
    std::ranges::sort(values);
    return values[values.size() / 2];
}

// What one arm did: seconds for one operation, round by round.
struct Arm {
    std::vector<double> seconds = {};
    void add(double whole, int operations) { seconds.push_back(whole / operations); }
    double each() const { return median(seconds); }
};

// Ratios of the same round, so that a slow moment of the disk does not fall on one side alone.
inline double ratio_of(const Arm& over, const Arm& under) {
    std::vector<double> ratios;
    for (std::size_t i = 0; i < over.seconds.size(); ++i)
        ratios.push_back(over.seconds[i] / under.seconds[i]);
    return median(ratios);
}

// Each round begins with another arm: checkpoints, which come every so many pages, would otherwise
// fall on the same one again and again.
inline void in_turn(int round, std::vector<std::function<void()>> arms) {
    const auto first = arms.begin() + round % static_cast<std::ptrdiff_t>(arms.size());
    std::ranges::rotate(arms, first);
    for (const auto& arm : arms) arm();
}

inline int missed_goals = 0;

inline void print(const char* what, const std::string& figures, double ratio, const char* goal,
                  bool met) {
    std::printf("%-44s %-46s ratio %5.2f   goal %-8s %s\n", what, figures.c_str(), ratio, goal,
                met ? "met" : "NOT MET");
    std::fflush(stdout);
    missed_goals += met ? 0 : 1;
}

inline std::string rates(const char* a, double a_each, const char* b, double b_each) {
    char text[128];
    std::snprintf(text, sizeof text, "%s %.0f/s, %s %.0f/s", a, 1 / a_each, b, 1 / b_each);
    return text;
}
inline std::string micros(const char* a, double a_each, const char* b, double b_each) {
    char text[128];
    std::snprintf(text, sizeof text, "%s %.0f us, %s %.0f us", a, a_each * 1e6, b, b_each * 1e6);
    return text;
}

inline Batch message_batch(int count = 1) {
    Batch batch;
    for (int i = 0; i < count; ++i) {
        MessageEntry entry;
        entry.message.raw = make_bytes(std::string(message_bytes, 'x'));
        batch.entries.push_back({.body = std::move(entry)});
    }
    return batch;
}

inline void append_many(Store& store, const ConversationId& name, int count) {
    const Batch batch = message_batch();
    for (int i = 0; i < count; ++i) good(store.append(name, batch));
}

inline double seconds_of_writers(Store& store, int writers, int each) {
    std::barrier start(writers + 1);
    std::vector<std::jthread> threads;
    for (int w = 0; w < writers; ++w)
        threads.emplace_back([&, w] {
            start.arrive_and_wait();
            append_many(store, {"t", "writer" + std::to_string(w)}, each);
        });
    return seconds_of([&] {
        start.arrive_and_wait();
        threads.clear();
    });
}

}  // namespace bench

// What a Memory counts, in the text format of Prometheus. From any thread.
#pragma once
#include <array>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <string_view>

#include "palimpsest/memory.h"

namespace palimpsest {

class Meters {
public:
    void count_compaction(const Compaction& compaction);
    void count_injection(std::string_view result);  // used, stale, too_long, none
    // What a call took, and whether the provider's cache should have been hit and was not.
    void count_call(const Usage& usage, double cost, bool missed);
    enum class Step : std::uint8_t { begin, finish };
    void count_step(Step step, double seconds);

    std::string text() const;

private:
    struct Histogram {
        std::array<std::uint64_t, 8> buckets = {};
        std::uint64_t count = 0;
        double sum = 0;
    };
    using Limits = std::array<double, 8>;
    static void add(Histogram& into, const Limits& limits, double value);
    static void write(std::string& out, std::string_view name, const std::string& labels,
                      const Histogram& histogram, const Limits& limits);

    mutable std::mutex mutex_;  // Guards all below. By labels, as they are written.
    std::map<std::string, std::uint64_t> triggers_, items_, injections_;
    std::map<std::string, Histogram> tokens_, steps_;
    std::map<std::string, std::uint64_t> used_;
    double cost_ = 0;
    std::uint64_t misses_ = 0;
};

}  // namespace palimpsest

// What a Memory counts, in the text format of Prometheus. From any thread.
#pragma once
#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "palimpsest/memory.h"

namespace palimpsest {

enum class StoreCall : std::uint8_t {
    head,
    append,
    read,
    list,
    scrub,
    erase,
    get_record,
    put_record,
    list_records,
    sweep,
};
constexpr std::size_t store_calls = 10;

class Meters {
public:
    void count_compaction(const Compaction& compaction);
    void count_injection(std::string_view result);  // used, stale, too_long, none
    // What a call took, and whether the provider's cache should have been hit and was not.
    void count_call(const Usage& usage, double cost, bool missed);
    enum class Step : std::uint8_t { begin, finish, upstream };
    void count_step(Step step, double seconds);
    // That something is not there is no error.
    void count_store(StoreCall call, std::optional<ErrorCode> error);
    void set_jobs(std::uint64_t waiting) { jobs_ = waiting; }
    // How far estimates for a model without a public vocabulary are off on the mean; `model` is its
    // row in the table of models.
    void set_estimate_error(std::string_view model, double error);

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
    void write_store(std::string& out) const;

    std::array<std::atomic<std::uint64_t>, store_calls> store_calls_ = {};
    std::atomic<std::uint64_t> jobs_ = 0;
    mutable std::mutex mutex_;  // Guards all below. By labels, as they are written.
    std::map<std::string, std::uint64_t> triggers_, items_, injections_, store_errors_;
    std::map<std::string, Histogram> tokens_;
    std::array<Histogram, 3> steps_ = {};     // by Step
    std::array<std::uint64_t, 4> used_ = {};  // input, cached, written to the cache, output
    std::map<std::string, double> errors_;    // by model
    double cost_ = 0;
    std::uint64_t misses_ = 0;
};

}  // namespace palimpsest

// Counts for models whose vocabulary is not public, learned from what the services report.
//
// ByteEstimator is ailoop's: one exponential average of tokens per byte. Calibration does
// better: the service's count is taken to be a weighted sum of what we can count exactly with a
// public vocabulary, and recursive least squares finds the weights, starting from a prior so that
// the first estimate is sensible. Both are plain numbers, kept per model by whoever owns them.
#pragma once
#include "token/request.h"

#include <array>
#include <cstddef>
#include <cstdint>

namespace palimpsest {

class ByteEstimator {
public:
    std::uint64_t count(std::size_t bytes) const;
    // A sample without bytes or tokens says nothing and is ignored.
    void learn(std::size_t bytes, std::uint64_t tokens);
    double tokens_per_byte() const { return rate_; }

private:
    static constexpr double weight = 0.2;
    double rate_ = 0.25;
};

class Calibration {
public:
    static constexpr std::size_t terms = 13;
    // Everything there is to save: weights, their covariance, mean relative error, samples.
    struct State {
        std::array<double, terms> weights = {};
        std::array<std::array<double, terms>, terms> spread = {};
        double error = 0;  // Exponential average of |estimate - reported| / reported.
        std::uint64_t samples = 0;
    };

    // Starts from what is known about the model.
    explicit Calibration(const ModelSpec& model);
    explicit Calibration(const State& state) : state_(state) {}

    std::uint64_t estimate(const RequestCount& count) const;
    // Ignored: a `reported` of 0, and requests with tools that the service runs itself. The error
    // is measured before learning.
    void learn(const RequestCount& count, std::uint64_t reported);

    const State& state() const { return state_; }

private:
    State state_;
};

}  // namespace palimpsest

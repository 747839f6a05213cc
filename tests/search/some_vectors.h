// Vectors of unit length: spread evenly, or in clusters.
#pragma once
#include <random>
#include <vector>

#include "core/vectors.h"

namespace palimpsest::testing_support {

class SomeVectors {
public:
    // Without clusters they go in all directions alike.
    SomeVectors(unsigned seed, std::size_t dimension, std::size_t clusters)
        : random_(seed), dimension_(dimension) {
        for (std::size_t c = 0; c < clusters; ++c) centers_.push_back(direction());
    }
    std::vector<float> next() {
        std::vector<float> vector = direction();
        if (!centers_.empty()) {
            const std::vector<float>& center = centers_[random_() % centers_.size()];
            for (std::size_t i = 0; i < dimension_; ++i) vector[i] = center[i] + 0.7f * vector[i];
        }
        normalize(vector);
        return vector;
    }
    // One behind the other.
    std::vector<float> rows(std::size_t count) {
        std::vector<float> all;
        for (std::size_t i = 0; i < count; ++i) {
            const std::vector<float> one = next();
            all.insert(all.end(), one.begin(), one.end());
        }
        return all;
    }

private:
    std::vector<float> direction() {
        std::vector<float> vector(dimension_);
        for (float& value : vector) value = normal_(random_);
        normalize(vector);
        return vector;
    }
    std::mt19937 random_;
    std::normal_distribution<float> normal_;
    std::size_t dimension_;
    std::vector<std::vector<float>> centers_;
};

}  // namespace palimpsest::testing_support

// A fresh, empty store of each kind, with a clock that tests move. One small table says where each
// kind keeps its data.
#pragma once
#include <filesystem>
#include <memory>
#include <set>
#include <string>

#include "palimpsest/conformance.h"

namespace palimpsest {

class TestStore {
public:
    explicit TestStore(std::string_view scheme);
    ~TestStore();
    TestStore(const TestStore&) = delete;
    TestStore& operator=(const TestStore&) = delete;

    const StoreUnderTest& under_test() const { return under_test_; }
    // The clock that the store reads.
    const Clock& clock() const { return clock_; }

private:
    std::filesystem::path folder_;
    Clock clock_;
    StoreUnderTest under_test_;
};

}  // namespace palimpsest

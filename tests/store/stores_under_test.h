// A fresh, empty store of each kind, with a clock that tests move. One small table says where each
// kind keeps its data.
#pragma once
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "palimpsest/conformance.h"

namespace palimpsest {

// Every row of store_kinds(), "wire": a store behind the bytes of the port, and those rows that need
// a server where one is running.
std::vector<std::string_view> stores_under_test();

// Whether what it holds outlives the object; false also for a scheme that has no row yet.
bool is_persistent(std::string_view scheme);

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

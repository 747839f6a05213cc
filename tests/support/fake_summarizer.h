// A summariser in the process: says what a test tells it to, and counts.
#pragma once
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <thread>

#include "palimpsest/model.h"

namespace palimpsest::testing_support {

class FakeSummarizer : public Summarizer {
public:
    std::string text = "They talked about numbers: one and three.";
    Duration takes = {};
    int calls = 0;
    std::function<void()> meanwhile = {};
    std::uint64_t window_tokens() const override { return 8000; }
    Result<SummaryText> summarize(const SummaryCall& call) override {
        ++calls;
        EXPECT_NE(call.user.find("number"), std::string_view::npos);
        if (meanwhile) meanwhile();
        if (takes > Duration::zero()) std::this_thread::sleep_for(takes);
        return SummaryText{text, "gpt-4o-mini", {.input_tokens = 1000, .output_tokens = 10}};
    }
};

}  // namespace palimpsest::testing_support

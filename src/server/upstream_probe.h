// upstream_probe: whether the models' servers answer, asked at most every few seconds, however
// often somebody wants to know.
#pragma once
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "server/models.h"

namespace palimpsest {

struct Reached {
    std::string model = {};
    std::optional<ErrorCode> error = {};  // none: it answers
};

// From any thread.
class UpstreamProbe {
public:
    static constexpr Duration fresh_for = std::chrono::seconds(10);
    // All of them, asked at the same time where what is known is older than that.
    std::vector<Reached> look(const Models& models);

private:
    std::mutex mutex_;  // Held while asking: those who come meanwhile get the same answer.
    std::vector<Reached> known_;
    Time asked_ = {};
};

}  // namespace palimpsest

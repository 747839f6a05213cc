// Policies that were read lately, by their text: a turn does not read its policy's JSON again.
#pragma once
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "core/policy.h"
#include "palimpsest/memory.h"

namespace palimpsest {

// The policy that applies, and the text that says so. `policy` is null when there is none.
struct PolicyInForce {
    std::string text = {};
    std::shared_ptr<const Policy> policy = {};
    bool of_settings = false;  // it is the server's own
};

// `forbidden` where it names a model for summaries that these terms do not allow.
Result<void> check_summary_models(const PolicyInForce& in_force, const SummaryTerms& terms);

class Policies {
public:
    Policies(std::string server, Extensions extensions)
        : server_(std::move(server)), extensions_(std::move(extensions)) {}

    // The first level that is present; the server's stands below those given.
    Result<PolicyInForce> choose(PolicyLevels levels);
    Result<std::shared_ptr<const Policy>> read(std::string_view text);
    // One that choose() gave before, by its text: whatever level it is of, it stands.
    Result<PolicyInForce> read_chosen(std::string_view text);

private:
    struct Kept {
        std::shared_ptr<const Policy> policy = {};
        bool in_size = false;  // known to be no larger than what is given may be
    };
    Result<std::shared_ptr<const Policy>> read_given(std::string_view text);

    static constexpr std::size_t kept_max = 64;
    static constexpr std::size_t text_bytes_max = 16u << 10;  // longer ones are read each time
    const std::string server_;
    const Extensions extensions_;
    std::mutex mutex_;  // Guards kept_.
    std::map<std::string, Kept, std::less<>> kept_;
};

}  // namespace palimpsest

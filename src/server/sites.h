// sites: one Site for each tenant, made when its first request comes. A route's function sees the
// site of its caller and so cannot reach another tenant's conversations by any id.
#pragma once
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "server/route.h"

namespace palimpsest {

// From any thread. The sites live as long as it does.
class Sites {
public:
    // `open`: the site of the settings' tenant, which is there from the beginning.
    explicit Sites(Site open);
    Site& of(const std::string& tenant);
    std::vector<std::string> tenants() const;
    // Tells responses that go on without a client that the grace is over.
    void interrupt();
    // Ends what runs in the background of each; http must have stopped before.
    void stop();

private:
    mutable std::mutex mutex_;
    const Site open_;
    std::map<std::string, std::unique_ptr<Site>> sites_;
};

}  // namespace palimpsest

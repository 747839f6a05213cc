#include "server/sites.h"

#include "server/keeper.h"
#include "server/response_log.h"
#include "server/running_turns.h"

namespace palimpsest {

Sites::Sites(Site open) : open_(std::move(open)) {
    of(open_.tenant);
}

Site& Sites::of(const std::string& tenant) {
    const std::lock_guard lock(mutex_);
    std::unique_ptr<Site>& site = sites_[tenant];
    if (!site) {
        site = std::make_unique<Site>(open_);
        site->tenant = tenant;
        site->running = std::make_shared<RunningTurns>();
        site->responses =
            std::make_shared<ResponseLog>(site->memory.store(), tenant, *site->keeper);
    }
    return *site;
}

std::vector<std::string> Sites::tenants() const {
    const std::lock_guard lock(mutex_);
    std::vector<std::string> names;
    for (const auto& [name, site] : sites_) names.push_back(name);
    return names;
}

void Sites::interrupt() {
    const std::lock_guard lock(mutex_);
    for (const auto& [name, site] : sites_) site->responses->interrupt();
}

void Sites::stop() {
    const std::lock_guard lock(mutex_);
    for (const auto& [name, site] : sites_) site->responses->stop();
    open_.keeper->stop();
}

}  // namespace palimpsest

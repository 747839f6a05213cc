#include "server/upstream_probe.h"

#include <thread>

#include "base/clock.h"

namespace palimpsest {

std::vector<Reached> UpstreamProbe::look(const Models& models) {
    const std::lock_guard lock(mutex_);
    const Time now = system_now();
    if (asked_ != Time{} && now >= asked_ && now - asked_ < fresh_for) return known_;
    std::vector<Reached> found(models.all().size());
    {
        std::vector<std::jthread> asking;
        for (std::size_t i = 0; i < found.size(); ++i)
            asking.emplace_back([&one = found[i], model = models.all()[i]] {
                one.model = model->name();
                if (const auto reached = model->reach(); !reached) one.error = reached.error().code;
            });
    }
    known_ = std::move(found);
    asked_ = system_now();
    return known_;
}

}  // namespace palimpsest

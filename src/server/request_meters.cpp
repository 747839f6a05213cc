#include "server/request_meters.h"

#include "server/route.h"

#include <fmt/format.h>

namespace palimpsest {
namespace {

std::string labels_of(const Route* route) {
    if (!route) return R"(method="",route="")";
    return fmt::format(R"(method="{}",route="{}")", route->method, route->pattern);
}

}  // namespace

void RequestMeters::count(const Route* route, int status, double seconds) {
    const std::scoped_lock lock(mutex_);
    ++requests_[{route, status}];
    Times& times = times_[route];
    for (std::size_t i = 0; i < limits.size(); ++i)
        times.buckets[i] += seconds <= limits[i] ? 1 : 0;
    ++times.count;
    times.sum += seconds;
}

std::optional<RequestMeters::StreamPlace> RequestMeters::take_stream(std::size_t most) {
    if (std::cmp_less_equal(++open_, most)) return StreamPlace(*this);
    --open_;
    refuse(Refusal::streams);
    return {};
}

void RequestMeters::count_cut(std::optional<ErrorCode> reason) {
    const std::scoped_lock lock(mutex_);
    ++cuts_[reason ? error_info(*reason).name : "stopped"];
}

// With the lock held.
std::string RequestMeters::cuts() const {
    std::string out =
        "# HELP memory_answers_cut_total Answers of models that did not come to their end.\n"
        "# TYPE memory_answers_cut_total counter\n";
    for (const auto& [reason, count] : cuts_)
        out += fmt::format("memory_answers_cut_total{{reason=\"{}\"}} {}\n", reason, count);
    return out;
}

void RequestMeters::ask_load(std::function<std::string()> load) {
    const std::scoped_lock lock(mutex_);
    load_ = std::move(load);
}

std::string RequestMeters::refusals() const {
    constexpr std::string_view names[] = {"connections", "queue", "streams"};
    std::string out =
        "# HELP memory_refused_total Answered 503 because there was too much to do.\n"
        "# TYPE memory_refused_total counter\n";
    for (std::size_t i = 0; i < refused_.size(); ++i)
        out +=
            fmt::format("memory_refused_total{{reason=\"{}\"}} {}\n", names[i], refused_[i].load());
    return out;
}

std::string RequestMeters::text() const {
    std::string out = fmt::format(
        "# HELP memory_open_streams Streamed answers that were asked for and have not ended.\n"
        "# TYPE memory_open_streams gauge\nmemory_open_streams {}\n"
        "# HELP memory_requests_total Requests, by route and status.\n"
        "# TYPE memory_requests_total counter\n",
        open_.load());
    const std::scoped_lock lock(mutex_);
    for (const auto& [key, count] : requests_)
        out += fmt::format("memory_requests_total{{{},status=\"{}\"}} {}\n", labels_of(key.first),
                           key.second, count);
    constexpr std::string_view name = "memory_request_seconds";
    out += fmt::format(
        "# HELP {0} Time of a request, its stream and its model with it.\n"
        "# TYPE {0} histogram\n",
        name);
    for (const auto& [route, times] : times_) {
        const std::string labels = labels_of(route);
        for (std::size_t i = 0; i < limits.size(); ++i)
            out += fmt::format("{}_bucket{{{},le=\"{}\"}} {}\n", name, labels, limits[i],
                               times.buckets[i]);
        out += fmt::format(
            "{0}_bucket{{{1},le=\"+Inf\"}} {2}\n{0}_sum{{{1}}} {3}\n"
            "{0}_count{{{1}}} {2}\n",
            name, labels, times.count, times.sum);
    }
    return out + refusals() + cuts() + (load_ ? load_() : std::string());
}

}  // namespace palimpsest

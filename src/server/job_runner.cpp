#include "server/job_runner.h"

#include <chrono>
#include <condition_variable>
#include <mutex>

namespace palimpsest {
namespace {

constexpr auto between_looks = std::chrono::seconds(1);
constexpr std::size_t jobs_at_once = 16;

// A look that fails is simply repeated: jobs stay in the store until they are done.
void run_due(Memory& memory, const std::string& tenant, const std::shared_ptr<Tracer>& tracer,
             const std::stop_token& stop) {
    Span span(tracer, "memory.jobs", SpanKind::internal, {});
    const auto done = memory.run_jobs(tenant, jobs_at_once, stop);
    if (!done || *done == 0) return span.drop();
    span.set("palimpsest.jobs.done", static_cast<std::int64_t>(*done));
}

void run(const std::stop_token& stop, Memory& memory,
         const std::function<std::vector<std::string>()>& tenants,
         const std::shared_ptr<Tracer>& tracer) {
    std::mutex mutex;
    std::condition_variable_any woken;
    while (!stop.stop_requested()) {
        for (const std::string& tenant : tenants())
            if (!stop.stop_requested()) run_due(memory, tenant, tracer, stop);
        memory.write_usage();
        std::unique_lock lock(mutex);
        woken.wait_for(lock, stop, between_looks, [] { return false; });
    }
}

}  // namespace

JobRunner::JobRunner(Memory& memory, std::function<std::vector<std::string>()> tenants,
                     std::shared_ptr<Tracer> tracer)
    : thread_([&memory, tenants = std::move(tenants), tracer = std::move(tracer)](
                  const std::stop_token& stop) { run(stop, memory, tenants, tracer); }) {}

}  // namespace palimpsest

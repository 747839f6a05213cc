// job_runner: does due summaries while the server runs, on a thread of its own. Several servers on
// one store share the work: a job is claimed with a lease (see Memory::run_jobs).
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "palimpsest/memory.h"
#include "server/tracer.h"

namespace palimpsest {

class JobRunner {
public:
    // The memory must outlive it. Stops when it is destroyed, after the job that is being done.
    // `tenants` gives whose jobs they are, from that thread. Each look that does some is a span.
    JobRunner(Memory& memory, std::function<std::vector<std::string>()> tenants,
              std::shared_ptr<Tracer> tracer = {});

private:
    std::jthread thread_;
};

}  // namespace palimpsest

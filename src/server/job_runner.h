// job_runner: does due summaries while the server runs, on a thread of its own. Several servers on
// one store share the work: a job is claimed with a lease (see Memory::run_jobs).
#pragma once
#include <string>
#include <thread>

#include "palimpsest/memory.h"

namespace palimpsest {

class JobRunner {
public:
    // The memory must outlive it. Stops when it is destroyed, after the job that is being done.
    JobRunner(Memory& memory, std::string tenant);

private:
    std::jthread thread_;
};

}  // namespace palimpsest

#include "store/holder.h"

#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <string>

#include "base/clock.h"

namespace palimpsest {
namespace {

// "pal serve": the program's file name and, if it looks like a command, its first argument.
std::string program_name() {
    std::ifstream file("/proc/self/cmdline", std::ios::binary);
    std::string program, first;
    std::getline(file, program, '\0');
    std::getline(file, first, '\0');
    program.erase(0, program.rfind('/') + 1);
    const bool command = !first.empty() && first.size() <= 16 &&
                         first.find_first_not_of("abcdefghijklmnopqrstuvwxyz") == first.npos;
    return command ? program + " " + first : program;
}

}  // namespace

LockInfo own_lock_info(const StoreOptions& options) {
    return {.pid = ::getpid(),
            .program = program_name(),
            .address = options.holder_address,
            .token = options.holder_token,
            .since = system_now()};
}

std::string store_path(std::string_view rest) {
    std::string path(rest.substr(0, rest.find('?')));
    while (path.size() > 1 && path.ends_with('/')) path.pop_back();
    return path;
}

Result<void> each_url_option(
    std::string_view fields,
    const std::function<Result<void>(std::string_view name, std::string_view value)>& set) {
    while (!fields.empty()) {
        const std::string_view field = fields.substr(0, fields.find('&'));
        const std::size_t equals = std::min(field.find('='), field.size());
        PAL_CHECK(set(field.substr(0, equals), field.substr(std::min(equals + 1, field.size()))));
        fields.remove_prefix(std::min(fields.size(), field.size() + 1));
    }
    return {};
}

}  // namespace palimpsest

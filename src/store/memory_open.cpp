// Reads the options of `memory:` from its URL.
#include <charconv>
#include <string>

#include "base/time.h"
#include "store/kinds.h"
#include "store/memory_store.h"

namespace palimpsest {
namespace {

Result<void> set_option(MemoryStoreOptions& options, std::string_view name,
                        std::string_view value) {
    if (name == "ttl") {
        options.ttl = std::nullopt;
        if (value == "0") return {};
        PAL_TRY(ttl, parse_duration(value));
        options.ttl = ttl;
        return {};
    }
    if (name == "sweep") {
        options.sweep = Duration::zero();
        if (value == "0") return {};
        PAL_TRY(interval, parse_duration(value));
        options.sweep = interval;
        return {};
    }
    if (name != "max")
        return fail(ErrorCode::invalid_request,
                    "memory: has the options ttl, max and sweep, not \"" + std::string(name) + "\"",
                    "store");
    const auto [end, fault] =
        std::from_chars(value.data(), value.data() + value.size(), options.max);
    if (fault == std::errc{} && end == value.data() + value.size()) return {};
    return fail(ErrorCode::invalid_request, "memory: max must be a number", "store");
}

}  // namespace

Result<std::unique_ptr<Store>> open_memory_store(std::string_view rest,
                                                 const StoreOptions& options) {
    MemoryStoreOptions chosen{.clock = options.clock};
    if (!rest.empty() && !rest.starts_with('?'))
        return fail(ErrorCode::invalid_request, "memory: takes no path", "store");
    if (!rest.empty()) rest.remove_prefix(1);
    while (!rest.empty()) {
        const std::string_view field = rest.substr(0, rest.find('&'));
        const std::size_t equals = field.find('=');
        const bool bare = equals == std::string_view::npos;
        PAL_CHECK(set_option(chosen, field.substr(0, equals),
                             bare ? std::string_view() : field.substr(equals + 1)));
        rest.remove_prefix(std::min(rest.size(), field.size() + 1));
    }
    return std::make_unique<MemoryStore>(std::move(chosen));
}

}  // namespace palimpsest

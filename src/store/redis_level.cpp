// What an acknowledgement is worth is the servers' setting: we read it and say it. Where CONFIG is
// forbidden, as by whoever runs servers for others, INFO tells most; the rest is said to be
// unknown.
#include <map>

#include "store/redis_store.h"

namespace palimpsest {
namespace {

const std::string differs = "not the same on all nodes";

// What all masters say, by the names of CONFIG; what nobody says is not in it.
class ServerSettings {
public:
    void add(const std::string& name, const std::string& value) {
        const auto [at, fresh] = values_.emplace(name, value);
        if (!fresh && at->second != value) at->second = differs;
    }
    bool knows(const std::string& name) const { return values_.contains(name); }
    bool is(const std::string& name, const std::string& value) const { return get(name) == value; }
    std::string get(const std::string& name) const {
        const auto found = values_.find(name);
        return found == values_.end() ? "unknown" : found->second;
    }

private:
    std::map<std::string, std::string> values_;
};

struct InfoField {
    std::string_view info;
    const char* setting;
};
constexpr InfoField info_fields[] = {{"aof_enabled", "appendonly"},
                                     {"maxmemory", "maxmemory"},
                                     {"maxmemory_policy", "maxmemory-policy"},
                                     {"cluster_enabled", "cluster-enabled"}};

void read_info(std::string_view text, ServerSettings& settings) {
    while (!text.empty()) {
        const std::string_view line = text.substr(0, text.find_first_of("\r\n"));
        text.remove_prefix(std::min(text.size(), line.size() + 1));
        const std::size_t colon = line.find(':');
        for (const InfoField& field : info_fields) {
            if (colon == line.npos || line.substr(0, colon) != field.info) continue;
            std::string value(line.substr(colon + 1));
            if (field.info.ends_with("_enabled")) value = value == "1" ? "yes" : "no";
            settings.add(field.setting, value);
        }
    }
}

// How long a write lasts by itself, without replicas.
std::string kept_for(const ServerSettings& settings) {
    if (!settings.knows("appendonly"))
        return "what it keeps on its disk is unknown (CONFIG and INFO are refused)";
    if (!settings.is("appendonly", "yes"))
        return "no append-only file: a crash of the server loses what came after its last snapshot";
    if (settings.is("appendfsync", "always")) return "synced before every acknowledgement";
    if (!settings.knows("appendfsync"))
        return "an append-only file; when it is synced is unknown (CONFIG is refused): a power cut "
               "may lose the newest writes";
    return "appendfsync=" + settings.get("appendfsync") + ": a power cut loses the newest writes";
}

}  // namespace

Result<void> RedisStore::learn_durability() {
    ServerSettings settings;
    for (const char* name : {"appendonly", "appendfsync", "maxmemory", "maxmemory-policy"}) {
        PAL_TRY(replies, client_->ask_masters({"CONFIG", "GET", name}));
        for (const RedisReply& reply : replies)
            if (reply.items.size() > 1) settings.add(name, reply.at(1));
    }
    ServerSettings told;
    for (const char* section : {"persistence", "memory", "cluster"}) {
        PAL_TRY(replies, client_->ask_masters({"INFO", section}));
        for (const RedisReply& reply : replies)
            if (!reply.is_error()) read_info(reply.text, told);
    }
    for (const InfoField& field : info_fields)
        if (!settings.knows(field.setting) && told.knows(field.setting))
            settings.add(field.setting, told.get(field.setting));

    const bool limited = settings.knows("maxmemory") && !settings.is("maxmemory", "0");
    const bool evicts = limited && settings.knows("maxmemory-policy") &&
                        !settings.is("maxmemory-policy", "noeviction");
    const bool may_evict =
        !settings.knows("maxmemory") || (limited && !settings.knows("maxmemory-policy"));
    if (evicts && !options_.eviction_allowed)
        return fail(ErrorCode::invalid_request,
                    "Redis is set to forget keys when memory runs out (maxmemory-policy " +
                        settings.get("maxmemory-policy") +
                        "): set it to noeviction, or say eviction=allow and accept the loss",
                    "store");
    const bool cluster = options_.connection.cluster;
    part_of_cluster_ = !cluster && settings.is("cluster-enabled", "yes");
    durability_.process_killed = settings.is("appendonly", "yes");
    durability_.power_cut = durability_.process_killed && settings.is("appendfsync", "always");
    durability_.level = cluster ? "Redis Cluster, " : "Redis, ";
    if (part_of_cluster_)
        durability_.level =
            "a node of a Redis Cluster, of which nothing else was asked (say cluster=1), ";
    durability_.level += kept_for(settings);
    const std::size_t waits = client_->replicas_waited_for();
    if (waits > 0)
        durability_.level += "; " + std::to_string(waits) + " replicas confirm each write";
    if (waits == 0 && (cluster || part_of_cluster_))
        durability_.level += "; a failover may lose the newest writes (wait=0)";
    if (evicts) durability_.level += "; keys may be evicted";
    if (may_evict) durability_.level += "; whether keys may be evicted is unknown";
    return {};
}

}  // namespace palimpsest

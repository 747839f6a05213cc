// Keys: P:conversation:ID:meta (JSON), :messages and :summaries (lists of JSON), :metadata (hash),
// :lists and :list:NAME; before that, one JSON text at P:conversation:ID.
#include "store/promptkit_redis.h"

#include <algorithm>
#include <optional>
#include <set>
#include <vector>

#include "base/json.h"
#include "base/json_write.h"
#include "store/redis_client.h"
#include "store/redis_store.h"

namespace palimpsest {
namespace {

constexpr std::string_view messages_end = ":messages";
constexpr std::string_view parts[] = {messages_end, ":summaries", ":metadata", ":lists"};

bool is_part(std::string_view rest) {
    return rest.find(":list:") != rest.npos ||
           std::ranges::any_of(parts, [&](std::string_view end) { return rest.ends_with(end); });
}

class KitReader {
public:
    KitReader(RedisClient& client, const std::string& prefix)
        : client_(client), stem_(prefix + ":conversation:") {}

    // The ids there are, those of the old layout too.
    Result<std::set<std::string>> ids() {
        std::set<std::string> found;
        std::string cursor = "0";
        do {
            PAL_TRY(page, ask({"SCAN", cursor, "MATCH", stem_ + "*", "COUNT", "1000"}));
            if (page.items.size() != 2)
                return fail(ErrorCode::unavailable, "the server does not answer SCAN as Redis");
            cursor = page.items[0].text;
            for (const RedisReply& key : page.items[1].items) {
                std::string id = key.text.substr(std::min(stem_.size(), key.text.size()));
                const bool of_list = id.find(":list:") != id.npos;
                if (id.ends_with(":meta"))
                    found.insert(id.substr(0, id.size() - 5));
                else if (id.ends_with(messages_end) && !of_list)  // written before the meta
                    found.insert(id.substr(0, id.size() - messages_end.size()));
                else if (!is_part(id))
                    found.insert(std::move(id));
            }
        } while (cursor != "0");
        return found;
    }

    Result<std::string> state(const std::string& id) {
        const std::string key = stem_ + id;
        PAL_TRY(meta, ask({"GET", key + ":meta"}));
        if (meta.is_nil()) {
            PAL_TRY(whole, ask({"GET", key}));
            if (!whole.is_nil()) return whole.text;
            meta.text = "{\"id\":" + json_string(id) + "}";
        }
        PAL_TRY(messages, list(key + ":messages"));
        PAL_TRY(summaries, list(key + ":summaries"));
        PAL_TRY(metadata, hash(key + ":metadata"));
        PAL_TRY(named, lists(key));
        return "{\"meta\":" + meta.text + ",\"messages\":" + messages +
               ",\"summaries\":" + summaries + ",\"metadata\":" + metadata + ",\"lists\":" + named +
               "}";
    }

private:
    Result<RedisReply> ask(std::vector<std::string> words) {
        return client_.run({.key = words[1], .words = std::move(words)});
    }

    Result<std::string> list(const std::string& key) {
        PAL_TRY(reply, ask({"LRANGE", key, "0", "-1"}));
        std::string out = "[";
        for (const RedisReply& item : reply.items) out += (out.size() > 1 ? "," : "") + item.text;
        return out + "]";
    }

    Result<std::string> hash(const std::string& key) {
        PAL_TRY(reply, ask({"HGETALL", key}));
        std::string out;
        JsonWriter json(out);
        json.begin_object();
        for (std::size_t i = 0; i + 1 < reply.items.size(); i += 2)
            json.field(reply.items[i].text, reply.items[i + 1].text);
        json.end_object();
        return out;
    }

    // The lists that the conversation names. Their items are whatever a program put there: those
    // that are no JSON are shown as text.
    Result<std::string> lists(const std::string& key) {
        PAL_TRY(names, ask({"SMEMBERS", key + ":lists"}));
        std::string out;
        JsonWriter json(out);
        json.begin_object();
        for (const RedisReply& name : names.items) {
            PAL_TRY(items, ask({"LRANGE", key + ":list:" + name.text, "0", "-1"}));
            json.key(name.text).begin_array();
            for (const RedisReply& item : items.items)
                parse_json(item.text) ? json.raw(item.text) : json.string(item.text);
            json.end_array();
        }
        json.end_object();
        return out;
    }

    RedisClient& client_;
    const std::string stem_;
};

struct KitPlace {
    RedisOptions connection = {};
    std::string prefix = {};
    std::optional<Duration> ttl = {};
};

Result<KitPlace> read_place(std::string_view url) {
    PAL_TRY(options, read_redis_url(url));
    if (options.connection.cluster)
        return fail(ErrorCode::invalid_request,
                    "PromptKit's keys are on one server, not in a cluster");
    const bool named = url.find("prefix=") != url.npos;
    return KitPlace{options.connection, named ? options.prefix : "promptkit", options.ttl};
}

// All but the meta, which is the claim to the id; each key lives as long as it does.
std::vector<RedisCommand> commands_for(const PromptkitState& state, const KitPlace& place) {
    const std::string key = place.prefix + ":conversation:" + state.id;
    std::vector<RedisCommand> commands;
    const auto add = [&](std::vector<std::string> words) {
        commands.push_back({.key = words[1], .words = std::move(words), .effect = Effect::writes});
    };
    for (const std::string& message : state.messages) add({"RPUSH", key + ":messages", message});
    for (const auto& [name, value] : state.metadata)
        add({"HSET", key + ":metadata", "user." + name, value});
    add({"SADD", place.prefix + ":conversations:index", state.id});
    const std::string user = place.prefix + ":user:" + state.owner + ":conversations";
    if (!state.owner.empty()) add({"SADD", user, state.id});
    if (!place.ttl) return commands;
    const std::string ttl = std::to_string(place.ttl->count());
    for (const std::string& name : {key + ":meta", key + ":messages", key + ":metadata", user})
        add({"PEXPIRE", name, ttl});
    return commands;
}

}  // namespace

Result<std::size_t> read_promptkit_redis(
    std::string_view url,
    const std::function<Result<void>(const std::string& id, const std::string& state)>& take) {
    PAL_TRY(place, read_place(url));
    PAL_TRY(client, RedisClient::open(place.connection, {}));
    KitReader reader(*client, place.prefix);
    PAL_TRY(ids, reader.ids());
    for (const std::string& id : ids) {
        PAL_TRY(state, reader.state(id));
        PAL_CHECK(take(id, state));
    }
    return ids.size();
}

Result<void> write_promptkit_redis(std::string_view url, const PromptkitState& state) {
    PAL_TRY(place, read_place(url));
    PAL_TRY(client, RedisClient::open(place.connection, {}));
    const std::string key = place.prefix + ":conversation:" + state.id;
    const auto there = fail(ErrorCode::conflict, "PromptKit has a conversation \"" + state.id +
                                                     "\" there already; delete it there first");
    PAL_TRY(whole, client->run({.key = key, .words = {"EXISTS", key}}));
    if (whole.number != 0) return there;
    PAL_TRY(claimed, client->run({.key = key + ":meta",
                                  .words = {"SET", key + ":meta", state.meta, "NX"},
                                  .effect = Effect::writes}));
    if (claimed.is_nil()) return there;
    PAL_CHECK(client->run_all(commands_for(state, place)));
    return {};
}

}  // namespace palimpsest

// What one process remembers about where conversations live and what their headers say, so that the
// common calls take one round trip. Nothing here is believed without the server: a script compares
// name, uid and revision and says when they are others.
#pragma once
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>

#include "palimpsest/store.h"
#include "store/redis_rows.h"

namespace palimpsest {

// A map that forgets: when it is full, what was not used since the last time goes.
template <class Value>
class RecentMap {
public:
    std::optional<Value> find(const std::string& key) {
        if (const auto found = young_.find(key); found != young_.end()) return found->second;
        const auto old = old_.find(key);
        if (old == old_.end()) return std::nullopt;
        Value value = std::move(old->second);
        old_.erase(old);
        keep(key, value);
        return value;
    }
    void keep(const std::string& key, Value value) {
        if (young_.size() >= most) {
            old_ = std::move(young_);
            young_.clear();
        }
        young_.insert_or_assign(key, std::move(value));
    }
    void forget(const std::string& key) {
        young_.erase(key);
        old_.erase(key);
    }

private:
    static constexpr std::size_t most = 8192;
    std::unordered_map<std::string, Value> young_, old_;
};

// What the listings hold for a conversation.
struct IndexedTimes {
    std::int64_t updated_minute = -1, accessed_minute = -1, expires_minute = -1;
    std::string owner = {};
    bool operator==(const IndexedTimes&) const = default;
};

struct KnownConversation {
    RedisPlace place = {};
    bool linked = false;
    bool shares = false;                        // has payloads that are stored once
    std::shared_ptr<const Header> header = {};  // as it was last seen; null: only the place
    std::optional<IndexedTimes> indexed = {};
};

class RedisPlaces {
public:
    std::optional<KnownConversation> find(const std::string& name_tag) {
        const std::lock_guard hold(mutex_);
        return conversations_.find(name_tag);
    }
    void keep(const std::string& name_tag, KnownConversation known) {
        const std::lock_guard hold(mutex_);
        tags_.keep(key_of(known.place.log), known.place.tag);
        conversations_.keep(name_tag, std::move(known));
    }
    void forget(const std::string& name_tag) {
        const std::lock_guard hold(mutex_);
        conversations_.forget(name_tag);
    }
    std::optional<std::string> tag_of_log(const LogId& log) {
        const std::lock_guard hold(mutex_);
        return tags_.find(key_of(log));
    }
    void keep(const LogId& log, const std::string& tag) {
        const std::lock_guard hold(mutex_);
        tags_.keep(key_of(log), tag);
    }
    void forget(const LogId& log) {
        const std::lock_guard hold(mutex_);
        tags_.forget(key_of(log));
    }

private:
    static std::string key_of(const LogId& log) {
        return {reinterpret_cast<const char*>(log.bytes.data()), log.bytes.size()};
    }
    std::mutex mutex_;
    RecentMap<KnownConversation> conversations_;
    RecentMap<std::string> tags_;
};

}  // namespace palimpsest

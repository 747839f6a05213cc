#include "store/redis_client.h"

#include <openssl/evp.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <thread>

namespace palimpsest {
namespace {

using namespace std::chrono_literals;

struct ReplyCode {
    std::string_view word;
    ErrorCode code;
    std::string_view advice = {};
};
constexpr ReplyCode reply_codes[] = {
    {"OOM", ErrorCode::no_space, "raise maxmemory of the server, or erase conversations"},
    {"MISCONF", ErrorCode::no_space, "the server cannot save to its disk: look into its log"},
    {"NOAUTH", ErrorCode::unauthorized, "give the password in the URL: redis://:PASSWORD@HOST"},
    {"WRONGPASS", ErrorCode::unauthorized, "give the right user and password in the URL"},
    {"NOPERM", ErrorCode::forbidden,
     "allow it for this user: ACL SETUSER NAME ~PREFIX:* and the command with a + in front"},
    {"CLUSTERDOWN", ErrorCode::unavailable, "nodes of the cluster are missing: CLUSTER INFO"},
    {"TRYAGAIN", ErrorCode::unavailable},
    {"LOADING", ErrorCode::unavailable, "the server reads its data: try again"},
    {"MASTERDOWN", ErrorCode::unavailable},
    {"READONLY", ErrorCode::unavailable,
     "this server is a replica: name its master in the setting `store`"},
    {"NOREPLICAS", ErrorCode::unavailable,
     "fewer replicas are connected than its min-replicas-to-write asks for; reads go on"},
    {"BUSY", ErrorCode::unavailable},
    {"WRONGTYPE", ErrorCode::internal,
     "somebody else's value is there under a name of ours: rename or delete that key, or keep the "
     "store apart with ?prefix=NAME in the setting `store`"},
    {"MOVED", ErrorCode::unavailable},
    {"ASK", ErrorCode::unavailable},
};

// The server did nothing and may do it later.
bool is_transient(const RedisReply& reply) {
    for (const char* word :
         {"TRYAGAIN", "CLUSTERDOWN", "LOADING", "MASTERDOWN", "READONLY", "BUSY"})
        if (reply.is_error(word)) return true;
    // A script met a key of a slot that is on its way to another node.
    return reply.is_error() && reply.text.find("non local key") != reply.text.npos;
}

std::string sha1_hex(std::string_view text) {
    std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
    unsigned size = 0;
    ::EVP_Digest(text.data(), text.size(), digest.data(), &size, ::EVP_sha1(), nullptr);
    std::string out;
    for (unsigned i = 0; i < size; ++i) {
        out += "0123456789abcdef"[digest[i] >> 4U];
        out += "0123456789abcdef"[digest[i] & 15U];
    }
    return out;
}

}  // namespace

RedisScript::RedisScript(std::string text_) : text(std::move(text_)), sha(sha1_hex(text)) {}

Error error_of_redis(const RedisReply& reply, const RedisCommand* asked) {
    std::string text = "Redis: " + reply.text;
    // A script says where it was, which tells nobody anything.
    if (reply.is_error("WRONGTYPE")) text.resize(std::min(text.find(" script: "), text.size()));
    while (text.ends_with('.')) text.pop_back();
    if (asked && reply.is_error("WRONGTYPE"))
        text += (asked->script ? " (a key of the same tag as " : " (") + asked->key + ")";
    for (const ReplyCode& row : reply_codes) {
        if (!reply.is_error(row.word)) continue;
        if (!row.advice.empty()) text += "; " + std::string(row.advice);
        return {row.code, std::move(text)};
    }
    return {ErrorCode::internal, std::move(text)};
}

// One command on its way to an answer.
struct RedisClient::Attempt {
    const RedisCommand& command;
    std::chrono::steady_clock::time_point until;
    std::optional<RedisNode> node = {};  // where a redirection said
    bool asking = false;                 // ... by ASK
    bool whole = false;                  // the script's text is sent
    std::chrono::milliseconds pause{5};
};

RedisClient::RedisClient(RedisOptions options, ReplicaWait wait)
    : options_(std::move(options)), wait_count_(wait.count) {}

Result<std::unique_ptr<RedisClient>> RedisClient::open(RedisOptions options, ReplicaWait wait) {
    std::unique_ptr<RedisClient> client(new RedisClient(std::move(options), wait));
    if (client->options_.cluster) PAL_CHECK(client->refresh());
    if (wait.asked()) PAL_CHECK(client->count_replicas(wait));
    return client;
}

// All that are there when the store is opened. One that fails later is still waited for: what it
// has not confirmed could be lost with the master. With fewer than are asked for no write could be
// acknowledged.
Result<void> RedisClient::count_replicas(ReplicaWait wait) {
    PAL_TRY(replies, ask_masters({"INFO", "replication"}));
    std::size_t fewest = SIZE_MAX;
    for (const RedisReply& reply : replies) {
        if (reply.is_error()) return std::unexpected(error_of_redis(reply));
        std::size_t count = 0;
        const std::size_t at = reply.text.find("connected_slaves:");
        if (at != reply.text.npos)
            std::from_chars(reply.text.data() + at + 17, reply.text.data() + reply.text.size(),
                            count);
        if (wait.all) wait_count_ = std::max(wait_count_, count);
        fewest = std::min(fewest, count);
    }
    if (wait.all && wait_count_ == 0)
        return fail(ErrorCode::invalid_request,
                    "redis: wait=all needs replicas and there are none; leave it out, or add some",
                    "store");
    if (wait.all || fewest >= wait_count_) return {};
    return fail(ErrorCode::invalid_request,
                "redis: wait=" + std::to_string(wait_count_) + " needs as many replicas, and " +
                    std::to_string(fewest) +
                    " are connected, so that no write could be confirmed; connect them, or ask "
                    "for fewer",
                "store");
}

RedisClient::Pool& RedisClient::pool_of(const RedisNode& node) {
    const std::lock_guard hold(mutex_);
    std::unique_ptr<Pool>& pool = pools_[node];
    if (!pool)
        pool = std::make_unique<Pool>(
            [this, node](std::chrono::milliseconds within) {
                return RedisConnection::open(options_, node, within);
            },
            Pool::Limits{.connections = options_.connections,
                         .wait = std::chrono::milliseconds(options_.timeout_ms)});
    return *pool;
}

RedisNode RedisClient::node_of(std::string_view key) const {
    if (!options_.cluster) return options_.nodes.front();
    const std::lock_guard hold(mutex_);
    return slots_.master_of(slot_of(key)).value_or(options_.nodes.front());
}

// Asks the nodes that are known, then those that were named at the start, until one answers.
Result<void> RedisClient::refresh() {
    std::vector<RedisNode> candidates;
    {
        const std::lock_guard hold(mutex_);
        candidates = slots_.masters();
        for (const auto& [node, pool] : pools_) candidates.push_back(node);
    }
    candidates.insert(candidates.end(), options_.nodes.begin(), options_.nodes.end());
    Error last{ErrorCode::unavailable, "no node of the cluster answers"};
    const Words ask{"CLUSTER", "SLOTS"};
    for (const RedisNode& node : candidates) {
        auto connection = pool_of(node).borrow();
        if (!connection) last = connection.error();
        if (!connection) continue;
        const auto replies = (*connection)->run(std::span(&ask, 1), Effect::reads);
        if (!replies) continue;
        if (replies->front().is_error()) last = error_of_redis(replies->front());
        if (replies->front().text.find("cluster support disabled") != std::string::npos)
            return fail(ErrorCode::invalid_request,
                        "Redis at " + node.text() +
                            " is no node of a cluster: leave cluster=1 out of the setting `store`",
                        "store");
        if (auto map = SlotMap::parse(replies->front(), node)) {
            const std::lock_guard hold(mutex_);
            slots_ = std::move(*map);
            return {};
        }
    }
    return std::unexpected(last);
}

RedisNode RedisClient::redirected(const RedisReply& reply, const RedisNode& asked) {
    const auto there = parse_redirection(reply.text, asked);
    if (!there) return asked;
    if (reply.is_error("MOVED")) {
        const std::lock_guard hold(mutex_);
        slots_.move(there->slot, there->node);
    }
    return there->node;
}

void RedisClient::add_words(const RedisCommand& command, bool whole,
                            std::vector<Words>& out) const {
    Words& words = out.emplace_back();
    if (command.script) {
        words = {whole ? "EVAL" : "EVALSHA", whole ? command.script->text : command.script->sha};
        words.insert(words.end(), command.words.begin(), command.words.end());
    } else {
        words = command.words;
    }
    if (command.effect == Effect::writes && wait_count_ > 0)
        out.push_back({"WAIT", std::to_string(wait_count_),
                       std::to_string(std::max(1, options_.timeout_ms / 2))});
}

Result<RedisReply> RedisClient::confirmed(RedisReply reply, const RedisReply& replicas) const {
    if (reply.is_error() || std::cmp_greater_equal(replicas.number, wait_count_)) return reply;
    return fail(ErrorCode::outcome_unknown,
                "only " + std::to_string(replicas.number) + " of " + std::to_string(wait_count_) +
                    " replicas have confirmed it in time: it may be kept, or be lost with its "
                    "server; repeat the call with the same key");
}

// Once to one node.
Result<RedisReply> RedisClient::attempt(Attempt& at) {
    const RedisNode node = at.node.value_or(node_of(at.command.key));
    PAL_TRY(connection, pool_of(node).borrow());
    std::vector<Words> words;
    if (at.asking) words.push_back({"ASKING"});
    const std::size_t mine = words.size();
    add_words(at.command, at.whole, words);
    PAL_TRY(replies, connection->run(words, at.command.effect));
    if (words.size() == mine + 1) return std::move(replies[mine]);
    return confirmed(std::move(replies[mine]), replies[mine + 1]);
}

// What an answer asks for before it is one: another node, the whole script, some time.
Result<RedisReply> RedisClient::follow(Attempt& at, RedisReply reply) {
    const RedisNode asked = at.node.value_or(node_of(at.command.key));
    at.asking = reply.is_error("ASK");
    at.node.reset();
    if (reply.is_error("NOSCRIPT")) {
        at.whole = true;
        return reply;
    }
    if (reply.is_error("MOVED") || reply.is_error("ASK")) {
        at.node = redirected(reply, asked);
        return reply;
    }
    std::this_thread::sleep_for(at.pause);
    at.pause = std::min(at.pause * 2, 200ms);
    if (options_.cluster) (void)refresh();
    return reply;
}

Result<RedisReply> RedisClient::run(const RedisCommand& command) {
    using Clock = std::chrono::steady_clock;
    const Clock::time_point start = Clock::now();
    Attempt at{command, start + std::chrono::milliseconds(options_.timeout_ms)};
    // A node of a cluster that is gone has a successor soon; a single server has none.
    const Clock::time_point gone = options_.cluster ? at.until : std::min(at.until, start + 500ms);
    for (;;) {
        auto reply = attempt(at);
        const bool in_time = Clock::now() < at.until;
        if (!reply) {
            // Nothing was sent, or nothing that writes.
            const bool again = reply.error().code == ErrorCode::unavailable && Clock::now() < gone;
            if (!again) return reply;
            (void)follow(at, {});
            continue;
        }
        if (!reply->is_error()) return reply;
        const bool whole = reply->is_error("NOSCRIPT") && !at.whole;
        const bool later =
            reply->is_error("MOVED") || reply->is_error("ASK") || is_transient(*reply);
        if (!whole && !(later && in_time)) return std::unexpected(error_of_redis(*reply, &command));
        (void)follow(at, std::move(*reply));
    }
}

Result<void> RedisClient::run_group(const RedisNode& node,
                                    const std::vector<RedisCommand>& commands,
                                    const std::vector<std::size_t>& which,
                                    std::vector<std::optional<RedisReply>>& replies) {
    std::vector<Words> words;
    Effect effect = Effect::reads;
    for (const std::size_t i : which) {
        add_words({.words = commands[i].words, .script = commands[i].script}, false, words);
        if (commands[i].effect == Effect::writes) effect = Effect::writes;
    }
    PAL_TRY(connection, pool_of(node).borrow());
    PAL_TRY(got, connection->run(words, effect));
    for (std::size_t i = 0; i < which.size(); ++i)
        if (!got[i].is_error()) replies[which[i]] = std::move(got[i]);
    return {};
}

Result<std::vector<RedisReply>> RedisClient::run_all(const std::vector<RedisCommand>& commands) {
    std::map<RedisNode, std::vector<std::size_t>> groups;
    for (std::size_t i = 0; i < commands.size(); ++i) groups[node_of(commands[i].key)].push_back(i);
    std::vector<std::optional<RedisReply>> replies(commands.size());
    for (const auto& [node, which] : groups) {
        const Result<void> done = run_group(node, commands, which, replies);
        if (!done && done.error().code != ErrorCode::unavailable)
            return std::unexpected(done.error());
    }
    // What was redirected, refused or not sent goes alone.
    std::vector<RedisReply> all;
    for (std::size_t i = 0; i < commands.size(); ++i) {
        if (!replies[i]) {
            PAL_TRY(reply, run(commands[i]));
            replies[i] = std::move(reply);
        }
        all.push_back(std::move(*replies[i]));
    }
    return all;
}

std::vector<RedisNode> RedisClient::masters() const {
    if (!options_.cluster) return {options_.nodes.front()};
    const std::lock_guard hold(mutex_);
    return slots_.masters();
}

Result<std::vector<RedisReply>> RedisClient::ask_masters(const std::vector<std::string>& words) {
    std::vector<RedisReply> replies;
    for (const RedisNode& node : masters()) {
        PAL_TRY(connection, pool_of(node).borrow());
        PAL_TRY(got, connection->run(std::span(&words, 1), Effect::reads));
        replies.push_back(std::move(got.front()));
    }
    return replies;
}

Result<void> RedisClient::each_key(const std::string& pattern,
                                   const std::function<void(const std::string&)>& visit) {
    if (options_.cluster) PAL_CHECK(refresh());
    for (const RedisNode& node : masters()) {
        std::string cursor = "0";
        do {
            const Words words{"SCAN", cursor, "MATCH", pattern, "COUNT", "1000"};
            PAL_TRY(connection, pool_of(node).borrow());
            PAL_TRY(got, connection->run(std::span(&words, 1), Effect::reads));
            const RedisReply& page = got.front();
            if (page.is_error()) return std::unexpected(error_of_redis(page));
            if (page.items.size() != 2)
                return fail(ErrorCode::unavailable, "the server does not answer SCAN as Redis");
            cursor = page.at(0);
            for (const RedisReply& found : page.items[1].items) visit(found.text);
        } while (cursor != "0");
    }
    return {};
}

}  // namespace palimpsest

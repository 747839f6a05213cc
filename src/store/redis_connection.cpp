#include "store/redis_connection.h"

namespace palimpsest {
namespace {

std::string_view reason_of(StreamState state) {
    if (state == StreamState::timed_out) return "timed out";
    if (state == StreamState::ended) return "it was closed";
    return "it broke";
}

}  // namespace

RedisConnection::RedisConnection(Stream stream, const RedisOptions& options, RedisNode node)
    : stream_(std::move(stream)), node_(std::move(node)), timeout_ms_(options.timeout_ms) {}

Result<std::unique_ptr<RedisConnection>> RedisConnection::open(const RedisOptions& options,
                                                               const RedisNode& node,
                                                               std::chrono::milliseconds within) {
    const std::int64_t most = std::min<std::int64_t>(options.connect_timeout_ms, within.count());
    const Patience patience(static_cast<int>(std::max<std::int64_t>(most, 1)), {});
    const Url url{.tls = options.tls, .host = node.host, .port = node.port, .path = ""};
    auto stream = Stream::connect(url, options.ca_file, std::nullopt, patience);
    if (!stream) {
        const bool nobody = stream.error().message.find("refused") != std::string::npos;
        const bool doubted = stream.error().message.find("certificate") != std::string::npos;
        if (nobody)
            stream.error().message +=
                "; is Redis running there? The setting `store` names its place";
        else if (options.tls && !doubted)
            stream.error().message +=
                "; if Redis speaks without TLS there, the setting `store` begins with redis:";
        return std::unexpected(std::move(stream).error());
    }
    std::unique_ptr<RedisConnection> made(new RedisConnection(std::move(*stream), options, node));
    PAL_CHECK(made->greet(options));
    return made;
}

Result<void> RedisConnection::greet(const RedisOptions& options) {
    std::vector<std::vector<std::string>> commands;
    if (!options.password.empty() && options.user.empty())
        commands.push_back({"AUTH", options.password});
    if (!options.password.empty() && !options.user.empty())
        commands.push_back({"AUTH", options.user, options.password});
    if (options.database != 0) commands.push_back({"SELECT", std::to_string(options.database)});
    commands.push_back({"PING"});
    auto got = run(commands, Effect::reads);
    if (!got && !options.tls && got.error().message.find("timed out") == std::string::npos)
        got.error().message +=
            "; if Redis speaks TLS there, the setting `store` begins with rediss:";
    PAL_TRY(replies, std::move(got));
    for (const RedisReply& reply : replies) {
        if (!reply.is_error()) continue;
        if (reply.text.find("DB index") != std::string::npos)
            return fail(ErrorCode::invalid_request,
                        "Redis at " + node_.text() + " has no database " +
                            std::to_string(options.database) +
                            ": name another behind the slash in the setting `store`; CONFIG GET "
                            "databases tells how many it has, counted from 0",
                        "store");
        const bool refused =
            reply.is_error("WRONGPASS") || reply.is_error("NOAUTH") || reply.is_error("NOPERM");
        return fail(refused ? ErrorCode::unauthorized : ErrorCode::unavailable,
                    "Redis at " + node_.text() + " refuses us: " + reply.text +
                        (refused ? "; give user and password in the setting `store`: "
                                   "redis://USER:PASSWORD@HOST"
                                 : ""));
    }
    return {};
}

std::unexpected<Error> RedisConnection::lost(Effect effect, std::string_view why) {
    broken_ = true;
    const std::string what = "the connection to Redis at " + node_.text() + " was lost";
    if (effect == Effect::reads)
        return fail(ErrorCode::unavailable, what + ": " + std::string(why));
    return fail(ErrorCode::outcome_unknown,
                what + " before its answer came (" + std::string(why) +
                    "): repeat the call with the same key to find out what became of it");
}

// Sends some commands and waits for as many replies. Few bytes, or one command: what the server
// answers early would otherwise stand in the way of what it has not read.
Result<void> RedisConnection::exchange(std::string_view bytes, std::size_t until, Effect effect,
                                       std::vector<RedisReply>& replies) {
    const Patience patience(timeout_ms_, {});
    const StreamState written = stream_.write_all(bytes, patience);
    if (written == StreamState::answered) return lost(effect, "it answered before it had read all");
    if (written != StreamState::done) return lost(effect, reason_of(written));
    while (replies.size() < until) {
        const StreamState state = stream_.read_some(reader_.buffer(), patience);
        if (state != StreamState::done) return lost(effect, reason_of(state));
        while (auto reply = reader_.next()) replies.push_back(std::move(*reply));
        if (reader_.failed()) return lost(effect, "the answer is not Redis's");
    }
    if (replies.size() > until || !reader_.empty())
        return lost(effect, "there are more answers than questions");
    return {};
}

Result<std::vector<RedisReply>> RedisConnection::run(
    std::span<const std::vector<std::string>> commands, Effect effect) {
    constexpr std::size_t group_bytes = 32 * 1024;
    std::vector<RedisReply> replies;
    std::string bytes;
    for (std::size_t i = 0; i < commands.size(); ++i) {
        write_redis_command(bytes, commands[i]);
        if (bytes.size() < group_bytes && i + 1 < commands.size()) continue;
        PAL_CHECK(exchange(bytes, i + 1, effect, replies));
        bytes.clear();
    }
    return replies;
}

}  // namespace palimpsest

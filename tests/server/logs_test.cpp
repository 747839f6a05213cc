// Logs and metrics hold no word of what was said, no key and no answer, whatever is asked.
#include <mutex>

#include "server/access.h"
#include "server/gateway.h"
#include "server/route.h"

namespace palimpsest {
namespace {

const std::string canary = "CANARY7431";

// All that a server and its memory write.
class Lines {
public:
    std::function<void(std::string_view)> sink() {
        return [this](std::string_view line) {
            const std::lock_guard lock(mutex_);
            all_ += line;
            ++count_;
        };
    }
    std::string all() {
        const std::lock_guard lock(mutex_);
        return all_;
    }
    std::size_t count() {
        const std::lock_guard lock(mutex_);
        return count_;
    }

private:
    std::mutex mutex_;
    std::string all_;
    std::size_t count_ = 0;
};

// A server whose upstream says the canary, too, and then fails with it.
struct Watched {
    Watched() : upstream(script()), memory(Memory::open("memory:", memory_options()).value()) {
        Models models;
        models.add(model_of("m", FormatId::openai_chat, upstream));
        ServerOptions options;
        options.terms.log = lines.sink();
        server = Server::start(memory, std::move(models), std::move(options)).value();
        key = create_key(memory.store(), {.name = canary, .tenant = "default", .scopes = 4})->text;
    }
    static std::vector<UpstreamReply> script() {
        std::vector<UpstreamReply> replies(4, says(FormatId::openai_chat, canary));
        for (int i = 0; i < 60; ++i)
            replies.push_back(
                {.status = 400, .body = R"({"error":{"message":")" + canary + "\"}}"});
        return replies;
    }
    MemoryOptions memory_options() {
        MemoryOptions options;
        options.log = lines.sink();
        return options;
    }
    Told ask(std::string_view method, std::string target, std::string body) const {
        HttpClient client(parse_url("http://127.0.0.1:" + std::to_string(server->port())).value());
        return Running::ask(client, std::string(method), std::move(target), std::move(body),
                            {{"Authorization", "Bearer " + key}, {"X-Secret", canary}});
    }

    Lines lines;
    Upstream upstream;
    Memory memory;
    std::unique_ptr<Server> server;
    std::string key;
};

std::string target_of(const Route& route) {
    std::string target;
    bool name = false;
    for (const char c : route.pattern) {
        if (c == '{') target += "c";
        name = c == '{' || (name && c != '}');
        if (!name && c != '}') target += c;
    }
    return target;
}

TEST(logs, hold_nothing_of_what_was_said_whatever_route_is_asked) {
    Watched watched;
    const std::string said = R"({"role":"user","content":")" + canary + "\"}";
    const std::string bodies[] = {
        R"({"message":")" + canary + "\"}",
        R"({"messages":[)" + said + R"(],"max_tokens":9})",
        R"({"messages":[)" + said + R"(],"conversation":"c","model":"m"})",
        R"({"input":")" + canary + R"(","model":"m"})",
        R"({"system_prompt":")" + canary + "\"}",
        R"({"title":")" + canary + R"(","metadata":{"k":")" + canary + "\"}}",
        R"({")" + canary + R"(":1})",
        "{" + canary,
    };
    std::size_t asked = 0;
    for (const Route& route : routes()) {
        const std::string target = target_of(route) + "?q=" + canary;
        if (route.request.empty()) {
            watched.ask(route.method, target_of(route), "");
            watched.ask(route.method, target, "");
            asked += 2;
            continue;
        }
        for (const std::string& body : bodies) watched.ask(route.method, target_of(route), body);
        asked += std::size(bodies);
    }
    watched.ask("GET", "/api/v1/search?q=" + canary, "");
    watched.ask("POST", "/api/v1/chat", R"({"stream":true,"message":")" + canary + "\"}");
    EXPECT_GE(watched.lines.count(), asked);
    EXPECT_EQ(watched.lines.all().find(canary), std::string::npos) << watched.lines.all();
    EXPECT_EQ(watched.lines.all().find(watched.key.substr(17)), std::string::npos);
    EXPECT_FALSE(watched.upstream.requests().empty());
    const std::string metrics = watched.ask("GET", "/metrics", "").response.body;
    EXPECT_NE(metrics.find("memory_requests_total"), std::string::npos);
    EXPECT_EQ(metrics.find(canary), std::string::npos);
}

TEST(logs, count_the_bytes_of_a_stream) {
    Lines lines;
    ServerOptions options;
    options.terms.log = lines.sink();
    const UpstreamReply events = tells(FormatId::openai_chat, "one two");
    Gateway gateway(FormatId::openai_chat, {events, events}, options);
    const std::string streams[] = {
        gateway.post("/v1/responses", R"({"model":"m","input":"a","stream":true})").response.body,
        gateway.post("/api/v1/chat", R"({"message":"a","stream":true})").response.body};
    gateway.server->stop(std::chrono::seconds(5));  // the line of a stream comes behind its end
    for (const std::string& body : streams) {
        EXPECT_FALSE(body.empty());
        const std::string counted = "\"bytes_out\":" + std::to_string(body.size()) + "}";
        EXPECT_TRUE(lines.all().contains(counted)) << counted << lines.all();
    }
}

TEST(logs, say_that_a_model_broke_off_though_the_status_cannot) {
    UpstreamReply cut = tells(FormatId::openai_chat, "one two three");
    cut.cut_at = cut.body.find("three");
    Lines lines;
    ServerOptions options;
    options.terms.log = lines.sink();
    Gateway gateway(FormatId::openai_chat, {cut, cut, tells(FormatId::openai_chat, "one")},
                    options);
    const std::string said = R"({"role":"user","content":"a"})";
    for (const HeaderFields& headers : {HeaderFields(), in_alice, in_alice})
        EXPECT_EQ(gateway.chat(said, headers, R"("stream":true)").status(), 200);
    const std::string metrics = gateway.get("/metrics").response.body;
    EXPECT_TRUE(metrics.contains("memory_answers_cut_total{reason=\"upstream_failed\"} 2\n"))
        << metrics;
    const std::string all = lines.all(), told = R"("status":200,"error":"upstream_failed")";
    EXPECT_NE(all.find(told), all.rfind(told)) << all;
}

}  // namespace
}  // namespace palimpsest

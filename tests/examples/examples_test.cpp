// Every example, run as a program against the scripted server.
#include <gtest/gtest.h>

#include <cstdio>
#include <filesystem>

#include "base/json_write.h"
#include "support/upstream.h"

namespace palimpsest {
namespace {

std::string reply_of(std::string_view message) {
    return R"({"id":"c","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,)"
           R"("message":)" +
           std::string(message) +
           R"(,"finish_reason":"stop"}],"usage":{"prompt_tokens":9,"completion_tokens":3}})";
}
UpstreamReply says(std::string_view text) {
    return {.body = reply_of(R"({"role":"assistant","content":)" + json_string(text) + "}")};
}

struct Ran {
    int status = -1;
    std::string output = {};
};
// The program stands beside this one.
Ran run_example(const std::string& name, const Upstream* upstream) {
    const auto folder = std::filesystem::read_symlink("/proc/self/exe").parent_path();
    std::string command = upstream ? "PAL_EXAMPLE_URL=" + upstream->url() + " " : "";
    command = "env -u OPENAI_API_KEY -u ANTHROPIC_API_KEY " + command +
              (folder / ("example_" + name)).string() + " 2>&1";
    Ran ran;
    FILE* const pipe = ::popen(command.c_str(), "r");
    if (!pipe) return ran;
    char buffer[4096];
    for (std::size_t n = 0; (n = std::fread(buffer, 1, sizeof buffer, pipe)) > 0;)
        ran.output.append(buffer, n);
    ran.status = ::pclose(pipe);
    return ran;
}

void expect_output(const std::string& name, std::vector<UpstreamReply> script,
                   std::string_view part) {
    const Upstream upstream(std::move(script));
    const Ran ran = run_example(name, &upstream);
    EXPECT_EQ(ran.status, 0) << ran.output;
    EXPECT_NE(ran.output.find(part), std::string::npos) << ran.output;
}

TEST(examples, six_lines) {
    EXPECT_EQ(run_example("six_lines", nullptr).output,
              "{\"role\":\"user\",\"content\":\"Hello\"}\n");
}

TEST(examples, hello_with_state) {
    expect_output("hello_with_state", {says("Hello Ada!"), says("You are Ada.")},
                  "> What is my name?\nYou are Ada.\nstate: ");
}

TEST(examples, compaction) {
    std::vector<UpstreamReply> script;
    for (int i = 0; i < 8; ++i) script.push_back(says("yes"));
    expect_output("compaction", std::move(script), "in the log: 16 messages");
}

TEST(examples, tools) {
    expect_output(
        "tools",
        {{.body = reply_of(
              R"({"role":"assistant","content":null,"tool_calls":[{"id":"a","type":"function",)"
              R"("function":{"name":"weather","arguments":"{\"city\":\"Lima\"}"}}]})")},
         says("It rains in Lima.")},
        "It rains in Lima.\n2 rounds");
}

TEST(examples, structured_output) {
    expect_output("structured_output", {says("Lima"), says(R"({"city":"Lima"})")},
                  "{\"city\":\"Lima\"}\n2 attempts");
}

TEST(examples, streaming) {
    expect_output("streaming",
                  {event_stream_reply(
                      "data: {\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\","
                      "\"content\":\"Once \"}}]}\n\n"
                      "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"upon\"}}]}\n\n"
                      "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}"
                      "\n\ndata: [DONE]\n\n")},
                  "Once upon\n");
}

TEST(examples, resume_after_a_crash) {
    expect_output("resume_after_a_crash", {says("Still here.")}, "Still here.\n2 messages");
}

TEST(examples, fork_and_compare) {
    expect_output("fork_and_compare", {says("Hello."), says("Bye!"), says("Farewell.")},
                  "+ {\"role\":\"user\",\"content\":\"Say goodbye, formally.\"}");
}

TEST(examples, custom_pass) {
    const Upstream upstream({says("a"), says("b"), says("c"), says("42")});
    const Ran ran = run_example("custom_pass", &upstream);
    EXPECT_EQ(ran.status, 0) << ran.output;
    EXPECT_NE(ran.output.find("my number is 42"), std::string::npos) << ran.output;
    EXPECT_EQ(ran.output.find("nice weather"), std::string::npos) << ran.output;
}

TEST(examples, all_run_offline_too) {
    for (const char* name :
         {"hello_with_state", "compaction", "tools", "structured_output", "streaming",
          "resume_after_a_crash", "fork_and_compare", "custom_pass"}) {
        const Ran ran = run_example(name, nullptr);
        EXPECT_EQ(ran.status, 0) << name << ": " << ran.output;
    }
}

}  // namespace
}  // namespace palimpsest

// Conversations of other programs, in and out: what comes in goes back, and what has no place is
// named.
#include "engine/foreign.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/json.h"

namespace palimpsest {
namespace {

struct Trip {
    ForeignConversation in = {};
    ForeignText out = {};
};

ForeignSource source_of(const ForeignConversation& read) {
    ForeignSource source;
    source.header.name.id = read.id;
    source.header.owner = read.owner;
    source.header.title = read.title;
    source.header.system_prompt = read.system_prompt;
    source.header.metadata = read.metadata;
    for (const ForeignMessage& message : read.messages) {
        auto one = read_message(read.format, make_bytes(message.json));
        EXPECT_TRUE(one) << one.error().message << ": " << message.json;
        if (one) source.messages.push_back(std::move(*one));
        source.times.push_back(message.at.value_or(Time{}));
        source.pinned.push_back(message.pinned);
    }
    return source;
}

Trip trip(std::string_view as, std::string_view text) {
    Trip done;
    auto read = read_foreign("", text);
    EXPECT_TRUE(read) << read.error().message;
    if (!read) return done;
    done.in = std::move(*read);
    auto written = write_foreign(as, source_of(done.in));
    EXPECT_TRUE(written) << written.error().message;
    if (written) done.out = std::move(*written);
    return done;
}

std::string all_lines(const std::vector<std::string>& lines) {
    std::string all;
    for (const std::string& line : lines) all += line + "\n";
    return all;
}

bool has(std::string_view text, std::string_view part) {
    return text.find(part) != text.npos;
}

// ---- list content ---------------------------------------------------------------------------

constexpr std::string_view parted_chat = R"([
    {"role":"user","content":[{"type":"text","text":"One."},{"type":"text","text":"Two."},
        {"type":"image_url","image_url":{"url":"data:image/png;base64,AAAA","detail":"low"}}]},
    {"role":"assistant","content":[{"type":"text","text":"Three."}],"tool_calls":[
        {"id":"c1","type":"function","function":{"name":"look","arguments":"{}"}}]},
    {"role":"tool","tool_call_id":"c1","content":[{"type":"text","text":"Four."},
        {"type":"text","text":"Five."}]}])";

TEST(foreign, koog_gets_the_text_of_content_that_is_a_list) {
    const Trip done = trip("koog", parted_chat);
    EXPECT_TRUE(has(done.out.text, R"("content":"One.\nTwo.")")) << done.out.text;
    EXPECT_TRUE(has(done.out.text, R"("content":"Three.")"));
    EXPECT_TRUE(has(done.out.text, R"("content":"Four.\nFive.")"));
    EXPECT_TRUE(has(done.out.text, R"("attachments":[{"type":"image","content":{"type":"base64",)"
                                   R"("base64":"AAAA"},"format":"png","mimeType":"image/png"}])"));
    EXPECT_TRUE(has(done.out.text, R"("id":"c1","tool":"look")"));
    EXPECT_EQ(all_lines(done.out.lost), "");
}

TEST(foreign, promptkit_gets_parts_of_content_that_is_a_list) {
    const Trip done = trip("promptkit", parted_chat);
    EXPECT_TRUE(has(done.out.text, R"("content":"One.Two.","parts":[{"type":"text","text":"One."},)"
                                   R"({"type":"text","text":"Two."},{"type":"image","media":{)"
                                   R"("data":"AAAA","mime_type":"image/png","detail":"low"}}])"))
        << done.out.text;
    EXPECT_TRUE(has(done.out.text, R"("tool_result":{"id":"c1","name":"look","parts":[)"
                                   R"({"type":"text","text":"Four."},{"type":"text",)"));
    EXPECT_EQ(all_lines(done.out.lost), "");
    const auto again = read_foreign("promptkit", done.out.text);
    ASSERT_TRUE(again);
    ASSERT_EQ(again->messages.size(), 3u);
    EXPECT_TRUE(has(again->messages[0].json, R"("url":"data:image/png;base64,AAAA")"));
}

TEST(foreign, anthropic_blocks_reach_koog) {
    const Trip done = trip("koog", R"([{"role":"user","content":[{"type":"text","text":"A"},
        {"type":"text","text":"B"},{"type":"image","source":{"type":"base64",
        "media_type":"image/png","data":"AAAA"}}]}])");
    EXPECT_TRUE(has(done.out.text, R"("content":"A\nB","attachments":[)")) << done.out.text;
}

// ---- the system prompt ----------------------------------------------------------------------

ForeignText with_prompt(std::string_view kind) {
    ForeignSource source;
    source.header.system_prompt = "Be brief.";
    source.messages.push_back(*make_message(FormatId::openai_chat, Role::user, "Hello"));
    auto written = write_foreign(kind, source);
    EXPECT_TRUE(written);
    return written.value_or(ForeignText{});
}

TEST(foreign, the_system_prompt_is_in_every_export_or_in_its_report) {
    for (const ForeignKind& kind : foreign_kinds()) {
        const ForeignText done = with_prompt(kind.name);
        EXPECT_TRUE(has(done.text, "Be brief.") || has(all_lines(done.lost), "the system prompt"))
            << kind.name;
    }
    EXPECT_TRUE(has(with_prompt("anthropic").text, R"({"system":"Be brief.","messages":[)"));
    EXPECT_TRUE(has(with_prompt("openai_responses").text, R"({"instructions":"Be brief.",)"));
    EXPECT_TRUE(has(with_prompt("openai_chat").text, R"([{"role":"system","content":"Be brief.")"));
    EXPECT_TRUE(has(with_prompt("codex").text, R"("instructions":"Be brief.")"));
    EXPECT_TRUE(has(with_prompt("koog").text, R"({"type":"System","content":"Be brief.")"));
}

TEST(foreign, a_system_message_goes_to_the_field_of_anthropic) {
    const Trip done = trip("anthropic", R"([{"role":"system","content":"Be brief."},
        {"role":"user","content":"Hello"}])");
    EXPECT_TRUE(has(done.out.text, R"({"system":"Be brief.","messages":[{"role":"user")"))
        << done.out.text;
}

TEST(foreign, what_no_kind_carries_is_named) {
    ForeignSource source;
    source.header.owner = "ann";
    source.header.title = "Birds";
    source.header.metadata = R"({"k":1})";
    source.pinned = {true};
    source.edited = true;
    source.messages.push_back(*make_message(FormatId::openai_chat, Role::user, "Hello"));
    const auto done = write_foreign("openai_chat", source);
    ASSERT_TRUE(done);
    for (const std::string_view what : {"the owner", "the title", "metadata: k", "pins", "edits"})
        EXPECT_TRUE(has(all_lines(done->lost), what)) << what;
}

// ---- there and back -------------------------------------------------------------------------

TEST(foreign, bodies_of_requests_keep_their_prompt) {
    const std::string_view bodies[][2] = {
        {"anthropic", R"({"system":"S","messages":[{"role":"user","content":"Hello"}]})"},
        {"openai_responses", R"({"instructions":"S","input":[{"role":"user","content":"Hello"}]})"},
    };
    for (const auto& [kind, body] : bodies) {
        const Trip done = trip(kind, body);
        EXPECT_EQ(done.in.system_prompt, "S") << kind;
        EXPECT_EQ(done.out.text, body);
        EXPECT_EQ(all_lines(done.in.lost), "");
    }
    const auto blocks = read_foreign("", R"({"model":"m","max_tokens":9,
        "system":[{"type":"text","text":"S","cache_control":{"type":"ephemeral"}}],
        "messages":[{"role":"user","content":"Hello"}]})");
    ASSERT_TRUE(blocks);
    EXPECT_EQ(blocks->format, FormatId::anthropic);
    EXPECT_EQ(blocks->system_prompt, "S");
    for (const std::string_view what : {"model", "max_tokens", "cache_control"})
        EXPECT_TRUE(has(all_lines(blocks->lost), what)) << what;
}

TEST(foreign, a_page_of_items_is_read_and_an_unfinished_one_told) {
    const auto page = read_foreign("", R"({"object":"list","has_more":true,"first_id":"a","data":[
        {"type":"message","role":"user","content":[{"type":"input_text","text":"Hi"}]},
        {"type":"function_call","call_id":"c","name":"f","arguments":"{}"}]})");
    ASSERT_TRUE(page) << page.error().message;
    EXPECT_EQ(page->format, FormatId::openai_responses);
    EXPECT_EQ(page->messages.size(), 2u);
    EXPECT_TRUE(has(all_lines(page->lost), "has_more"));
}

TEST(foreign, a_blob_of_goaitools_keeps_provider_and_processed_length) {
    const std::string_view blobs[] = {
        R"({"version":1,"provider":"openai","processed_length":1,"messages":[)"
        R"({"role":"user","content":"a"},{"role":"assistant","content":"b"}]})",
        R"({"version":1,"provider":"anthropic","processed_length":1,"messages":[)"
        R"({"role":"user","content":[{"type":"text","text":"a"}]}]})"};
    for (const std::string_view blob : blobs) {
        const Trip done = trip("goaitools", blob);
        EXPECT_EQ(done.out.text, blob);
        EXPECT_EQ(all_lines(done.out.lost), "");
    }
    ForeignSource grown = source_of(trip("goaitools", blobs[0]).in);
    grown.messages.push_back(*make_message(FormatId::openai_chat, Role::assistant, "c"));
    EXPECT_TRUE(has(write_foreign("goaitools", grown)->text, R"("processed_length":3)"));
}

TEST(foreign, a_snapshot_of_ailoop_gets_the_pins_it_came_with) {
    const std::string_view snapshot =
        R"({"version":1,"messages":[{"User":{"blocks":[{"Text":{"text":"hi"}}]}},)"
        R"({"Assistant":{"blocks":[{"ToolCall":{"call_id":"c1","name":"f","args":{}}}]}},)"
        R"({"User":{"blocks":[{"ToolResult":{"call_id":"c1","content":{"blocks":[]}}}]}}],)"
        R"("pinned":[false,true,false]})";
    const Trip done = trip("ailoop", snapshot);
    EXPECT_EQ(done.out.text, snapshot);
    ForeignSource widened = source_of(done.in);
    widened.pinned = {false, true, true};  // A pin holds the whole group.
    EXPECT_EQ(write_foreign("ailoop", widened)->text, snapshot);
    const Trip unpinned = trip("ailoop", parted_chat);
    EXPECT_FALSE(has(all_lines(unpinned.out.lost), "pins"));
}

TEST(foreign, a_checkpoint_of_koog_comes_back_whole) {
    const std::string_view checkpoint =
        R"({"checkpointId":"k","createdAt":"2025-01-02T03:04:05.000Z","nodePath":"a/b",)"
        R"("messageHistory":[)"
        R"({"type":"User","content":"Hi","metaInfo":{"timestamp":"2025-01-02T03:04:05.000Z"}},)"
        R"({"type":"Reasoning","content":"hm","metaInfo":{"timestamp":"2025-01-02T03:04:05.000Z"}},)"
        R"({"type":"ToolCall","content":"{}","metaInfo":{"timestamp":"2025-01-02T03:04:05.000Z"},)"
        R"("id":null,"tool":"look"},)"
        R"({"type":"ToolCall","content":"{}","metaInfo":{"timestamp":"2025-01-02T03:04:05.000Z"},)"
        R"("id":"c2","tool":"hear"},)"
        R"({"type":"ToolResult","content":"x","metaInfo":{"timestamp":"2025-01-02T03:04:05.000Z"},)"
        R"("id":"c2","tool":"hear"},)"
        R"({"type":"ToolResult","content":"y","metaInfo":{"timestamp":"2025-01-02T03:04:05.000Z"},)"
        R"("id":null,"tool":"look"}],)"
        R"("version":3,"lastOutput":"out","properties":{"p":1},"storage":{"s":2}})";
    const Trip done = trip("koog", checkpoint);
    EXPECT_EQ(done.out.text, checkpoint);
    EXPECT_EQ(all_lines(done.in.lost) + all_lines(done.out.lost), "");
    EXPECT_EQ(done.in.messages.size(), 4u);  // Both calls are of one answer.
}

TEST(foreign, a_tombstone_of_koog_comes_back_as_one) {
    const std::string_view tombstone =
        R"({"checkpointId":"k","createdAt":"2025-01-02T03:04:05Z","nodePath":"a","messageHistory":)"
        R"([],"version":4,"properties":{"tombstone":true}})";
    EXPECT_EQ(trip("koog", tombstone).out.text, tombstone);
}

TEST(foreign, koog_with_qualified_types_and_parts_gets_them_back) {
    const std::string_view checkpoint =
        R"({"checkpointId":"k","createdAt":"2025-01-02T03:04:05.000Z","nodePath":"",)"
        R"("messageHistory":[{"type":"ai.koog.prompt.message.Message.User","parts":[)"
        R"({"type":"text","text":"Hi"},{"type":"ai.koog.prompt.message.ContentPart.Image",)"
        R"("content":{"type":"ai.koog.prompt.message.AttachmentContent.URL",)"
        R"("url":"http://e/x.png"},"format":"png","mimeType":"image/png"}],)"
        R"("metaInfo":{"timestamp":"2025-01-02T03:04:05.000Z"}}],"version":0})";
    const Trip done = trip("koog", checkpoint);
    EXPECT_TRUE(has(done.in.messages.at(0).json, R"("image_url":{"url":"http://e/x.png"})"));
    EXPECT_TRUE(has(done.out.text, R"("type":"ai.koog.prompt.message.ContentPart.Image")"))
        << done.out.text;
    EXPECT_TRUE(has(done.out.text, R"("parts":[{"type":"text","text":"Hi"})"));
}

TEST(foreign, koog_names_what_a_message_leaves) {
    const auto read = read_foreign("", R"({"checkpointId":"k","messageHistory":[
        {"type":"Assistant","content":"x","finishReason":"stop","attachments":[{"type":"image",
         "content":{"type":"url","url":"http://e/x.png"},"format":"png"}],
         "metaInfo":{"timestamp":"2025-01-02T03:04:05Z","totalTokensCount":7}}]})");
    ASSERT_TRUE(read);
    for (const std::string_view what : {"finishReason", "image", "totalTokensCount"})
        EXPECT_TRUE(has(all_lines(read->lost), what)) << what;
}

TEST(foreign, promptkit_keeps_media_and_reasoning_and_names_the_rest) {
    const Trip done = trip("promptkit", R"({"ID":"z","UserID":"u","SystemPrompt":"S","Messages":[
        {"role":"user","content":"hello","parts":[{"type":"text","text":"hello"},
         {"type":"image","media":{"mime_type":"image/png","data":"AAAA","width":3}}]},
        {"role":"assistant","content":"x","reasoning":{"text":"r"},"finish_reason":"stop",
         "latency_ms":5,"cost_info":{"total_cost_usd":0.1}}],
        "Metadata":{"k":[1,2]},"Summaries":[{"Content":"s"}]})");
    EXPECT_TRUE(has(done.out.text, R"("data":"AAAA","mime_type":"image/png")")) << done.out.text;
    EXPECT_TRUE(has(done.out.text, R"("reasoning":{"text":"r"})"));
    EXPECT_TRUE(has(done.out.text, R"("UserID":"u")"));
    EXPECT_TRUE(has(done.out.text, R"("metadata":{"k":[1,2]})"));
    for (const std::string_view what :
         {"finish_reason", "latency_ms", "cost_info", "width", "summary"})
        EXPECT_TRUE(has(all_lines(done.in.lost), what)) << what;
    EXPECT_EQ(all_lines(done.out.lost), "");
}

TEST(foreign, parts_of_promptkit_are_the_keys_of_its_redis) {
    const Trip done = trip("promptkit_parts", R"({"meta":{"id":"z","user_id":"u"},"messages":[
        {"role":"user","content":"hello"}],"metadata":{"user.k":"\"v\""},"lists":{"notes":[1]}})");
    EXPECT_TRUE(has(done.out.text, R"({"meta":{"id":"z","user_id":"u",)")) << done.out.text;
    EXPECT_TRUE(has(done.out.text, R"("metadata":{"user.k":"\"v\""})"));
    EXPECT_TRUE(has(all_lines(done.in.lost), "the list notes of 1 items"));
}

// ---- sessions of coding agents --------------------------------------------------------------

std::string line(std::string_view type, std::string_view uuid, std::string_view parent,
                 std::string_view message, std::string_view more = "") {
    return R"({"type":")" + std::string(type) + R"(","uuid":")" + std::string(uuid) +
           R"(","parentUuid":)" + (parent.empty() ? "null" : "\"" + std::string(parent) + "\"") +
           R"(,"sessionId":"S",)" + std::string(more) + R"("message":)" + std::string(message) +
           "}\n";
}
std::string user(std::string_view text) {
    return R"({"role":"user","content":")" + std::string(text) + R"("})";
}

TEST(foreign, claude_code_is_read_along_the_newest_line) {
    const std::string side = R"("isSidechain":true,)";
    const std::string text = line("user", "u1", "", user("Hello")) +
                             line("assistant", "a1", "u1",
                                  R"({"id":"m1","content":[{"type":"tool_use","id":"c1",)"
                                  R"("name":"Task","input":{}}]})") +
                             line("assistant", "a2", "a1",
                                  R"({"id":"m1","content":[{"type":"tool_use","id":"c2",)"
                                  R"("name":"Task","input":{}}]})") +
                             line("user", "s1", "", user("SIDE"), side) +
                             line("assistant", "s2", "s1", R"({"id":"m9","content":[]})", side) +
                             line("user", "r1", "a1",
                                  R"({"role":"user","content":[{"type":"tool_result",)"
                                  R"("tool_use_id":"c1","content":"one"}]})") +
                             line("user", "r2", "a2",
                                  R"({"role":"user","content":[{"type":"tool_result",)"
                                  R"("tool_use_id":"c2","content":"two"}]})") +
                             line("user", "x1", "r2", user("given up")) +
                             line("user", "u2", "r2", user("edited"));
    const auto read = read_foreign("", text);
    ASSERT_TRUE(read) << read.error().message;
    std::string all;
    for (const ForeignMessage& message : read->messages) all += message.json + "\n";
    EXPECT_EQ(read->messages.size(), 5u) << all;
    EXPECT_FALSE(has(all, "SIDE") || has(all, "given up")) << all;
    EXPECT_TRUE(has(all, "one") && has(all, "two") && has(all, "edited")) << all;
    EXPECT_TRUE(has(all_lines(read->lost), "side chain (a sub-agent) (2 times)"));
    EXPECT_TRUE(has(all_lines(read->lost), "a branch that was given up"));
}

TEST(foreign, claude_code_goes_on_behind_a_compaction) {
    const std::string text = line("user", "u1", "", user("Hello")) +
                             R"({"type":"system","subtype":"compact_boundary","uuid":"b",)"
                             R"("parentUuid":null,"logicalParentUuid":"u1","sessionId":"S"})"
                             "\n" +
                             line("user", "u2", "b", user("Summary"));
    const auto read = read_foreign("", text);
    ASSERT_TRUE(read);
    EXPECT_EQ(read->messages.size(), 2u);
}

TEST(foreign, codex_keeps_its_instructions_and_names_compactions) {
    const Trip done = trip(
        "codex",
        R"({"timestamp":"2025-01-02T03:04:05Z","type":"session_meta","payload":{"id":"X",)"
        R"("cwd":"/x","instructions":"INSTR"}})"
        "\n"
        R"({"timestamp":"2025-01-02T03:04:05Z","type":"response_item","payload":{"type":"message",)"
        R"("role":"user","content":[{"type":"input_text","text":"Hello"}]}})"
        "\n"
        R"({"timestamp":"2025-01-02T03:04:05Z","type":"compacted","payload":{"message":"C"}})"
        "\n");
    EXPECT_EQ(done.in.system_prompt, "INSTR");
    EXPECT_TRUE(has(done.out.text, R"("instructions":"INSTR")"));
    EXPECT_TRUE(has(all_lines(done.in.lost), "a compaction"));
    EXPECT_TRUE(has(all_lines(done.in.lost), "cwd of the session"));
}

TEST(foreign, codex_of_the_older_layout_is_read) {
    const auto read = read_foreign("", R"({"id":"OLD","timestamp":"2025-01-02T03:04:05Z",)"
                                       R"("instructions":"I"})"
                                       "\n"
                                       R"({"record_type":"state"})"
                                       "\n"
                                       R"({"type":"message","role":"user","content":[]})"
                                       "\n"
                                       R"({"type":"function_call","call_id":"c","name":"f",)"
                                       R"("arguments":"{}"})"
                                       "\n");
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ(read->id, "OLD");
    EXPECT_EQ(read->system_prompt, "I");
    EXPECT_EQ(read->messages.size(), 2u);
}

TEST(foreign, lines_without_anything_of_a_session_are_refused) {
    for (const char* kind : {"codex", "claude_code"})
        for (const char* text : {"", "{}", "{}\n{}\n", "\n"}) {
            const auto found = read_foreign(kind, text);
            ASSERT_FALSE(found) << kind << " " << text;
            EXPECT_TRUE(found.error().message.starts_with("nothing of a session of"));
        }
}

TEST(foreign, a_torn_last_line_is_told_and_the_rest_kept) {
    const auto read = read_foreign("", line("user", "u1", "", user("Hello")) + R"({"type":"us)");
    ASSERT_TRUE(read);
    EXPECT_EQ(read->messages.size(), 1u);
    EXPECT_TRUE(has(all_lines(read->lost), "torn"));
}

}  // namespace
}  // namespace palimpsest

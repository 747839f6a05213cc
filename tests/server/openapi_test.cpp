// The description and the tables agree: every route is described, every example fits its schema,
// and nothing stands in a schema that is not checked.
#include <gtest/gtest.h>

#include "server/openapi.h"
#include "server/running.h"

#include <algorithm>
#include <set>

namespace palimpsest {
namespace {

void for_each_object(JsonValue value, const std::function<void(JsonValue)>& visit) {
    if (value.is_object()) visit(value);
    for (const JsonMember member : value.members()) for_each_object(member.value, visit);
    for (const JsonValue element : value.elements()) for_each_object(element, visit);
}

bool is_schema_name(std::string_view name) {
    return std::ranges::find(schemas(), name, &Schema::name) != schemas().end();
}

// A schema's keywords, without the names of properties.
void check_keywords(JsonValue schema, const std::string& where) {
    for (const JsonMember member : schema.members()) {
        EXPECT_NE(std::ranges::find(schema_keywords(), member.key), schema_keywords().end())
            << where << ": " << member.key << " is not checked";
        if (member.key == "properties")
            for (const JsonMember property : member.value.members())
                check_keywords(property.value, where + "." + std::string(property.key));
        if (member.key == "items" || member.key == "additionalProperties")
            check_keywords(member.value, where + "." + std::string(member.key));
        for (const JsonValue element : member.value.elements())
            if (member.key == "anyOf") check_keywords(element, where);
    }
}

std::string lower(std::string_view text) {
    std::string out(text);
    for (char& c : out) c = static_cast<char>(c - 'A' + 'a');
    return out;
}

std::size_t shown_routes() {
    std::size_t shown = 0;
    for (const Route& route : routes()) shown += route.internal ? 0 : 1;
    return shown;
}

TEST(openapi, names_the_header_that_makes_a_request_a_turn) {
    const std::string text = write_openapi(routes(), schemas());
    const JsonDocument document = parse_json(text).value();
    for (const std::string_view path : {"/v1/chat/completions", "/v1/messages"}) {
        const JsonValue post = document.root().find("paths")->find(path)->find("post").value();
        bool named = false;
        for (const JsonValue one : post.find("parameters")->elements())
            named = named || one.find("name")->string() == "X-Conversation-Id";
        EXPECT_TRUE(named) << path;
        const JsonValue told = post.find("responses")->find("200")->find("headers").value();
        EXPECT_TRUE(told.find("X-Conversation-Id")) << path;
        EXPECT_TRUE(told.find("ETag")) << path;
    }
}

TEST(openapi, names_the_end_of_a_conversation_where_it_is_told) {
    const std::string text = write_openapi(routes(), schemas());
    const JsonDocument document = parse_json(text).value();
    const auto told = [&](std::string_view path, std::string_view method, std::string_view status) {
        const JsonValue row = document.root().find("paths")->find(path)->find(method).value();
        const auto headers = row.find("responses")->find(status)->find("headers");
        return headers && headers->find("ETag");
    };
    EXPECT_TRUE(told("/api/v1/conversations/{id}/messages", "post", "201"));
    EXPECT_TRUE(told("/v1/conversations/{id}/items", "get", "200"));
    EXPECT_FALSE(told("/v1/models", "get", "200"));
}

TEST(openapi, tells_the_warnings_and_the_errors_of_a_search) {
    const std::string text = write_openapi(routes(), schemas());
    const JsonDocument document = parse_json(text).value();
    const JsonValue get =
        document.root().find("paths")->find("/api/v1/search")->find("get").value();
    const JsonValue replies = get.find("responses").value();
    EXPECT_TRUE(replies.find("200")->find("headers")->find("x-warnings"));
    for (const std::string_view status : {"400", "404", "422", "502"})
        EXPECT_TRUE(replies.find(status)) << status;
}

TEST(openapi, describes_every_route_with_its_reply_and_an_example) {
    const std::string text = write_openapi(routes(), schemas());
    const JsonDocument document = parse_json(text).value();
    const JsonValue paths = document.root().find("paths").value();
    for (const Route& route : routes()) {
        if (route.internal) continue;
        const std::string name = std::string(route.method) + " " + std::string(route.pattern);
        const auto path = paths.find(route.pattern);
        ASSERT_TRUE(path) << name;
        const auto operation = path->find(lower(route.method));
        ASSERT_TRUE(operation) << name;
        EXPECT_FALSE(operation->find("summary")->string().empty()) << name;
        const auto reply = operation->find("responses")->find(std::to_string(route.status));
        ASSERT_TRUE(reply) << name;
        const auto content = reply->find("content")->find(route.type);
        ASSERT_TRUE(content) << name;
        EXPECT_TRUE(route.reply.empty() || content->find("example")) << name;
        EXPECT_TRUE(operation->find("responses")->find("default")) << name;
        EXPECT_EQ(operation->find("requestBody").has_value(),
                  !route.request.empty() || route.body == BodyKind::bytes)
            << name;
    }
}

TEST(openapi, shows_every_stream_with_an_example_of_its_events) {
    const std::string text = write_openapi(routes(), schemas());
    const JsonDocument document = parse_json(text).value();
    for (const Route& route : routes()) {
        EXPECT_EQ(route.streams, !route.events.empty()) << route.pattern;
        if (!route.streams) continue;
        const JsonValue operation =
            *document.root().find("paths")->find(route.pattern)->find(lower(route.method));
        const auto stream = operation.find("responses")
                                ->find(std::to_string(route.status))
                                ->find("content")
                                ->find("text/event-stream");
        ASSERT_TRUE(stream) << route.pattern;
        EXPECT_NE(stream->find("example")->string().find("data: {"), std::string::npos);
        EXPECT_TRUE(stream->find("example")->string().ends_with("\n\n")) << route.pattern;
    }
}

TEST(openapi, describes_every_error_of_the_table_in_the_shape_of_its_route) {
    const std::string text = write_openapi(routes(), schemas());
    const JsonDocument document = parse_json(text).value();
    const JsonValue replies = *document.root().find("components")->find("responses");
    const SchemaSet set;
    for (const ErrorInfo& row : error_table())
        for (const std::string shape : {"Error", "AnthropicError"}) {
            const auto reply = replies.find(shape + std::to_string(row.http_status));
            ASSERT_TRUE(reply) << row.name;
            EXPECT_NE(reply->find("description")->string().find(row.name), std::string::npos);
            const JsonValue content = *reply->find("content")->find("application/json");
            EXPECT_TRUE(set.check(shape, *content.find("example"))) << row.name;
        }
}

void expect_described(JsonValue value, JsonValue schema, const std::string& where) {
    const auto properties = schema.find("properties");
    for (const JsonMember member : value.members())
        EXPECT_TRUE(properties && properties->find(member.key)) << where << "." << member.key;
}

TEST(openapi, describes_every_field_of_a_compaction) {
    const Running running;
    const std::string one = conversations + "/a";
    for (int i = 0; i < 4; ++i)
        running.ask("POST", one + "/messages",
                    R"({"messages":[{"role":"user","content":"one two three four"}]})");
    const Told told =
        running.ask("POST", one + "/compact",
                    R"({"policy":{"target":1,"passes":[{"pass":"keep_last","turns":1}]}})");
    ASSERT_EQ(told.status(), 200) << told.response.body;
    const auto row = std::ranges::find(schemas(), "Compaction", &Schema::name);
    const JsonDocument schema = parse_json(row->json).value();
    expect_described(told.json(), schema.root(), "Compaction");
    const JsonValue edits = schema.root().find("properties")->find("edits").value();
    for (const JsonValue edit : told.json().find("edits")->elements())
        expect_described(edit, *edits.find("items"), "Compaction.edits");
    EXPECT_GT(told.json().find("edits")->size(), 0U);
}

TEST(openapi, describes_nothing_that_is_not_in_the_table) {
    const std::string text = write_openapi(routes(), schemas());
    const JsonDocument document = parse_json(text).value();
    std::size_t described = 0;
    for (const JsonMember path : document.root().find("paths")->members())
        described += path.value.size();
    EXPECT_EQ(described, shown_routes());
}

TEST(openapi, says_nothing_of_the_route_for_our_own_commands) {
    EXPECT_FALSE(write_openapi(routes(), schemas()).contains("/internal/"));
}

TEST(openapi, gives_every_operation_its_own_id) {
    const std::string text = write_openapi(routes(), schemas());
    const JsonDocument document = parse_json(text).value();
    std::set<std::string> ids;
    for_each_object(document.root().find("paths").value(), [&](JsonValue value) {
        const auto id = value.find("operationId");
        EXPECT_TRUE(!id || ids.insert(std::string(id->string())).second) << value.raw();
    });
    EXPECT_EQ(ids.size(), shown_routes());
}

TEST(openapi, refers_only_to_schemas_that_exist_and_are_no_references) {
    const std::string text = write_openapi(routes(), schemas());
    const JsonDocument document = parse_json(text).value();
    for_each_object(document.root(), [&](JsonValue value) {
        const auto ref = value.find("$ref");
        if (!ref) return;
        const std::string_view name = ref->string().substr(ref->string().rfind('/') + 1);
        if (ref->string().starts_with("#/components/responses/")) {
            EXPECT_TRUE(document.root().find("components")->find("responses")->find(name)) << name;
            return;
        }
        ASSERT_TRUE(is_schema_name(name)) << name;
        const auto target = document.root().find("components")->find("schemas")->find(name);
        EXPECT_FALSE(target->find("$ref")) << name;
    });
    for (const Route& route : routes()) {
        EXPECT_TRUE(route.request.empty() || is_schema_name(route.request)) << route.request;
        EXPECT_TRUE(route.reply.empty() || is_schema_name(route.reply)) << route.reply;
    }
}

TEST(schemas, hold_nothing_that_is_not_checked) {
    for (const Schema& schema : schemas())
        check_keywords(parse_json(schema.json).value().root(), std::string(schema.name));
    for (const Route& route : routes())
        for (const Parameter& row : route.query)
            check_keywords(parse_json(row.schema).value().root(), std::string(row.name));
}

TEST(schemas, have_examples_that_fit) {
    const SchemaSet set;
    for (const Schema& schema : schemas()) {
        const auto example = parse_json(schema.example);
        ASSERT_TRUE(example) << schema.name;
        const Result<void> fits = set.check(schema.name, example->root());
        EXPECT_TRUE(fits) << schema.name << ": " << (fits ? "" : fits.error().message);
    }
}

TEST(schemas, close_every_request_that_is_not_passed_on) {
    const std::set<std::string_view> passed_on = {"CompletionRequest", "AnthropicRequest",
                                                  "EmbeddingsRequest"};
    for (const Route& route : routes()) {
        if (route.request.empty() || passed_on.contains(route.request)) continue;
        const auto row = std::ranges::find(schemas(), route.request, &Schema::name);
        const JsonDocument document = parse_json(row->json).value();
        const auto others = document.root().find("additionalProperties");
        ASSERT_TRUE(others) << row->name;
        EXPECT_EQ(others->boolean(), false) << row->name;
    }
}

TEST(routes, repeat_every_post_that_writes) {
    const std::set<std::string_view> by_the_store_key = {"messages", "begin",  "finish",   "chat",
                                                         "items",    "cancel", "responses"};
    const std::set<std::string_view> writes_nothing = {
        "/v1/responses/input_tokens", "/v1/responses/compact", "/api/v1/state/chat",
        "/api/v1/state/append"};
    for (const Route& route : routes()) {
        if (route.method != "POST" || route.body == BodyKind::bytes || route.own_key) continue;
        if (writes_nothing.contains(route.pattern)) continue;
        const std::string_view word = route.pattern.substr(route.pattern.rfind('/') + 1);
        EXPECT_EQ(route.again == nullptr, by_the_store_key.contains(word)) << route.pattern;
    }
}

}  // namespace
}  // namespace palimpsest

#include "net/message.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "net/http.h"
#include "net/url.h"
#include "net/wire.h"

namespace palimpsest {
namespace {

TEST(headers, are_found_without_case_and_replaced_by_set) {
    HttpHeaders headers;
    headers.add("A", "1");
    headers.add("a", "2");
    EXPECT_EQ(headers.find("A"), "1");
    EXPECT_EQ(headers.count("a"), 2U);
    headers.set("a", "3");
    EXPECT_EQ(headers.size(), 1U);
    EXPECT_EQ(headers.find("A"), "3");
}

TEST(percent_decoding, is_strict) {
    EXPECT_EQ(percent_decode("a%20b%C3%A4+"), "a b\xc3\xa4+");
    for (const std::string_view broken : {"%", "%1", "%zz", "%1z", "a%", "%00", "%u0041"})
        EXPECT_FALSE(percent_decode(broken)) << broken;
    EXPECT_TRUE(percent_decode("%00").error().message.ends_with("leave it out"));
}

TEST(percent_encoding, comes_back_equal) {
    std::string all;
    for (int c = 1; c < 256; ++c) all += static_cast<char>(c);
    EXPECT_EQ(percent_decode(percent_encode(all)), all);
}

TEST(query, is_split_before_it_is_decoded) {
    const auto parameters = parse_query("a=1%262&b=x+y&c&=d&&e==f&a=3");
    ASSERT_TRUE(parameters);
    const QueryParameters expected = {{"a", "1&2"}, {"b", "x y"}, {"c", ""},
                                      {"", "d"},    {"e", "=f"},  {"a", "3"}};
    EXPECT_EQ(*parameters, expected);
    EXPECT_EQ(find_parameter(*parameters, "a"), "1&2");
    EXPECT_EQ(find_parameter(*parameters, "z"), std::nullopt);
    EXPECT_FALSE(parse_query("a=%"));
    EXPECT_TRUE(parse_query("")->empty());
}

TEST(path, is_split_before_it_is_decoded) {
    using Segments = std::vector<std::string>;
    EXPECT_EQ(path_segments("/api/v1/a%2Fb"), Segments({"api", "v1", "a/b"}));
    EXPECT_EQ(path_segments("/a/"), Segments({"a"}));
    EXPECT_EQ(path_segments("/a//b"), Segments({"a", "", "b"}));
    EXPECT_EQ(path_segments("/"), Segments());
    EXPECT_EQ(path_segments("/.."), Segments({".."}));
    EXPECT_FALSE(path_segments("/%"));
}

TEST(error_answer, has_the_names_of_the_error_table) {
    Error error;
    error.code = ErrorCode::not_found;
    error.message = "no \"x\"\n";
    const HttpResponse response = error_response(error);
    EXPECT_EQ(response.status, 404);
    EXPECT_EQ(response.headers.find("content-type"), "application/json");
    EXPECT_EQ(response.body,
              R"({"error":{"type":"not_found","code":"not_found","message":"no \"x\"\n",)"
              R"("param":null}})");
    error.param = "id";
    EXPECT_TRUE(error_response(error).body.ends_with(R"("param":"id"}})"));
}

TEST(response_bytes, keep_a_hostile_header_in_its_line) {
    HttpResponse response(200);
    response.headers.add("X-Id", "a\r\nSet-Cookie: b\nc\rd" + std::string(1, '\0'));
    response.headers.add("X\r\nEvil", "dropped");
    response.headers.add("X Y", "dropped");
    response.headers.add("Content-Length", "99");
    response.headers.add("transfer-encoding", "gzip");
    response.headers.add("Connection", "upgrade");
    ResponseFraming framing;
    framing.content_bytes = 5;
    EXPECT_EQ(write_response_head(response, framing),
              "HTTP/1.1 200 OK\r\nX-Id: a  Set-Cookie: b c d \r\nContent-Length: 5\r\n\r\n");
}

TEST(response_bytes, say_how_the_body_ends) {
    const HttpResponse ok(200);
    ResponseFraming framing;
    framing.keep_alive = false;
    EXPECT_EQ(write_response_head(ok, framing),
              "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
    framing.stream = true;
    EXPECT_EQ(write_response_head(ok, framing), "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n");
    framing.chunked = true;
    framing.keep_alive = true;
    EXPECT_EQ(write_response_head(ok, framing),
              "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
    EXPECT_EQ(write_response_head(HttpResponse(204), ResponseFraming{}),
              "HTTP/1.1 204 No Content\r\n\r\n");
}

TEST(request_bytes, keep_a_hostile_header_in_its_line) {
    HttpRequest request;
    request.method = "POST";
    request.target = "/x";
    request.headers.add("Host", "evil");
    request.headers.add("X", "a\r\nY: b");
    EXPECT_EQ(write_request_head(request, "h:1", "/v1"),
              "POST /v1/x HTTP/1.1\r\nHost: h:1\r\nX: a  Y: b\r\nContent-Length: 0\r\n\r\n");
}

TEST(event, is_one_data_line_per_line) {
    EXPECT_EQ(write_event(ServerEvent("a")), "data: a\n\n");
    EXPECT_EQ(write_event(ServerEvent("")), "data: \n\n");
    EXPECT_EQ(write_event(ServerEvent("a\nb\n", "delta", "7")),
              "event: delta\nid: 7\ndata: a\ndata: b\ndata: \n\n");
}

TEST(event, cannot_be_left_by_what_it_holds) {
    EXPECT_EQ(write_event(ServerEvent("a\r\nb\rdata: c\n\nevent: d")),
              "data: a\ndata: b\ndata: data: c\ndata: \ndata: event: d\n\n");
    EXPECT_EQ(write_event(ServerEvent("x", "a\nid: 1", "b\r\ndata: y")),
              "event: a id: 1\nid: b  data: y\ndata: x\n\n");
    EXPECT_EQ(write_event_comment("beat\n\ndata: x"), ": beat\n: \n: data: x\n\n");
}

TEST(url, is_parsed_strictly) {
    const auto url = parse_url("HTTPS://Example.org:8443/v1/");
    ASSERT_TRUE(url);
    EXPECT_TRUE(url->tls);
    EXPECT_EQ(url->host, "Example.org");
    EXPECT_EQ(url->port, 8443);
    EXPECT_EQ(url->path, "/v1");
    EXPECT_EQ(url->authority(), "Example.org:8443");
    EXPECT_EQ(parse_url("http://[::1]:80")->host, "::1");
    EXPECT_EQ(parse_url("http://[::1]:80")->authority(), "[::1]");
    EXPECT_EQ(parse_url("https://h")->port, 443);
    for (const std::string_view broken :
         {"", "h", "ftp://h", "http://", "http:///x", "http://h:", "http://h:0", "http://h:65536",
          "http://h:8x", "http://h?x", "http://h/#x", "http://h /", "http://[::1", "http://[::1]x",
          "http://h\r\n"})
        EXPECT_FALSE(parse_url(broken)) << broken;
}

TEST(url, does_not_repeat_a_password) {
    const auto url = parse_url("http://user:hunter2@h/");
    ASSERT_FALSE(url);
    EXPECT_EQ(url.error().message.find("hunter2"), std::string::npos);
}

}  // namespace
}  // namespace palimpsest

TEST(url, is_shown_without_its_passwords) {
    EXPECT_EQ(palimpsest::without_password("redis://:secret@localhost:6379/0"),
              "redis://:***@localhost:6379/0");
    EXPECT_EQ(palimpsest::without_password("redis://secret@localhost:6379/0"),
              "redis://***@localhost:6379/0");
    EXPECT_EQ(palimpsest::without_password("postgres://ann:se/cret@db/pal"),
              "postgres://ann:***@db/pal");
    EXPECT_EQ(palimpsest::without_password("postgres://ann:se:cr@t@db/pal"),
              "postgres://ann:***@db/pal");
    EXPECT_EQ(palimpsest::without_password("postgres://db/pal?password=secret&sslmode=require"),
              "postgres://db/pal?password=***&sslmode=require");
    EXPECT_EQ(palimpsest::without_password("postgres://ann@db:5432/pal"),
              "postgres://ann@db:5432/pal");
    EXPECT_EQ(palimpsest::without_password("sqlite:pal@home:x.db"), "sqlite:pal@home:x.db");
}

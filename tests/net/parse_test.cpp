#include "net/parse.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "malformed.h"
#include "net/body.h"

namespace palimpsest {
namespace {

// Head and body as the server reads them, `step` bytes at a time. The status of the refusal, 0 if
// it is complete, -1 if more is needed.
int read_request(std::string_view bytes, std::size_t step, RequestHead* out = nullptr) {
    HeadScan scan(HeadLimits{});
    std::size_t end = 0;
    for (std::size_t n = step; end == 0; n += step) {
        const auto found = scan.scan(bytes.substr(0, n));
        if (!found) return found.error().status;
        end = *found;
        if (end == 0 && n >= bytes.size()) return -1;
    }
    auto head = parse_request_head(bytes.substr(0, end));
    if (!head) return head.error().status;
    BodyReader reader(head->framing, head->body_bytes, 1000);
    std::string in;
    for (std::string_view rest = bytes.substr(end); !reader.done();) {
        in += rest.substr(0, step);
        rest.remove_prefix(std::min(step, rest.size()));
        const auto taken = reader.take(in, head->request.body);
        if (!taken) return taken.error().status;
        if (!reader.done() && rest.empty()) return -1;
    }
    if (out != nullptr) *out = *std::move(head);
    return 0;
}

RequestHead understood(std::string_view bytes) {
    RequestHead head;
    EXPECT_EQ(read_request(bytes, bytes.size(), &head), 0) << bytes;
    return head;
}

TEST(request_head, is_refused_if_malformed_however_the_bytes_arrive) {
    for (const Malformed& row : malformed)
        for (const std::size_t step : {std::size_t{1}, std::size_t{7}, row.bytes.size()})
            EXPECT_EQ(read_request(row.bytes, step), row.status)
                << row.name << ", " << step << " bytes at a time";
}

TEST(request_head, is_refused_with_a_stray_control_byte_anywhere) {
    const std::string head =
        "POST /path?query=1 HTTP/1.1\r\nHost: localhost:7420\r\nX-Any: value\r\n"
        "Transfer-Encoding: chunked\r\n\r\n";
    const std::string body = "3;ext=1\r\nabc\r\n0\r\nTrailer: value\r\n\r\n";
    ASSERT_EQ(read_request(head + body, 1), 0);
    const std::size_t content = head.size() + body.find("abc");
    const std::size_t last = head.size() + body.size() - 1;
    for (std::size_t at = 0; at <= last; ++at) {
        if (at >= content && at <= content + 3) continue;  // any byte may stand in the body itself
        for (const char stray : {'\0', '\r', '\n', '\x0b', '\x1b', '\x7f'}) {
            if (at == last && stray == '\n') continue;  // completes it; the old one comes after it
            std::string bytes = head + body;
            bytes.insert(at, 1, stray);
            EXPECT_GE(read_request(bytes, bytes.size()), 400)
                << "byte " << int{stray} << " at " << at;
        }
    }
}

TEST(request_head, is_understood_whole) {
    const auto head = understood(
        "PATCH /a%20b?x=1&y HTTP/1.1\r\nhost: h:80\r\nX-Empty:\r\nx-spaced: \t two words \t\r\n"
        "Content-Length: 3\r\n\r\nabc");
    EXPECT_EQ(head.request.method, "PATCH");
    EXPECT_EQ(head.request.target, "/a%20b?x=1&y");
    EXPECT_EQ(head.request.path, "/a%20b");
    EXPECT_EQ(head.request.query, "x=1&y");
    EXPECT_EQ(head.request.header("HOST"), "h:80");
    EXPECT_EQ(head.request.headers.find("x-empty"), "");
    EXPECT_EQ(head.request.header("X-Spaced"), "two words");
    EXPECT_EQ(head.request.headers.find("absent"), std::nullopt);
    EXPECT_EQ(head.request.body, "abc");
    EXPECT_TRUE(head.keep_alive);
}

TEST(request_head, may_follow_one_empty_line) {
    EXPECT_EQ(understood("\r\nGET /x HTTP/1.1\r\nHost: h\r\n\r\n").request.path, "/x");
}

TEST(request_head, may_have_the_absolute_form_of_its_own_host) {
    const auto head = understood("GET http://H:80?q=1 HTTP/1.1\r\nHost: h:80\r\n\r\n");
    EXPECT_EQ(head.request.path, "/");
    EXPECT_EQ(head.request.query, "q=1");
}

TEST(request_head, may_be_options_of_everything_and_come_over_ipv6) {
    EXPECT_EQ(understood("OPTIONS * HTTP/1.1\r\nHost: [::1]:7420\r\n\r\n").request.path, "*");
}

TEST(request_head, says_whether_the_connection_stays) {
    struct Row {
        std::string_view version_and_fields;
        bool stays;
    };
    const std::vector<Row> rows = {
        {"HTTP/1.1\r\nHost: h\r\n", true},
        {"HTTP/1.1\r\nHost: h\r\nConnection: close\r\n", false},
        {"HTTP/1.1\r\nHost: h\r\nConnection: x, CLOSE\r\n", false},
        {"HTTP/1.1\r\nHost: h\r\nConnection: keep-alive\r\nConnection: close\r\n", false},
        {"HTTP/1.1\r\nHost: h\r\nConnection: closed\r\n", true},
        {"HTTP/1.0\r\n", false},
        {"HTTP/1.0\r\nConnection: Keep-Alive\r\n", true},
    };
    for (const Row& row : rows) {
        const std::string bytes = "GET / " + std::string(row.version_and_fields) + "\r\n";
        EXPECT_EQ(understood(bytes).keep_alive, row.stays) << bytes;
    }
}

TEST(request_head, is_limited_in_length_lines_and_target) {
    const std::string start = "GET / HTTP/1.1\r\nHost: h\r\n";
    const auto fields = [&](int count) {
        std::string text = start;
        for (int i = 1; i < count; ++i) text += "X: y\r\n";
        return text + "\r\n";
    };
    EXPECT_EQ(read_request(fields(100), 4096), 0);
    EXPECT_EQ(read_request(fields(101), 4096), 431);
    EXPECT_EQ(read_request(start + "X: " + std::string(60'000, 'y') + "\r\n\r\n", 4096), 0);
    EXPECT_EQ(read_request(start + "X: " + std::string(66'000, 'y') + "\r\n\r\n", 4096), 431);
    EXPECT_EQ(read_request(start + "X: " + std::string(66'000, 'y'), 4096), 431);
    EXPECT_EQ(read_request("GET /" + std::string(32'700, 'y') + " HTTP/1.1\r\nHost: h\r\n\r\n", 99),
              0);
    EXPECT_EQ(read_request("GET /" + std::string(33'000, 'y') + " HTTP/1.1\r\nHost: h\r\n\r\n", 99),
              414);
    EXPECT_EQ(read_request("GET /" + std::string(33'000, 'y'), 99), 414);
}

TEST(chunked_body, is_joined_however_the_bytes_arrive) {
    const std::string_view bytes =
        "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: Chunked\r\n\r\n"
        "3\r\nabc\r\n0a;name=\"value\"\r\n\r\n0\r\n\r\nxyz\r\n000\r\nTrailer: dropped\r\n\r\n";
    for (std::size_t step = 1; step <= bytes.size(); ++step) {
        RequestHead head;
        EXPECT_EQ(read_request(bytes, step, &head), 0) << step;
        EXPECT_EQ(head.request.body, "abc\r\n0\r\n\r\nxyz") << step;
        EXPECT_EQ(head.request.headers.find("trailer"), std::nullopt);
    }
}

TEST(chunked_body, is_refused_as_soon_as_a_size_passes_the_limit) {
    ChunkedBody body(10);
    std::string out;
    ASSERT_TRUE(body.take("8\r\n12345678\r\n", out));
    const auto refused = body.take("3\r\n", out);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().status, 413);
}

TEST(chunked_body, does_not_take_endless_extensions_or_trailers) {
    const auto status_of = [](const std::string& piece, const std::string& start) {
        ChunkedBody body(1'000'000);
        std::string out;
        auto taken = body.take(start, out);
        for (int i = 0; taken && i < 10'000; ++i) taken = body.take(piece, out);
        return taken ? 0 : taken.error().status;
    };
    EXPECT_EQ(status_of("1;" + std::string(1000, 'x') + "\r\na\r\n", ""), 400);
    EXPECT_EQ(status_of(std::string(1000, '0'), ""), 400);
    EXPECT_EQ(status_of("X: " + std::string(1000, 'x') + "\r\n", "0\r\n"), 431);
}

TEST(chunked_body, leaves_what_follows_it) {
    ChunkedBody body(100);
    std::string out;
    EXPECT_EQ(body.take("1\r\na\r\n0\r\n\r\nGET /", out), 11U);
    EXPECT_TRUE(body.done());
}

TEST(response_head, knows_when_no_body_follows) {
    const auto framing_of = [](std::string_view text, bool to_head) {
        const auto head = parse_response_head(text, to_head);
        return head ? head->framing : BodyFraming::none;
    };
    EXPECT_EQ(framing_of("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n", false),
              BodyFraming::length);
    EXPECT_EQ(framing_of("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n", true), BodyFraming::none);
    EXPECT_EQ(framing_of("HTTP/1.1 204\r\n\r\n", false), BodyFraming::none);
    EXPECT_EQ(framing_of("HTTP/1.1 304 Not Modified\r\nContent-Length: 3\r\n\r\n", false),
              BodyFraming::none);
    EXPECT_EQ(framing_of("HTTP/1.1 200 OK\r\n\r\n", false), BodyFraming::until_close);
}

TEST(plain_bytes, end_at_the_first_control_character_wherever_it_is) {
    for (std::size_t size = 0; size <= 20; ++size)
        for (int byte = 0; byte < 256; ++byte)
            for (std::size_t at = 0; at < size; ++at) {
                std::string text(size, 'a');
                text[size / 2] = '\t';
                text[at] = static_cast<char>(byte);
                const bool plain = byte == '\t' || (byte >= 0x20 && byte != 0x7f);
                ASSERT_EQ(plain_bytes(text), plain ? size : at) << size << ' ' << at << ' ' << byte;
            }
    EXPECT_EQ(plain_bytes(""), 0u);
}

TEST(response_head, is_refused_if_malformed) {
    const std::vector<std::string_view> heads = {
        "HTTP/1.1\r\n\r\n",
        "HTTP/1.1 20\r\n\r\n",
        "HTTP/1.1 2000\r\n\r\n",
        "HTTP/1.1 600 x\r\n\r\n",
        "HTTP/1.1 200x\r\n\r\n",
        "HTTP/2.0 200 OK\r\n\r\n",
        "HTTP/1.1 200 OK\r\nX\r\n\r\n",
        "HTTP/1.1  200 OK\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
    };
    for (const std::string_view head : heads)
        EXPECT_FALSE(parse_response_head(head, false)) << head;
}

}  // namespace
}  // namespace palimpsest

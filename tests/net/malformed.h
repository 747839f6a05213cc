// malformed: byte strings that are not HTTP/1.x, or that two readers could understand differently,
// with the status each must get. Used against the parser alone and against a listening server.
#pragma once
#include <string_view>

namespace palimpsest {

struct Malformed {
    std::string_view name;
    std::string_view bytes;
    int status = 400;
};

using namespace std::string_view_literals;

#define PAL_POST "POST / HTTP/1.1\r\nHost: h\r\n"
#define PAL_CHUNKED PAL_POST "Transfer-Encoding: chunked\r\n\r\n"

inline constexpr Malformed malformed[] = {
    // The first line.
    {"empty method", " / HTTP/1.1\r\nHost: h\r\n\r\n"},
    {"no version", "GET /\r\nHost: h\r\n\r\n"},
    {"method only", "GET\r\nHost: h\r\n\r\n"},
    {"two spaces after method", "GET  / HTTP/1.1\r\nHost: h\r\n\r\n"},
    {"two spaces before version", "GET /  HTTP/1.1\r\nHost: h\r\n\r\n"},
    {"space after version", "GET / HTTP/1.1 \r\nHost: h\r\n\r\n"},
    {"tab instead of space", "GET\t/\tHTTP/1.1\r\nHost: h\r\n\r\n"},
    {"space in target", "GET /a b HTTP/1.1\r\nHost: h\r\n\r\n"},
    {"method with colon", "GE:T / HTTP/1.1\r\nHost: h\r\n\r\n"},
    {"method with brackets", "G(E)T / HTTP/1.1\r\nHost: h\r\n\r\n"},
    {"lower-case version", "GET / http/1.1\r\nHost: h\r\n\r\n"},
    {"version without dot", "GET / HTTP/11\r\nHost: h\r\n\r\n"},
    {"version with letters", "GET / HTTP/1.x\r\nHost: h\r\n\r\n"},
    {"long version", "GET / HTTP/1.10\r\nHost: h\r\n\r\n"},
    {"version 2", "GET / HTTP/2.0\r\nHost: h\r\n\r\n", 505},
    {"version 0.9", "GET / HTTP/0.9\r\nHost: h\r\n\r\n", 505},
    {"version 1.2", "GET / HTTP/1.2\r\nHost: h\r\n\r\n", 505},
    {"HTTP/2 preface", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505},
    {"empty target", "GET  HTTP/1.1\r\nHost: h\r\n\r\n"},
    {"relative target", "GET a HTTP/1.1\r\nHost: h\r\n\r\n"},
    {"star without OPTIONS", "GET * HTTP/1.1\r\nHost: h\r\n\r\n"},
    {"CONNECT", "CONNECT h:80 HTTP/1.1\r\nHost: h:80\r\n\r\n"},
    {"fragment", "GET /#a HTTP/1.1\r\nHost: h\r\n\r\n"},
    {"backslash", "GET /\\a HTTP/1.1\r\nHost: h\r\n\r\n"},
    {"raw UTF-8 in target", "GET /\xc3\xa4 HTTP/1.1\r\nHost: h\r\n\r\n"},
    {"NUL in target", "GET /\0 HTTP/1.1\r\nHost: h\r\n\r\n"sv},
    {"DEL in target", "GET /\x7f HTTP/1.1\r\nHost: h\r\n\r\n"},
    {"absolute form, https", "GET https://h/ HTTP/1.1\r\nHost: h\r\n\r\n"},
    {"absolute form, other host", "GET http://evil/ HTTP/1.1\r\nHost: h\r\n\r\n"},
    {"absolute form, other port", "GET http://h:81/ HTTP/1.1\r\nHost: h\r\n\r\n"},
    {"absolute form, user", "GET http://u@h/ HTTP/1.1\r\nHost: h\r\n\r\n"},
    {"absolute form, no host", "GET http:/// HTTP/1.1\r\nHost: h\r\n\r\n"},
    {"two empty lines first", "\r\n\r\nGET / HTTP/1.1\r\nHost: h\r\n\r\n"},
    {"TLS hello", "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"sv},
    // Line ends.
    {"bare LF everywhere", "GET / HTTP/1.1\nHost: h\n\n"},
    {"bare LF after first line", "GET / HTTP/1.1\nHost: h\r\n\r\n"},
    {"bare LF after a field", "GET / HTTP/1.1\r\nHost: h\nX: y\r\n\r\n"},
    {"bare LF at the end", "GET / HTTP/1.1\r\nHost: h\r\n\n"},
    {"bare CR in first line", "GET /\rx HTTP/1.1\r\nHost: h\r\n\r\n"},
    {"bare CR in a value", "GET / HTTP/1.1\r\nHost: h\r\nX: a\rY: b\r\n\r\n"},
    {"bare CR before CRLF", "GET / HTTP/1.1\r\nHost: h\r\r\n\r\n"},
    {"LF CR", "GET / HTTP/1.1\n\rHost: h\n\r\n\r"},
    // Header fields.
    {"folded field", "GET / HTTP/1.1\r\nHost: h\r\nX: a\r\n b\r\n\r\n"},
    {"folded with tab", "GET / HTTP/1.1\r\nHost: h\r\nX: a\r\n\tb\r\n\r\n"},
    {"folded first field", "GET / HTTP/1.1\r\n Host: h\r\n\r\n"},
    {"space before colon", "GET / HTTP/1.1\r\nHost : h\r\n\r\n"},
    {"tab before colon", "GET / HTTP/1.1\r\nHost: h\r\nX\t: y\r\n\r\n"},
    {"no colon", "GET / HTTP/1.1\r\nHost: h\r\nX\r\n\r\n"},
    {"empty name", "GET / HTTP/1.1\r\nHost: h\r\n: x\r\n\r\n"},
    {"space in name", "GET / HTTP/1.1\r\nHost: h\r\nX Y: z\r\n\r\n"},
    {"NUL in name", "GET / HTTP/1.1\r\nHost: h\r\nX\0Y: z\r\n\r\n"sv},
    {"NUL in value", "GET / HTTP/1.1\r\nHost: h\r\nX: a\0b\r\n\r\n"sv},
    {"escape in value", "GET / HTTP/1.1\r\nHost: h\r\nX: a\x1b[0m\r\n\r\n"},
    {"DEL in value", "GET / HTTP/1.1\r\nHost: h\r\nX: a\x7f\r\n\r\n"},
    {"UTF-8 in name", "GET / HTTP/1.1\r\nHost: h\r\n\xc3\xa4: z\r\n\r\n"},
    // Host.
    {"no Host", "GET / HTTP/1.1\r\n\r\n"},
    {"two Hosts", "GET / HTTP/1.1\r\nHost: h\r\nHost: h\r\n\r\n"},
    {"two Hosts, other case", "GET / HTTP/1.1\r\nHost: h\r\nhOST: evil\r\n\r\n"},
    {"two Hosts, 1.0", "GET / HTTP/1.0\r\nHost: h\r\nHost: h\r\n\r\n"},
    {"empty Host", "GET / HTTP/1.1\r\nHost:\r\n\r\n"},
    {"Host list", "GET / HTTP/1.1\r\nHost: a, b\r\n\r\n"},
    {"Host with path", "GET / HTTP/1.1\r\nHost: a/b\r\n\r\n"},
    {"Host with user", "GET / HTTP/1.1\r\nHost: u@h\r\n\r\n"},
    {"Host with bad port", "GET / HTTP/1.1\r\nHost: h:8x\r\n\r\n"},
    {"Host with open bracket", "GET / HTTP/1.1\r\nHost: [::1\r\n\r\n"},
    // Framing.
    {"length and chunked",
     PAL_POST "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"},
    {"chunked and length",
     PAL_POST "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n"},
    {"two equal lengths", PAL_POST "Content-Length: 3\r\nContent-Length: 3\r\n\r\nabc"},
    {"two lengths", PAL_POST "Content-Length: 3\r\nContent-Length: 5\r\n\r\nabc"},
    {"length list", PAL_POST "Content-Length: 3, 3\r\n\r\nabc"},
    {"length with plus", PAL_POST "Content-Length: +5\r\n\r\nabcde"},
    {"negative length", PAL_POST "Content-Length: -5\r\n\r\nabcde"},
    {"hex length", PAL_POST "Content-Length: 0x5\r\n\r\nabcde"},
    {"length with a fraction", PAL_POST "Content-Length: 5.0\r\n\r\nabcde"},
    {"length with inner space", PAL_POST "Content-Length: 1 0\r\n\r\nabcde"},
    {"empty length", PAL_POST "Content-Length: \r\n\r\nabcde"},
    {"length of 20 digits", PAL_POST "Content-Length: 18446744073709551617\r\n\r\na"},
    {"quoted length", PAL_POST "Content-Length: \"5\"\r\n\r\nabcde"},
    {"unknown coding", PAL_POST "Transfer-Encoding: gzip\r\n\r\n0\r\n\r\n"},
    {"identity coding", PAL_POST "Transfer-Encoding: identity\r\n\r\n0\r\n\r\n"},
    {"coding list", PAL_POST "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n"},
    {"chunked twice", PAL_POST "Transfer-Encoding: chunked, chunked\r\n\r\n0\r\n\r\n"},
    {"two coding fields",
     PAL_POST "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"},
    {"almost chunked", PAL_POST "Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n"},
    {"chunked with vertical tab", PAL_POST "Transfer-Encoding: \x0b"
                                           "chunked\r\n\r\n0\r\n\r\n"},
    {"quoted chunked", PAL_POST "Transfer-Encoding: \"chunked\"\r\n\r\n0\r\n\r\n"},
    {"empty coding", PAL_POST "Transfer-Encoding:\r\n\r\n0\r\n\r\n"},
    {"chunked in 1.0", "POST / HTTP/1.0\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"},
    {"unknown expectation", PAL_POST "Expect: 200-maybe\r\nContent-Length: 1\r\n\r\na", 417},
    {"compressed body", PAL_POST "Content-Encoding: gzip\r\nContent-Length: 1\r\n\r\na", 415},
    // Chunks.
    {"chunk size not hex", PAL_CHUNKED "x\r\n\r\n"},
    {"chunk size empty", PAL_CHUNKED "\r\nabc\r\n0\r\n\r\n"},
    {"chunk size 0x", PAL_CHUNKED "0x3\r\nabc\r\n0\r\n\r\n"},
    {"chunk size plus", PAL_CHUNKED "+3\r\nabc\r\n0\r\n\r\n"},
    {"chunk size minus", PAL_CHUNKED "-3\r\nabc\r\n0\r\n\r\n"},
    {"chunk size with space before", PAL_CHUNKED " 3\r\nabc\r\n0\r\n\r\n"},
    {"chunk size with space behind", PAL_CHUNKED "3 \r\nabc\r\n0\r\n\r\n"},
    {"chunk size of 17 digits", PAL_CHUNKED "10000000000000003\r\nabc\r\n0\r\n\r\n"},
    {"bare LF after chunk size", PAL_CHUNKED "3\nabc\r\n0\r\n\r\n"},
    {"bare CR in chunk size", PAL_CHUNKED "3\r;\r\nabc\r\n0\r\n\r\n"},
    {"LF in chunk extension", PAL_CHUNKED "3;a\nb\r\nabc\r\n0\r\n\r\n"},
    {"CR in chunk extension", PAL_CHUNKED "3;a\rb\r\nabc\r\n0\r\n\r\n"},
    {"NUL in chunk extension", PAL_CHUNKED "3;a\0b\r\nabc\r\n0\r\n\r\n"sv},
    {"chunk too short", PAL_CHUNKED "4\r\nabc\r\n0\r\n\r\n"},
    {"chunk too long", PAL_CHUNKED "2\r\nabc\r\n0\r\n\r\n"},
    {"bare LF after chunk", PAL_CHUNKED "3\r\nabc\n0\r\n\r\n"},
    {"no CRLF after chunk", PAL_CHUNKED "3\r\nabc0\r\n\r\n"},
    {"bare LF ends the body", PAL_CHUNKED "0\r\n\n"},
    {"bad trailer", PAL_CHUNKED "0\r\nno colon\r\n\r\n"},
    {"folded trailer", PAL_CHUNKED "0\r\nA: b\r\n c\r\n\r\n"},
    {"NUL in trailer", PAL_CHUNKED "0\r\nA: \0\r\n\r\n"sv},
};

#undef PAL_POST
#undef PAL_CHUNKED

}  // namespace palimpsest

#include "server/trace.h"

#include <algorithm>

#include "base/json_write.h"

namespace palimpsest {
namespace {

// "00-TRACE-SPAN-FLAGS"
constexpr std::size_t trace_at = 3, trace_digits = 32, span_at = 36, span_digits = 16,
                      flags_at = 53, header_bytes = 55, state_bytes_max = 512;

bool is_hex(std::string_view text) {
    return std::ranges::all_of(
        text, [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

bool is_id(std::string_view text) {
    return is_hex(text) && text.find_first_not_of('0') != text.npos;
}

int digit_of(char c) {
    return c <= '9' ? c - '0' : c - 'a' + 10;
}

// A version that we do not know may say more behind what version 00 says.
bool is_traceparent(std::string_view header) {
    if (header.size() < header_bytes || !is_hex(header.substr(0, 2))) return false;
    const std::string_view version = header.substr(0, 2);
    if (version == "ff") return false;
    if (header.size() > header_bytes && (version == "00" || header[header_bytes] != '-'))
        return false;
    return header[trace_at - 1] == '-' && header[span_at - 1] == '-' &&
           header[flags_at - 1] == '-' && is_id(header.substr(trace_at, trace_digits)) &&
           is_id(header.substr(span_at, span_digits)) && is_hex(header.substr(flags_at, 2));
}

// What a header may hold; a list of more is dropped whole, as the standard allows.
bool is_state(std::string_view state) {
    return state.size() <= state_bytes_max &&
           std::ranges::all_of(state, [](char c) { return c >= ' ' && c <= '~'; });
}

// 64-bit numbers are strings in the JSON form of protocol buffers.
struct ValueWriter {
    JsonWriter& out;
    void operator()(const std::string& text) const { out.field("stringValue", text); }
    void operator()(std::int64_t number) const { out.field("intValue", std::to_string(number)); }
    void operator()(double number) const { out.key("doubleValue").number(number); }
    void operator()(bool value) const { out.key("boolValue").boolean(value); }
    void operator()(const std::vector<std::string>& list) const {
        out.key("arrayValue").begin_object().key("values").begin_array();
        for (const std::string& one : list)
            out.begin_object().field("stringValue", one).end_object();
        out.end_array().end_object();
    }
};

void write_attribute(JsonWriter& out, std::string_view name, const TraceValue& value) {
    out.begin_object().field("key", name).key("value").begin_object();
    std::visit(ValueWriter{out}, value);
    out.end_object().end_object();
}

void write_span(JsonWriter& out, const SpanRecord& span) {
    constexpr int failed = 2;  // STATUS_CODE_ERROR; what went well stays unset.
    out.begin_object().field("traceId", span.context.trace_id);
    out.field("spanId", span.context.span_id);
    if (!span.parent_id.empty()) out.field("parentSpanId", span.parent_id);
    if (!span.context.state.empty()) out.field("traceState", span.context.state);
    out.field("name", span.name).key("kind").number(static_cast<int>(span.kind));
    out.field("startTimeUnixNano", std::to_string(span.start_ns));
    out.field("endTimeUnixNano", std::to_string(span.end_ns));
    out.key("attributes").begin_array();
    for (const auto& [name, value] : span.attributes) write_attribute(out, name, value);
    out.end_array();
    if (span.failed) out.key("status").begin_object().key("code").number(failed).end_object();
    out.end_object();
}

}  // namespace

std::optional<TracePoint> parse_traceparent(std::string_view header, std::string_view state) {
    if (!is_traceparent(header)) return {};
    return TracePoint{.trace_id = std::string(header.substr(trace_at, trace_digits)),
                      .span_id = std::string(header.substr(span_at, span_digits)),
                      .sampled = (digit_of(header[flags_at + 1]) & 1) != 0,
                      .state = is_state(state) ? std::string(state) : std::string()};
}

std::string write_traceparent(const TracePoint& context) {
    return "00-" + context.trace_id + "-" + context.span_id + (context.sampled ? "-01" : "-00");
}

std::string write_otlp(std::span<const SpanRecord> spans, std::string_view service) {
    std::string text;
    JsonWriter out(text);
    out.begin_object().key("resourceSpans").begin_array().begin_object();
    out.key("resource").begin_object().key("attributes").begin_array();
    write_attribute(out, "service.name", std::string(service));
    write_attribute(out, "telemetry.sdk.name", std::string("palimpsest"));
    write_attribute(out, "telemetry.sdk.language", std::string("cpp"));
    out.end_array().end_object().key("scopeSpans").begin_array().begin_object();
    out.key("scope").begin_object().field("name", "palimpsest").end_object();
    out.key("spans").begin_array();
    for (const SpanRecord& span : spans) write_span(out, span);
    out.end_array().end_object().end_array().end_object().end_array().end_object();
    return text;
}

}  // namespace palimpsest

// trace: what a trace is made of, as OpenTelemetry and W3C Trace Context have it. Pure.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace palimpsest {

// Where in which trace something happens. Empty: in none.
struct TracePoint {
    std::string trace_id = {};  // 32 hexadecimal digits
    std::string span_id = {};   // 16
    bool sampled = false;       // whoever began the trace wants it recorded
    std::string state = {};     // the header tracestate, passed on as it came

    bool empty() const { return trace_id.empty(); }
};

// The header traceparent; none when it is not one, as the standard asks for.
std::optional<TracePoint> parse_traceparent(std::string_view header, std::string_view state = {});
std::string write_traceparent(const TracePoint& context);

using TraceValue = std::variant<std::string, std::int64_t, double, bool, std::vector<std::string>>;

// OTLP's numbers.
enum class SpanKind : std::uint8_t { internal = 1, server = 2, client = 3 };

// Something that was done, from when to when.
struct SpanRecord {
    TracePoint context = {};
    std::string parent_id = {};  // empty: the trace begins here
    std::string name = {};
    SpanKind kind = SpanKind::internal;
    std::int64_t start_ns = 0, end_ns = 0;  // since 1970
    std::vector<std::pair<std::string, TraceValue>> attributes = {};
    bool failed = false;
};

// The body of OTLP's ExportTraceServiceRequest, in its JSON form.
std::string write_otlp(std::span<const SpanRecord> spans, std::string_view service);

}  // namespace palimpsest

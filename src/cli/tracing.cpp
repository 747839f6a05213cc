#include "cli/tracing.h"

#include <algorithm>
#include <cstdlib>

#include "net/http.h"

namespace palimpsest {
namespace {

std::string from_environment(const char* name) {
    const char* const value = std::getenv(name);
    return value ? value : "";
}

std::string endpoint_of(const Settings& settings) {
    if (!settings.otlp_endpoint.empty()) return settings.otlp_endpoint;
    const std::string traces = from_environment("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT");
    return traces.empty() ? from_environment("OTEL_EXPORTER_OTLP_ENDPOINT") : traces;
}

// "name=value,name=value", values percent-encoded. They may be secret: no error shows them.
Result<std::vector<std::pair<std::string, std::string>>> read_headers(std::string_view text) {
    std::vector<std::pair<std::string, std::string>> headers;
    while (!text.empty()) {
        const std::size_t end = std::min(text.find(','), text.size());
        const std::string_view one = text.substr(0, end);
        const std::size_t equals = one.find('=');
        const auto value = equals == one.npos ? Result<std::string>(fail({}, ""))
                                              : percent_decode(one.substr(equals + 1));
        if (!value || equals == 0)
            return fail(ErrorCode::invalid_request,
                        "OTEL_EXPORTER_OTLP_HEADERS must be as name=value,name=value");
        headers.emplace_back(one.substr(0, equals), *value);
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return headers;
}

}  // namespace

Result<std::shared_ptr<Tracer>> open_tracer(const Settings& settings) {
    TraceOptions options{.endpoint = endpoint_of(settings)};
    if (options.endpoint.empty()) return std::shared_ptr<Tracer>();
    PAL_TRY(headers, read_headers(from_environment("OTEL_EXPORTER_OTLP_HEADERS")));
    options.headers = std::move(headers);
    if (const std::string name = from_environment("OTEL_SERVICE_NAME"); !name.empty())
        options.service = name;
    options.share = static_cast<double>(settings.trace_sample_percent) / 100;
    options.content = settings.trace_content;
    return Tracer::start(std::move(options));
}

}  // namespace palimpsest

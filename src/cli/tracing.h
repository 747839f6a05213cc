// tracing: where a server's traces go, by our settings and by OpenTelemetry's own variables.
#pragma once
#include <memory>

#include "engine/settings.h"
#include "server/tracer.h"

namespace palimpsest {

// Null: there are none. Reads OTEL_EXPORTER_OTLP_ENDPOINT or OTEL_EXPORTER_OTLP_TRACES_ENDPOINT
// where the settings name no collector, OTEL_EXPORTER_OTLP_HEADERS and OTEL_SERVICE_NAME.
Result<std::shared_ptr<Tracer>> open_tracer(const Settings& settings);

}  // namespace palimpsest

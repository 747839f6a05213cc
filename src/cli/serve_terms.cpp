#include "cli/serve_terms.h"

#include <unistd.h>

#include <algorithm>
#include <utility>

#include "base/json_write.h"
#include "cli/open.h"
#include "palimpsest/model.h"

namespace palimpsest {
namespace {

void write_names(JsonWriter& out, std::string_view field, const std::vector<std::string>& names) {
    out.key(field).begin_array();
    for (const std::string& name : names) out.string(name);
    out.end_array();
}

// Whether TLS is spoken at all is settled when the server starts.
bool switches_tls(const Settings& now, const Settings& next) {
    return now.tls_cert.empty() != next.tls_cert.empty();
}

// A model that is counted in one encoding stays so until a restart; those that change it are named.
std::vector<std::string> keep_encodings(const Settings& now, Settings& next) {
    std::vector<std::string> names;
    for (OwnModel& model : next.models) {
        const auto known = std::ranges::find(now.models, model.name, &OwnModel::name);
        if (known == now.models.end() || known->encoding == model.encoding) continue;
        names.push_back("models." + model.name + ".encoding");
        model.encoding = known->encoding;
    }
    return names;
}

Reloaded compare(const Settings& now, const Settings& next) {
    Reloaded difference;
    for (const Setting& setting : setting_table()) {
        if (setting_text(setting, now) == setting_text(setting, next)) continue;
        const bool live =
            setting.live && !(setting.name.starts_with("tls_") && switches_tls(now, next));
        (live ? difference.changed : difference.after_restart).emplace_back(setting.name);
    }
    return difference;
}

// What needs a restart stays as it is.
Settings with_live(const Settings& now, Settings next) {
    const bool keep_tls = switches_tls(now, next);
    Settings merged = now;
    for (const Setting& setting : setting_table()) {
        if (!setting.live || (keep_tls && setting.name.starts_with("tls_"))) continue;
        std::visit([&](auto field) { merged.*field = next.*field; }, setting.field);
    }
    merged.models = std::move(next.models);
    merged.endpoints = std::move(next.endpoints);
    merged.agents = std::move(next.agents);
    merged.file_text = std::move(next.file_text);
    merged.has_file = next.has_file;
    return merged;
}

}  // namespace

void write_log_line(std::string_view line) {
    std::string text(line);
    text += '\n';
    // One write a line: lines of several threads do not mix. A log that cannot be written is lost.
    [[maybe_unused]] const ssize_t count = ::write(STDERR_FILENO, text.data(), text.size());
}

Result<Models> open_models(const Settings& settings) {
    Models models;
    PAL_TRY(first, open_model(settings));
    models.add(std::move(first));
    for (const Endpoint& endpoint : settings.endpoints) {
        if (endpoint.name == settings.model) continue;
        PAL_TRY(model, open_endpoint(settings, endpoint));
        models.add(std::move(model));
    }
    if (settings.unknown_model == "default") models.answer_to_any_name();
    return models;
}

Result<std::shared_ptr<TlsIdentity>> open_identity(const Settings& settings) {
    if (settings.tls_cert.empty() && settings.tls_key.empty()) return nullptr;
    if (settings.tls_cert.empty() || settings.tls_key.empty())
        return fail(ErrorCode::invalid_request, "tls_cert and tls_key are given together or not",
                    settings.tls_cert.empty() ? "tls_cert" : "tls_key");
    return TlsIdentity::load(settings.tls_cert, settings.tls_key);
}

ServerTerms terms_of(const Settings& settings) {
    const auto ms = [](std::uint64_t value) { return static_cast<int>(value); };
    ServerTerms terms;
    terms.limits = {.body_bytes_max = settings.body_bytes_max,
                    .header_bytes_max = settings.header_bytes_max,
                    .connections_max = settings.connections_max,
                    .streams_max = settings.streams_max,
                    .queue_max = settings.queue_max,
                    .json_depth_max = settings.json_depth_max,
                    .items_max = settings.items_max,
                    .header_timeout_ms = ms(settings.header_timeout_ms),
                    .body_timeout_ms = ms(settings.body_timeout_ms),
                    .idle_timeout_ms = ms(settings.idle_timeout_ms),
                    .write_timeout_ms = ms(settings.write_timeout_ms),
                    .request_timeout_ms = ms(settings.request_timeout_ms)};
    terms.hosts = split_list(settings.hosts);
    if (settings.log_level == "info") terms.log = write_log_line;
    terms.finish_abandoned = settings.client_gone == "finish";
    return terms;
}

Result<Reloaded> reload(Serving& serving, Settings next) {
    // Somebody is writing it anew, or has lost it: nobody has asked for a server without models.
    if (serving.settings.has_file && !next.has_file)
        return fail(
            ErrorCode::invalid_request,
            "the settings file palimpsest.toml, which was there when the server read it last, is "
            "gone: put it back, empty if nothing shall be set, and send SIGHUP again",
            "config");
    Reloaded difference = compare(serving.settings, next);
    for (std::string& name : keep_encodings(serving.settings, next))
        difference.after_restart.push_back(std::move(name));
    const bool same_file = serving.settings.file_text == next.file_text;
    for (const std::string_view name : {"models", "agents"})
        if (table_in_file(serving.settings.file_text, name) != table_in_file(next.file_text, name))
            difference.changed.emplace_back(name);
    next = with_live(serving.settings, std::move(next));
    PAL_TRY(models, open_models(next));
    if (serving.identity) {
        PAL_TRY(another, serving.identity->reload(next.tls_cert, next.tls_key));
        if (another) difference.changed.emplace_back("certificate");
    }
    // Nothing can fail from here on. Models and agents stand in the file alone, which is why they
    // are left as they are where it is the same.
    if (same_file) {
        serving.server.reload(terms_of(next));
    } else {
        serving.memory.reload(next.models, next.agents);
        serving.server.reload(std::move(models), terms_of(next));
    }
    serving.logging->store(next.log_level == "info");
    serving.settings = std::move(next);
    return difference;
}

std::string write_reloaded(const Result<Reloaded>& reloaded) {
    std::string text;
    JsonWriter out(text);
    out.begin_object().field("event", "reload").field("outcome", reloaded ? "done" : "refused");
    if (reloaded) {
        write_names(out, "changed", reloaded->changed);
        write_names(out, "after_restart", reloaded->after_restart);
    } else {
        out.field("code", error_info(reloaded.error().code).name);
        out.field("message", reloaded.error().message).field("param", reloaded.error().param);
    }
    out.end_object();
    return text;
}

}  // namespace palimpsest

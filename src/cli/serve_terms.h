// serve_terms: from the settings to what a server is started with, and what of it SIGHUP can
// change.
#pragma once
#include <atomic>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "cli/command.h"
#include "net/tls.h"
#include "server/server.h"

namespace palimpsest {

// One line of JSON on standard error.
void write_log_line(std::string_view line);

// The settings' model, which answers where a request names none, and all that say where they are.
Result<Models> open_models(const Settings& settings);
// Null without tls_cert; `invalid_request` when one of the two is missing or cannot be read.
Result<std::shared_ptr<TlsIdentity>> open_identity(const Settings& settings);
ServerTerms terms_of(const Settings& settings);

// What a running `pal serve` consists of, for SIGHUP.
struct Serving {
    Settings settings;  // in force
    Memory& memory;
    Server& server;
    std::shared_ptr<TlsIdentity> identity;  // null: it speaks plain HTTP
    std::shared_ptr<std::atomic<bool>> logging;
};

// Puts `next` into force, all of it or, where something of it is bad, nothing. Gives the names of
// what has changed and of what needs a restart to change.
struct Reloaded {
    std::vector<std::string> changed = {};
    std::vector<std::string> after_restart = {};
};
Result<Reloaded> reload(Serving& serving, Settings next);

// The line that is logged of it.
std::string write_reloaded(const Result<Reloaded>& reloaded);

}  // namespace palimpsest

// tls: a client's TLS over any transport.
//
// Invariant: nothing of the application is written before the server's certificate was verified
// against the trusted authorities and against the host's name. There is no way to switch that off.
#pragma once
#include <memory>
#include <string>

#include "net/transport.h"
#include "palimpsest/error.h"

namespace palimpsest {

// `ca_file`: a PEM file of the authorities to trust; empty: the system's.
Result<std::unique_ptr<Transport>> tls_transport(std::unique_ptr<Transport> lower,
                                                 const std::string& host,
                                                 const std::string& ca_file);

}  // namespace palimpsest

// tls: TLS over any transport, as a client and as a server. 1.2 or later.
//
// Invariants: a client writes nothing of the application before the server's certificate was
// verified against the trusted authorities and against the host's name; there is no way to switch
// that off. A server always has a certificate whose key fits: what cannot be loaded replaces
// nothing.
#pragma once
#include <memory>
#include <mutex>
#include <string>

#include "net/transport.h"
#include "palimpsest/error.h"

namespace palimpsest {

// `ca_file`: a PEM file of the authorities to trust; empty: the system's.
Result<std::unique_ptr<Transport>> tls_transport(std::unique_ptr<Transport> lower,
                                                 const std::string& host,
                                                 const std::string& ca_file);

// Whether what has arrived begins with a TLS handshake; true also when nothing has.
bool begins_tls(const Transport& lower);

// A server's certificate (with its chain) and key, as PEM files. From any thread.
class TlsIdentity {
public:
    // `invalid_request` names the setting and the file that is to blame.
    static Result<std::shared_ptr<TlsIdentity>> load(const std::string& certificate_file,
                                                     const std::string& key_file);
    ~TlsIdentity();
    TlsIdentity(const TlsIdentity&) = delete;
    TlsIdentity& operator=(const TlsIdentity&) = delete;

    // For connections from now on; those that are open keep what they have. Where it fails, the
    // one in force stays. Gives whether it is another certificate.
    Result<bool> reload(const std::string& certificate_file, const std::string& key_file);

    // The server's side of a connection; shake_hands comes next. `unavailable`: out of memory.
    Result<std::unique_ptr<Transport>> accept(std::unique_ptr<Transport> lower) const;

private:
    struct Loaded;
    static Result<std::shared_ptr<const Loaded>> read(const std::string& certificate_file,
                                                      const std::string& key_file);
    explicit TlsIdentity(std::shared_ptr<const Loaded> loaded);

    mutable std::mutex mutex_;
    std::shared_ptr<const Loaded> loaded_;
};

}  // namespace palimpsest

#include "net/tls.h"

#include <arpa/inet.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <array>
#include <limits>
#include <string_view>
#include <utility>

namespace palimpsest {
namespace {

template <auto release>
struct Releaser {
    template <class T>
    void operator()(T* object) const {
        release(object);
    }
};
using Method = std::unique_ptr<BIO_METHOD, Releaser<BIO_meth_free>>;
using Settings = std::unique_ptr<SSL_CTX, Releaser<SSL_CTX_free>>;
using Connection = std::unique_ptr<SSL, Releaser<SSL_free>>;

std::string openssl_error() {
    std::array<char, 256> text = {};
    const unsigned long code = ::ERR_get_error();
    if (code == 0) return "the connection was cut";
    ::ERR_error_string_n(code, text.data(), text.size());
    return text.data();
}

Transport& lower_of(BIO* bio) {
    return *static_cast<Transport*>(::BIO_get_data(bio));
}

// OpenSSL reads and writes through the lower transport, which never blocks or raises SIGPIPE.
int finish(BIO* bio, const IoResult& result) {
    ::BIO_clear_retry_flags(bio);
    if (result.state == IoState::done) return static_cast<int>(result.bytes);
    if (result.state == IoState::closed) return 0;
    if (result.state == IoState::want_read) ::BIO_set_retry_read(bio);
    if (result.state == IoState::want_write) ::BIO_set_retry_write(bio);
    return -1;
}
int bio_read(BIO* bio, char* buffer, int size) {
    return finish(bio, lower_of(bio).read_some(std::span(buffer, static_cast<std::size_t>(size))));
}
int bio_write(BIO* bio, const char* bytes, int size) {
    const std::string_view view(bytes, static_cast<std::size_t>(size));
    return finish(bio, lower_of(bio).write_some(view));
}
long bio_control(BIO*, int command, long, void*) {
    return command == BIO_CTRL_FLUSH ? 1 : 0;
}

class TlsTransport final : public Transport {
public:
    explicit TlsTransport(std::unique_ptr<Transport> lower) : lower_(std::move(lower)) {}
    Result<void> open(const std::string& host, const std::string& ca_file);

    int descriptor() const override { return lower_->descriptor(); }
    IoResult shake_hands() override { return outcome(::SSL_do_handshake(ssl_.get())); }
    IoResult read_some(std::span<char> buffer) override {
        const auto size = std::min<std::size_t>(buffer.size(), std::numeric_limits<int>::max());
        return outcome(::SSL_read(ssl_.get(), buffer.data(), static_cast<int>(size)));
    }
    IoResult write_some(std::string_view bytes) override {
        const auto size = std::min<std::size_t>(bytes.size(), std::numeric_limits<int>::max());
        return outcome(::SSL_write(ssl_.get(), bytes.data(), static_cast<int>(size)));
    }
    void end_writing() override {
        ::SSL_shutdown(ssl_.get());
        lower_->end_writing();
    }
    std::string failure() const override { return failure_; }

private:
    IoResult outcome(int result);
    bool attach();
    bool expect(const std::string& host);

    std::unique_ptr<Transport> lower_;
    Method method_;
    Settings settings_;
    Connection ssl_;
    std::string failure_;
};

IoResult TlsTransport::outcome(int result) {
    if (result > 0) return {IoState::done, static_cast<std::size_t>(result)};
    switch (::SSL_get_error(ssl_.get(), result)) {
        case SSL_ERROR_WANT_READ:
            return {IoState::want_read, 0};
        case SSL_ERROR_WANT_WRITE:
            return {IoState::want_write, 0};
        case SSL_ERROR_ZERO_RETURN:
            return {IoState::closed, 0};
        default:
            break;
    }
    const long verified = ::SSL_get_verify_result(ssl_.get());
    failure_ = verified == X509_V_OK ? openssl_error() : ::X509_verify_cert_error_string(verified);
    ::ERR_clear_error();
    return {IoState::failed, 0};
}

bool TlsTransport::attach() {
    BIO* const bio = ::BIO_new(method_.get());
    if (bio == nullptr) return false;
    ::BIO_set_data(bio, lower_.get());
    ::BIO_set_init(bio, 1);
    ::SSL_set_bio(ssl_.get(), bio, bio);
    return true;
}

// The name to ask for (SNI) and to find in the certificate; an address is only looked for there.
bool TlsTransport::expect(const std::string& host) {
    std::array<unsigned char, sizeof(in6_addr)> address = {};
    const bool is_address = ::inet_pton(AF_INET, host.c_str(), address.data()) == 1 ||
                            ::inet_pton(AF_INET6, host.c_str(), address.data()) == 1;
    if (is_address)
        return ::X509_VERIFY_PARAM_set1_ip_asc(::SSL_get0_param(ssl_.get()), host.c_str()) == 1;
    ::SSL_set_hostflags(ssl_.get(), X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
    return ::SSL_set_tlsext_host_name(ssl_.get(), host.c_str()) == 1 &&
           ::SSL_set1_host(ssl_.get(), host.c_str()) == 1;
}

Result<void> TlsTransport::open(const std::string& host, const std::string& ca_file) {
    method_.reset(::BIO_meth_new(::BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "transport"));
    settings_.reset(::SSL_CTX_new(::TLS_client_method()));
    if (!method_ || !settings_) return fail(ErrorCode::internal, "TLS: " + openssl_error());
    ::BIO_meth_set_read(method_.get(), bio_read);
    ::BIO_meth_set_write(method_.get(), bio_write);
    ::BIO_meth_set_ctrl(method_.get(), bio_control);
    ::SSL_CTX_set_min_proto_version(settings_.get(), TLS1_2_VERSION);
    ::SSL_CTX_set_verify(settings_.get(), SSL_VERIFY_PEER, nullptr);
    ::SSL_CTX_set_mode(settings_.get(),
                       SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    const int trusted = ca_file.empty()
                            ? ::SSL_CTX_set_default_verify_paths(settings_.get())
                            : ::SSL_CTX_load_verify_file(settings_.get(), ca_file.c_str());
    if (trusted != 1)
        return fail(ErrorCode::unavailable,
                    "cannot read the trusted certificates " + ca_file + ": " + openssl_error());
    ssl_.reset(::SSL_new(settings_.get()));
    if (!ssl_ || !attach() || !expect(host))
        return fail(ErrorCode::internal, "TLS: " + openssl_error());
    ::SSL_set_connect_state(ssl_.get());
    return {};
}

}  // namespace

Result<std::unique_ptr<Transport>> tls_transport(std::unique_ptr<Transport> lower,
                                                 const std::string& host,
                                                 const std::string& ca_file) {
    auto transport = std::make_unique<TlsTransport>(std::move(lower));
    PAL_CHECK(transport->open(host, ca_file));
    return std::unique_ptr<Transport>(std::move(transport));
}

}  // namespace palimpsest

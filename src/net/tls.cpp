#include "net/tls.h"

#include <arpa/inet.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <sys/socket.h>

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
    ~TlsTransport() override { say_goodbye(); }
    TlsTransport(const TlsTransport&) = delete;
    TlsTransport& operator=(const TlsTransport&) = delete;
    Result<void> connect(const std::string& host, const std::string& ca_file);
    Result<void> accept(SSL_CTX* settings);

    int descriptor() const override { return lower_->descriptor(); }
    IoResult shake_hands() override {
        ::ERR_clear_error();
        return outcome(::SSL_do_handshake(ssl_.get()));
    }
    IoResult read_some(std::span<char> buffer) override {
        const auto size = std::min<std::size_t>(buffer.size(), std::numeric_limits<int>::max());
        ::ERR_clear_error();
        return outcome(::SSL_read(ssl_.get(), buffer.data(), static_cast<int>(size)));
    }
    IoResult write_some(std::string_view bytes) override {
        const auto size = std::min<std::size_t>(bytes.size(), std::numeric_limits<int>::max());
        ::ERR_clear_error();
        return outcome(::SSL_write(ssl_.get(), bytes.data(), static_cast<int>(size)));
    }
    void end_writing() override {
        say_goodbye();
        lower_->end_writing();
    }
    std::string failure() const override { return failure_; }

private:
    IoResult outcome(int result);
    void say_goodbye();
    Result<void> attach(SSL_CTX* settings);
    bool expect(const std::string& host);

    std::unique_ptr<Transport> lower_;
    Method method_;
    Connection ssl_;  // holds what it needs of its settings
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

// So that the peer can tell an end from a cut; once, and not after a fault.
void TlsTransport::say_goodbye() {
    if (!ssl_ || !failure_.empty() || !::SSL_is_init_finished(ssl_.get())) return;
    if ((::SSL_get_shutdown(ssl_.get()) & SSL_SENT_SHUTDOWN) == 0) ::SSL_shutdown(ssl_.get());
}

Result<void> TlsTransport::attach(SSL_CTX* settings) {
    method_.reset(::BIO_meth_new(BIO_TYPE_SOURCE_SINK, "transport"));
    ssl_.reset(::SSL_new(settings));
    BIO* const bio = method_ && ssl_ ? ::BIO_new(method_.get()) : nullptr;
    if (bio == nullptr) return fail(ErrorCode::unavailable, "TLS: " + openssl_error());
    ::BIO_meth_set_read(method_.get(), bio_read);
    ::BIO_meth_set_write(method_.get(), bio_write);
    ::BIO_meth_set_ctrl(method_.get(), bio_control);
    ::BIO_set_data(bio, lower_.get());
    ::BIO_set_init(bio, 1);
    ::SSL_set_bio(ssl_.get(), bio, bio);
    return {};
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

Settings make_settings(const SSL_METHOD* method) {
    Settings settings(::SSL_CTX_new(method));
    if (!settings) return settings;
    ::SSL_CTX_set_min_proto_version(settings.get(), TLS1_2_VERSION);
    ::SSL_CTX_set_mode(settings.get(), SSL_MODE_ENABLE_PARTIAL_WRITE |
                                           SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                                           SSL_MODE_RELEASE_BUFFERS);
    return settings;
}

Result<void> TlsTransport::connect(const std::string& host, const std::string& ca_file) {
    const Settings settings = make_settings(::TLS_client_method());
    if (!settings) return fail(ErrorCode::internal, "TLS: " + openssl_error());
    ::SSL_CTX_set_verify(settings.get(), SSL_VERIFY_PEER, nullptr);
    const int trusted = ca_file.empty()
                            ? ::SSL_CTX_set_default_verify_paths(settings.get())
                            : ::SSL_CTX_load_verify_file(settings.get(), ca_file.c_str());
    if (trusted != 1)
        return fail(ErrorCode::unavailable,
                    "cannot read the trusted certificates " + ca_file + ": " + openssl_error());
    PAL_CHECK(attach(settings.get()));
    if (!expect(host)) return fail(ErrorCode::internal, "TLS: " + openssl_error());
    ::SSL_set_connect_state(ssl_.get());
    return {};
}

Result<void> TlsTransport::accept(SSL_CTX* settings) {
    PAL_CHECK(attach(settings));
    ::SSL_set_accept_state(ssl_.get());
    return {};
}

// A client that speaks several protocols is told which one this is.
int choose_protocol(SSL*, const unsigned char** chosen, unsigned char* size,
                    const unsigned char* offered, unsigned int offered_size, void*) {
    static constexpr unsigned char ours[] = "\x08http/1.1";  // `chosen` points into it.
    unsigned char* found = nullptr;
    if (::SSL_select_next_proto(&found, size, ours, sizeof ours - 1, offered, offered_size) !=
        OPENSSL_NPN_NEGOTIATED)
        return SSL_TLSEXT_ERR_NOACK;
    *chosen = found;
    return SSL_TLSEXT_ERR_OK;
}

// A key with a password is refused: nobody is there to type it.
int no_password(char*, int, int, void*) {
    return -1;
}

std::unexpected<Error> cannot_read(std::string what, const std::string& file, std::string param) {
    const std::string why = openssl_error();
    ::ERR_clear_error();
    return fail(ErrorCode::invalid_request, what + " " + file + ": " + why, std::move(param));
}

}  // namespace

bool begins_tls(const Transport& lower) {
    constexpr char handshake_record = 0x16;
    char first = handshake_record;
    return ::recv(lower.descriptor(), &first, 1, MSG_PEEK) != 1 || first == handshake_record;
}

struct TlsIdentity::Loaded {
    Settings settings;
};

TlsIdentity::TlsIdentity(std::shared_ptr<const Loaded> loaded) : loaded_(std::move(loaded)) {}
TlsIdentity::~TlsIdentity() = default;

Result<std::shared_ptr<const TlsIdentity::Loaded>> TlsIdentity::read(
    const std::string& certificate_file, const std::string& key_file) {
    Settings settings = make_settings(::TLS_server_method());
    if (!settings) return fail(ErrorCode::internal, "TLS: " + openssl_error());
    SSL_CTX* const context = settings.get();
    ::SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION | SSL_OP_CIPHER_SERVER_PREFERENCE);
    ::SSL_CTX_set_default_passwd_cb(context, no_password);
    ::SSL_CTX_set_alpn_select_cb(context, choose_protocol, nullptr);
    ::ERR_clear_error();
    if (::SSL_CTX_use_certificate_chain_file(context, certificate_file.c_str()) != 1)
        return cannot_read("cannot read the certificate", certificate_file, "tls_cert");
    // Compares it with the certificate as well.
    if (::SSL_CTX_use_PrivateKey_file(context, key_file.c_str(), SSL_FILETYPE_PEM) != 1)
        return cannot_read("cannot use the key", key_file, "tls_key");
    return std::make_shared<const Loaded>(std::move(settings));
}

Result<std::shared_ptr<TlsIdentity>> TlsIdentity::load(const std::string& certificate_file,
                                                       const std::string& key_file) {
    PAL_TRY(loaded, read(certificate_file, key_file));
    return std::shared_ptr<TlsIdentity>(new TlsIdentity(std::move(loaded)));
}

Result<bool> TlsIdentity::reload(const std::string& certificate_file, const std::string& key_file) {
    PAL_TRY(loaded, read(certificate_file, key_file));
    const std::scoped_lock lock(mutex_);
    const bool another = X509_cmp(SSL_CTX_get0_certificate(loaded->settings.get()),
                                  SSL_CTX_get0_certificate(loaded_->settings.get())) != 0;
    loaded_ = std::move(loaded);
    return another;
}

Result<std::unique_ptr<Transport>> TlsIdentity::accept(std::unique_ptr<Transport> lower) const {
    const std::shared_ptr<const Loaded> loaded = [&] {
        const std::scoped_lock lock(mutex_);
        return loaded_;
    }();
    auto transport = std::make_unique<TlsTransport>(std::move(lower));
    PAL_CHECK(transport->accept(loaded->settings.get()));
    return std::unique_ptr<Transport>(std::move(transport));
}

Result<std::unique_ptr<Transport>> tls_transport(std::unique_ptr<Transport> lower,
                                                 const std::string& host,
                                                 const std::string& ca_file) {
    auto transport = std::make_unique<TlsTransport>(std::move(lower));
    PAL_CHECK(transport->connect(host, ca_file));
    return std::unique_ptr<Transport>(std::move(transport));
}

}  // namespace palimpsest

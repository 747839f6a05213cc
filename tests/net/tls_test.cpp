// The TLS client against a server of the test's own, with certificates made on the spot.
#include <gtest/gtest.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>

#include "net/http_client.h"
#include "net/listen.h"

namespace palimpsest {
namespace {

template <auto release>
struct Releaser {
    template <class T>
    void operator()(T* object) const {
        release(object);
    }
};
using Key = std::unique_ptr<EVP_PKEY, Releaser<EVP_PKEY_free>>;
using Certificate = std::unique_ptr<X509, Releaser<X509_free>>;

struct Identity {
    Key key;
    Certificate certificate;
};

// A self-signed certificate for `names`, such as "DNS:localhost,IP:127.0.0.1".
Identity make_identity(const char* names, long days) {
    Identity identity;
    identity.key.reset(EVP_EC_gen("P-256"));
    identity.certificate.reset(X509_new());
    X509* const x = identity.certificate.get();
    X509_set_version(x, 2);
    ASN1_INTEGER_set(X509_get_serialNumber(x), 1);
    X509_gmtime_adj(X509_getm_notBefore(x), -3 * 24 * 3600);
    X509_gmtime_adj(X509_getm_notAfter(x), days * 24 * 3600);
    X509_set_pubkey(x, identity.key.get());
    const auto* common = reinterpret_cast<const unsigned char*>("test");
    X509_NAME_add_entry_by_txt(X509_get_subject_name(x), "CN", MBSTRING_ASC, common, -1, -1, 0);
    X509_set_issuer_name(x, X509_get_subject_name(x));
    for (const auto& [kind, value] : {std::pair{NID_basic_constraints, "critical,CA:TRUE"},
                                      std::pair{NID_subject_alt_name, names}}) {
        X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, nullptr, kind, value);
        X509_add_ext(x, extension, -1);
        X509_EXTENSION_free(extension);
    }
    X509_sign(x, identity.key.get(), EVP_sha256());
    return identity;
}

// Serves one connection: answers one request, and remembers what it was asked and for which name.
class TlsServer {
public:
    explicit TlsServer(const Identity& identity) : settings_(SSL_CTX_new(TLS_server_method())) {
        SSL_CTX_use_certificate(settings_.get(), identity.certificate.get());
        SSL_CTX_use_PrivateKey(settings_.get(), identity.key.get());
        const auto listener = listen_on("127.0.0.1", 0);
        EXPECT_TRUE(listener);
        fd_ = listener->descriptor;
        port = listener->port;
        thread_ = std::thread([this] { serve(); });
    }
    ~TlsServer() {
        join();
        ::close(fd_);
    }
    void join() {
        if (thread_.joinable()) thread_.join();
    }
    std::uint16_t port = 0;
    std::string asked;
    std::string name;

private:
    void serve() {
        // OpenSSL's own sockets raise it; the client under test must not.
        sigset_t pipe = {};
        sigaddset(&pipe, SIGPIPE);
        pthread_sigmask(SIG_BLOCK, &pipe, nullptr);
        pollfd waiting = {.fd = fd_, .events = POLLIN, .revents = 0};
        ::poll(&waiting, 1, 20'000);
        const int client = ::accept(fd_, nullptr, nullptr);
        if (client < 0) return;
        const std::unique_ptr<SSL, Releaser<SSL_free>> ssl(SSL_new(settings_.get()));
        SSL_set_fd(ssl.get(), client);
        if (SSL_accept(ssl.get()) == 1) {
            const char* sni = SSL_get_servername(ssl.get(), TLSEXT_NAMETYPE_host_name);
            name = sni == nullptr ? "" : sni;
            char buffer[4096];
            const int n = SSL_read(ssl.get(), buffer, sizeof buffer);
            if (n > 0) asked.assign(buffer, static_cast<std::size_t>(n));
            const std::string body(100'000, 's');
            const std::string answer =
                "HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" +
                body;
            if (n > 0) SSL_write(ssl.get(), answer.data(), static_cast<int>(answer.size()));
            SSL_shutdown(ssl.get());
        }
        ::close(client);
    }
    std::unique_ptr<SSL_CTX, Releaser<SSL_CTX_free>> settings_;
    int fd_ = -1;
    std::thread thread_;
};

// The certificate as a file of trusted authorities, for the length of a scope.
class TrustFile {
public:
    explicit TrustFile(const Identity& identity)
        : path(std::filesystem::temp_directory_path() /
               ("pal_tls_" + std::to_string(::getpid()) + ".pem")) {
        FILE* file = std::fopen(path.c_str(), "w");
        PEM_write_X509(file, identity.certificate.get());
        std::fclose(file);
    }
    ~TrustFile() { std::filesystem::remove(path); }
    std::string path;
};

Result<HttpResponse> ask(const std::string& host, std::uint16_t port, const std::string& ca_file) {
    Url url;
    url.tls = true;
    url.host = host;
    url.port = port;
    HttpClientOptions options;
    options.ca_file = ca_file;
    HttpClient client(url, options);
    return client.send(make_request("GET", "/secret"));
}

TEST(tls_client, talks_to_a_server_whose_name_or_address_is_certified) {
    const Identity identity = make_identity("DNS:localhost,IP:127.0.0.1", 2);
    const TrustFile trust(identity);
    for (const std::string host : {"localhost", "127.0.0.1"}) {
        TlsServer server(identity);
        const auto answer = ask(host, server.port, trust.path);
        ASSERT_TRUE(answer) << answer.error().message;
        EXPECT_EQ(answer->body, std::string(100'000, 's'));
        server.join();
        EXPECT_TRUE(server.asked.starts_with("GET /secret HTTP/1.1\r\n"));
        EXPECT_EQ(server.name, host == "localhost" ? "localhost" : "");
    }
}

TEST(tls_client, sends_nothing_to_a_server_it_cannot_trust) {
    const Identity right = make_identity("DNS:localhost", 2);
    const Identity other_name = make_identity("DNS:example.org", 2);
    const Identity expired = make_identity("DNS:localhost", -1);
    struct Row {
        const char* why;
        const Identity& identity;
        const Identity* trusted;
    };
    const Row rows[] = {
        {"hostname mismatch", other_name, &other_name},
        {"certificate has expired", expired, &expired},
        {"self-signed certificate", right, nullptr},
        {"self-signed certificate", right, &other_name},
    };
    for (const Row& row : rows) {
        TlsServer server(row.identity);
        std::unique_ptr<TrustFile> trust;
        if (row.trusted != nullptr) trust = std::make_unique<TrustFile>(*row.trusted);
        const auto answer = ask("localhost", server.port, trust ? trust->path : "");
        ASSERT_FALSE(answer) << row.why;
        EXPECT_EQ(answer.error().code, ErrorCode::unavailable);
        EXPECT_NE(answer.error().message.find(row.why), std::string::npos)
            << answer.error().message;
        server.join();
        EXPECT_EQ(server.asked, "") << row.why;
    }
}

TEST(tls_client, names_the_file_of_authorities_it_cannot_read) {
    const Identity identity = make_identity("DNS:localhost", 2);
    TlsServer server(identity);
    const auto answer = ask("localhost", server.port, "/nowhere.pem");
    ASSERT_FALSE(answer);
    EXPECT_NE(answer.error().message.find("/nowhere.pem"), std::string::npos);
}

}  // namespace
}  // namespace palimpsest

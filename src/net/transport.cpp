#include "net/transport.h"

#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <system_error>

namespace palimpsest {
namespace {

class TcpTransport final : public Transport {
public:
    explicit TcpTransport(int descriptor) : descriptor_(descriptor) {}
    ~TcpTransport() override { ::close(descriptor_); }
    TcpTransport(const TcpTransport&) = delete;
    TcpTransport& operator=(const TcpTransport&) = delete;

    int descriptor() const override { return descriptor_; }
    bool is_duplex() const override { return true; }
    IoResult read_some(std::span<char> buffer) override {
        const ssize_t n = ::recv(descriptor_, buffer.data(), buffer.size(), 0);
        if (n == 0) return {IoState::closed, 0};
        return outcome(n, IoState::want_read);
    }
    IoResult write_some(std::string_view bytes) override {
        const ssize_t n = ::send(descriptor_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
        return outcome(n, IoState::want_write);
    }
    void end_writing() override { ::shutdown(descriptor_, SHUT_WR); }
    std::string failure() const override { return std::generic_category().message(errno_); }

private:
    IoResult outcome(ssize_t n, IoState wanted) {
        if (n >= 0) return {IoState::done, static_cast<std::size_t>(n)};
        if (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR) return {wanted, 0};
        errno_ = errno;
        return {IoState::failed, 0};
    }

    int descriptor_;
    std::atomic<int> errno_ = 0;
};

}  // namespace

std::unique_ptr<Transport> tcp_transport(int descriptor) {
    return std::make_unique<TcpTransport>(descriptor);
}

}  // namespace palimpsest

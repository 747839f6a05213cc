// transport: a connected, non-blocking byte stream. Whoever owns it does the waiting: the server
// with a Watch on its loop, the blocking client with poll. TLS is one more implementation.
//
// Invariant: no call blocks and no call raises SIGPIPE.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace palimpsest {

enum class IoState : std::uint8_t {
    done,        // at least one byte was moved
    want_read,   // try again when the descriptor is readable
    want_write,  // try again when it is writable
    closed,      // the peer has ended its side (read only)
    failed,      // the connection is broken
};

struct IoResult {
    IoState state = IoState::failed;
    std::size_t bytes = 0;
};

class Transport {
public:
    virtual ~Transport() = default;
    virtual int descriptor() const = 0;
    // One thread may write while another reads.
    virtual bool is_duplex() const { return false; }
    // To be called until it is `done`, before anything else.
    virtual IoResult shake_hands() { return {IoState::done, 0}; }
    virtual IoResult read_some(std::span<char> buffer) = 0;
    virtual IoResult write_some(std::string_view bytes) = 0;
    // Tells the peer that nothing more comes, as far as that goes without waiting.
    virtual void end_writing() = 0;
    // Why the last call failed, for people.
    virtual std::string failure() const = 0;
};

// Owns `descriptor`, which must be a non-blocking stream socket.
std::unique_ptr<Transport> tcp_transport(int descriptor);

}  // namespace palimpsest

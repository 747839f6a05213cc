// Sealing: AES-256-GCM with a random nonce for every seal, keys that vanish from memory, and where
// a master key comes from. The only file of the store that knows OpenSSL is seal.cpp.
//
// A seal is nonce (12 bytes), ciphertext, tag (16 bytes). It is bound to a text that is not in it
// (whose, where, which): the same seal in another place does not open.
#pragma once
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "palimpsest/error.h"
#include "palimpsest/types.h"

namespace palimpsest {

class SealKey {
public:
    static constexpr std::size_t size = 32;
    static SealKey random();
    // Exactly 32 bytes.
    static SealKey from(std::string_view bytes);
    SealKey() = default;
    ~SealKey();
    SealKey(const SealKey&) = default;
    SealKey& operator=(const SealKey&) = default;
    std::string_view bytes() const {
        return {reinterpret_cast<const char*>(bytes_.data()), bytes_.size()};
    }

private:
    std::array<std::uint8_t, size> bytes_{};
};

std::string seal(const SealKey& key, std::string_view plain, std::string_view bound_to);
// `forbidden` when it was sealed with another key, for another place, or was changed.
Result<std::string> unseal(const SealKey& key, std::string_view sealed, std::string_view bound_to);

// A keyed digest of a text (HMAC-SHA-256), as 32 hex digits: equal texts can be compared, and not
// guessed without the key.
std::string keyed_digest(const SealKey& key, std::string_view purpose, std::string_view text);

std::string sha256(std::string_view bytes);  // 32 bytes

std::string to_base64(std::string_view bytes);
Result<std::string> from_base64(std::string_view text);

// A key that seals keys, with a short name that tells one from another.
struct MasterKey {
    SealKey key;
    std::string id;
};
// Where each comes from: file:PATH, env:NAME, command:COMMAND; several separated by commas. A key
// is 32 bytes, as they are, in hex or in base64. Errors never show it.
Result<std::vector<MasterKey>> read_master_keys(std::string_view sources);
// A new key in hex, into a new file that only its owner may read.
Result<std::string> write_new_key(const std::string& path);

}  // namespace palimpsest

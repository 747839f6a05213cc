#include "store/seal.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "base/assert.h"
#include "store/files_disk.h"
#include "store/key_command.h"

namespace palimpsest {
namespace {

constexpr std::size_t nonce_bytes = 12, tag_bytes = 16;
constexpr std::size_t key_text_max = 4096;  // of a file or a command's output
constexpr Duration command_patience = std::chrono::seconds(30);

struct FreeCipher {
    void operator()(EVP_CIPHER_CTX* cipher) const { EVP_CIPHER_CTX_free(cipher); }
};
using Cipher = std::unique_ptr<EVP_CIPHER_CTX, FreeCipher>;

const unsigned char* bytes_of(std::string_view text) {
    return reinterpret_cast<const unsigned char*>(text.data());
}
unsigned char* bytes_of(std::string& text) {
    return reinterpret_cast<unsigned char*>(text.data());
}

std::unexpected<Error> not_ours() {
    return fail(ErrorCode::forbidden,
                "sealed content does not open: it was changed, or another key sealed it");
}

std::unexpected<Error> no_key(std::string what) {
    return fail(ErrorCode::invalid_request, std::move(what), "encryption_key");
}

int hex_digit(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
}

// 64 hex digits, or nothing.
std::string from_hex(std::string_view text) {
    if (text.size() != 2 * SealKey::size) return {};
    std::string bytes;
    for (std::size_t i = 0; i < text.size(); i += 2) {
        const int high = hex_digit(text[i]), low = hex_digit(text[i + 1]);
        if (high < 0 || low < 0) return {};
        bytes.push_back(static_cast<char>(high * 16 + low));
    }
    return bytes;
}

Result<SealKey> parse_key(std::string_view text, const std::string& where) {
    if (text.size() == SealKey::size) return SealKey::from(text);
    while (!text.empty() && std::strchr(" \t\r\n", text.back())) text.remove_suffix(1);
    std::string bytes = from_hex(text);
    if (bytes.empty()) bytes = from_base64(text).value_or("");
    if (text.size() == SealKey::size) bytes = text;
    if (bytes.size() == SealKey::size) return SealKey::from(bytes);
    return no_key(where +
                  " holds no key: 32 bytes, as they are, in hex or in base64; `pal keys new "
                  "FILE` makes one");
}

Result<std::string> text_of_source(std::string_view kind, const std::string& name) {
    if (kind == "file") {
        PAL_TRY(file, DiskFile::open(name, DiskFile::Mode::read));
        return file.read(0, key_text_max);
    }
    if (kind == "command") return output_of_command(name, key_text_max, command_patience);
    if (kind != "env")
        return no_key("the encryption key comes from file:PATH, env:NAME or command:COMMAND");
    const char* text = std::getenv(name.c_str());
    if (!text) return no_key("the variable " + name + " for the encryption key is not set");
    return std::string(text);
}

Result<MasterKey> read_master_key(std::string_view source) {
    const std::size_t colon = std::min(source.find(':'), source.size());
    const std::string name(source.substr(std::min(colon + 1, source.size())));
    PAL_TRY(text, text_of_source(source.substr(0, colon), name));
    PAL_TRY(key, parse_key(text, std::string(source.substr(0, colon)) + ":" + name));
    OPENSSL_cleanse(text.data(), text.size());
    return MasterKey{key, keyed_digest(key, "master", "id").substr(0, 16)};
}

}  // namespace

SealKey SealKey::random() {
    SealKey key;
    PAL_ASSERT(RAND_bytes(key.bytes_.data(), static_cast<int>(size)) == 1);
    return key;
}

SealKey SealKey::from(std::string_view bytes) {
    PAL_ASSERT(bytes.size() == size);
    SealKey key;
    std::memcpy(key.bytes_.data(), bytes.data(), size);
    return key;
}

SealKey::~SealKey() {
    OPENSSL_cleanse(bytes_.data(), bytes_.size());
}

std::string seal(const SealKey& key, std::string_view plain, std::string_view bound_to) {
    const Cipher cipher(EVP_CIPHER_CTX_new());
    std::string out(nonce_bytes + plain.size() + tag_bytes, '\0');
    PAL_ASSERT(RAND_bytes(bytes_of(out), nonce_bytes) == 1);
    int count = 0;
    const bool done = cipher &&
                      EVP_EncryptInit_ex(cipher.get(), EVP_aes_256_gcm(), nullptr,
                                         bytes_of(key.bytes()), bytes_of(out)) == 1 &&
                      EVP_EncryptUpdate(cipher.get(), nullptr, &count, bytes_of(bound_to),
                                        static_cast<int>(bound_to.size())) == 1 &&
                      EVP_EncryptUpdate(cipher.get(), bytes_of(out) + nonce_bytes, &count,
                                        bytes_of(plain), static_cast<int>(plain.size())) == 1 &&
                      EVP_EncryptFinal_ex(cipher.get(), bytes_of(out) + nonce_bytes + plain.size(),
                                          &count) == 1 &&
                      EVP_CIPHER_CTX_ctrl(cipher.get(), EVP_CTRL_GCM_GET_TAG, tag_bytes,
                                          bytes_of(out) + nonce_bytes + plain.size()) == 1;
    PAL_ASSERT(done);
    return out;
}

Result<std::string> unseal(const SealKey& key, std::string_view sealed, std::string_view bound_to) {
    if (sealed.size() < nonce_bytes + tag_bytes) return not_ours();
    const std::size_t size = sealed.size() - nonce_bytes - tag_bytes;
    std::string tag(sealed.substr(nonce_bytes + size)), out(size, '\0');
    const Cipher cipher(EVP_CIPHER_CTX_new());
    int count = 0;
    const bool opens =
        cipher &&
        EVP_DecryptInit_ex(cipher.get(), EVP_aes_256_gcm(), nullptr, bytes_of(key.bytes()),
                           bytes_of(sealed)) == 1 &&
        EVP_DecryptUpdate(cipher.get(), nullptr, &count, bytes_of(bound_to),
                          static_cast<int>(bound_to.size())) == 1 &&
        EVP_DecryptUpdate(cipher.get(), bytes_of(out), &count, bytes_of(sealed) + nonce_bytes,
                          static_cast<int>(size)) == 1 &&
        EVP_CIPHER_CTX_ctrl(cipher.get(), EVP_CTRL_GCM_SET_TAG, tag_bytes, bytes_of(tag)) == 1 &&
        EVP_DecryptFinal_ex(cipher.get(), bytes_of(out) + size, &count) == 1;
    if (!opens) return not_ours();
    return out;
}

std::string keyed_digest(const SealKey& key, std::string_view purpose, std::string_view text) {
    std::string whole(purpose);
    whole.push_back('\0');
    whole += text;
    unsigned char digest[EVP_MAX_MD_SIZE];
    unsigned int size = 0;
    HMAC(EVP_sha256(), key.bytes().data(), static_cast<int>(SealKey::size), bytes_of(whole),
         whole.size(), digest, &size);
    std::string hex;
    for (unsigned int i = 0; i < 16 && i < size; ++i) {
        constexpr char digits[] = "0123456789abcdef";
        hex += {digits[digest[i] >> 4], digits[digest[i] & 15]};
    }
    return hex;
}

std::string sha256(std::string_view bytes) {
    std::string digest(32, '\0');
    const bool made = EVP_Digest(bytes.data(), bytes.size(), bytes_of(digest), nullptr,
                                 EVP_sha256(), nullptr) == 1;
    PAL_ASSERT(made);
    return digest;
}

std::string to_base64(std::string_view bytes) {
    std::string text((bytes.size() + 2) / 3 * 4 + 1, '\0');
    text.resize(static_cast<std::size_t>(
        EVP_EncodeBlock(bytes_of(text), bytes_of(bytes), static_cast<int>(bytes.size()))));
    return text;
}

Result<std::string> from_base64(std::string_view text) {
    std::string bytes(text.size() / 4 * 3, '\0');
    const int size = text.size() % 4 == 0 ? EVP_DecodeBlock(bytes_of(bytes), bytes_of(text),
                                                            static_cast<int>(text.size()))
                                          : -1;
    if (size < 0) return fail(ErrorCode::invalid_request, "not base64");
    const std::size_t padding = text.ends_with("==") ? 2 : text.ends_with("=") ? 1 : 0;
    bytes.resize(static_cast<std::size_t>(size) - padding);
    return bytes;
}

Result<std::vector<MasterKey>> read_master_keys(std::string_view sources) {
    std::vector<MasterKey> keys;
    while (!sources.empty()) {
        const std::string_view source = sources.substr(0, sources.find(','));
        PAL_TRY(key, read_master_key(source));
        keys.push_back(std::move(key));
        sources.remove_prefix(std::min(sources.size(), source.size() + 1));
    }
    if (keys.empty()) return no_key("no encryption key is given");
    return keys;
}

Result<std::string> write_new_key(const std::string& path) {
    const SealKey key = SealKey::random();
    std::string hex;
    for (const char byte : key.bytes()) {
        char digits[3];
        std::snprintf(digits, sizeof digits, "%02x", static_cast<unsigned char>(byte));
        hex += digits;
    }
    FILE* there = std::fopen(path.c_str(), "r");
    if (there) {
        std::fclose(there);
        return fail(ErrorCode::conflict, path + " exists; a key is never overwritten");
    }
    PAL_TRY(file, DiskFile::open(path, DiskFile::Mode::create));
    PAL_CHECK(file.write(0, hex + "\n"));
    PAL_CHECK(file.sync());
    OPENSSL_cleanse(hex.data(), hex.size());
    return keyed_digest(key, "master", "id").substr(0, 16);
}

}  // namespace palimpsest

// A folder for copies of what is looked into, gone with it.
#pragma once
#include <stdlib.h>

#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>

#include "palimpsest/error.h"

namespace palimpsest {

class ScratchFolder {
public:
    ScratchFolder() {
        std::error_code error;
        std::string name =
            (std::filesystem::temp_directory_path(error) / "pal_doctor_XXXXXX").string();
        if (!error && ::mkdtemp(name.data())) path_ = name;
    }
    ~ScratchFolder() {
        std::error_code ignored;
        if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
    }
    ScratchFolder(const ScratchFolder&) = delete;
    ScratchFolder& operator=(const ScratchFolder&) = delete;
    bool good() const { return !path_.empty(); }
    std::string file(std::string_view name) const { return path_ + "/" + std::string(name); }

private:
    std::string path_;
};

// Why a copy could not be made, and what helps.
inline std::unexpected<Error> no_copy(const std::error_code& error) {
    return fail(
        error == std::errc::no_space_on_device ? ErrorCode::no_space : ErrorCode::unavailable,
        "cannot make a copy to look into: " + error.message() +
            "; set TMPDIR to a folder with enough space");
}

}  // namespace palimpsest

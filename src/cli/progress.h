// A progress bar on standard error, where that is a terminal; nothing elsewhere.
#pragma once
#include <cstddef>
#include <string>

namespace palimpsest {

class ProgressBar {
public:
    explicit ProgressBar(std::string title);
    void show(std::size_t done, std::size_t total);
    void clear();

private:
    std::string title_;
    bool terminal_ = false, shown_ = false;
    std::size_t last_percent_ = SIZE_MAX;
};

}  // namespace palimpsest

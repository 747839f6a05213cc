#include "cli/progress.h"

#include <unistd.h>

#include <cstdio>
#include <utility>

namespace palimpsest {

ProgressBar::ProgressBar(std::string title)
    : title_(std::move(title)), terminal_(::isatty(STDERR_FILENO) == 1) {}

void ProgressBar::show(std::size_t done, std::size_t total) {
    const std::size_t percent = total == 0 ? 100 : done * 100 / total;
    if (!terminal_ || percent == last_percent_) return;
    last_percent_ = percent;
    shown_ = true;
    const std::string bar = std::string(percent * 30 / 100, '#');
    std::fprintf(stderr, "\r%s [%-30s] %zu/%zu", title_.c_str(), bar.c_str(), done, total);
}

void ProgressBar::clear() {
    if (shown_) std::fputs("\r\x1b[K", stderr);
    shown_ = false;
}

}  // namespace palimpsest

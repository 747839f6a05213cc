// The plot of a simulation as SVG: no script, no font of its own, readable on light and dark.
#include <algorithm>

#include "core/simulate.h"

namespace palimpsest {
namespace {

constexpr int width = 960, height = 480, left = 70, right = 20, top = 40, bottom = 50;
constexpr std::string_view colours[] = {"#888888", "#1f77b4", "#d62728", "#2ca02c",
                                        "#9467bd", "#ff7f0e", "#17becf", "#8c564b"};

std::string escaped(std::string_view text) {
    std::string out;
    for (const char c : text) {
        if (c == '<')
            out += "&lt;";
        else if (c == '>')
            out += "&gt;";
        else if (c == '&')
            out += "&amp;";
        else if (c == '"')
            out += "&quot;";
        else
            out += c;
    }
    return out;
}

// A round number that is at least `value`.
std::uint64_t round_up(std::uint64_t value) {
    std::uint64_t step = 1;
    while (step * 10 < value) step *= 10;
    return (value + step - 1) / step * step;
}

void append_text(std::string& out, int x, int y, std::string_view anchor, std::string_view text) {
    out += "<text x=\"" + std::to_string(x) + "\" y=\"" + std::to_string(y) + "\" text-anchor=\"" +
           std::string(anchor) + "\">" + escaped(text) + "</text>\n";
}

struct Scale {
    std::size_t calls = 1;
    std::uint64_t tokens = 1;
    int x(std::size_t call) const {
        return left + static_cast<int>(call * static_cast<std::size_t>(width - left - right) /
                                       std::max<std::size_t>(calls - 1, 1));
    }
    int y(std::uint64_t count) const {
        return height - bottom -
               static_cast<int>(count * static_cast<std::uint64_t>(height - top - bottom) / tokens);
    }
};

void append_axes(std::string& out, const Scale& scale) {
    for (std::uint64_t n = 0; n <= 4; ++n) {
        const std::uint64_t tokens = scale.tokens * n / 4;
        const std::string y = std::to_string(scale.y(tokens));
        out += "<line x1=\"" + std::to_string(left) + "\" x2=\"" + std::to_string(width - right) +
               "\" y1=\"" + y + "\" y2=\"" + y + "\" stroke=\"#8884\"/>\n";
        append_text(out, left - 8, scale.y(tokens) + 4, "end", std::to_string(tokens));
    }
    append_text(out, left, height - bottom + 20, "middle", "1");
    append_text(out, width - right, height - bottom + 20, "end", std::to_string(scale.calls));
    append_text(out, (left + width - right) / 2, height - 10, "middle", "call");
}

}  // namespace

std::string plot_svg(std::span<const PlotLine> lines, std::string_view title) {
    Scale scale;
    for (const PlotLine& line : lines) {
        scale.calls = std::max(scale.calls, line.tokens.size());
        for (const std::uint32_t tokens : line.tokens)
            scale.tokens = std::max<std::uint64_t>(scale.tokens, tokens);
    }
    scale.tokens = round_up(scale.tokens);
    std::string out = "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 " +
                      std::to_string(width) + " " + std::to_string(height) +
                      "\" font-family=\"sans-serif\" font-size=\"12\" fill=\"currentColor\">\n";
    append_text(out, left, 22, "start", title);
    append_axes(out, scale);
    int legend = 0;
    for (std::size_t n = 0; n < lines.size(); ++n) {
        const std::string colour(colours[n % std::size(colours)]);
        out += "<polyline fill=\"none\" stroke-width=\"1.5\" stroke=\"" + colour + "\" points=\"";
        for (std::size_t c = 0; c < lines[n].tokens.size(); ++c)
            out += std::to_string(scale.x(c)) + "," + std::to_string(scale.y(lines[n].tokens[c])) +
                   " ";
        out += "\"/>\n<text x=\"" + std::to_string(left + 10) + "\" y=\"" +
               std::to_string(top + 16 * ++legend) + "\" fill=\"" + colour + "\">" +
               escaped(lines[n].name) + "</text>\n";
    }
    return out + "</svg>\n";
}

}  // namespace palimpsest

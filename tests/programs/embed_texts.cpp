// embed_texts WEIGHTS.onnx [queries]: a JSON string for each line in, its vector of the local
// embedder as a JSON array for each line out.
#include <cstdio>
#include <iostream>
#include <string>

#include "base/json.h"
#include "palimpsest/search.h"

using namespace palimpsest;

int main(int argc, char** argv) {
    if (argc < 2) return 2;
    const auto embedder = make_local_embedder(argv[1]);
    if (!embedder) {
        std::fprintf(stderr, "%s\n", embedder.error().message.c_str());
        return 1;
    }
    for (std::string line; std::getline(std::cin, line);) {
        const auto document = parse_json(line);
        if (!document) return 2;
        const std::string text(document->root().string());
        const auto vectors =
            argc > 2 ? (*embedder)->embed_queries({&text, 1}) : (*embedder)->embed({&text, 1});
        if (!vectors) return 1;
        for (std::size_t i = 0; i < vectors->front().size(); ++i)
            std::printf("%c%.9g", i == 0 ? '[' : ',', static_cast<double>(vectors->front()[i]));
        std::puts("]");
    }
    return 0;
}

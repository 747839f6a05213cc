// Embeds what make_tables wrote. The assembler includes the files, so the compiler never sees them
// and the loader maps them: pages that no text needs are never read.
#include "token/tables.h"

#define PAL_EMBED(name)                                                                           \
    __asm__(".section .rodata\n.balign 64\n.global pal_table_" #name "\n.hidden pal_table_" #name \
            "\npal_table_" #name ":\n.incbin \"" PAL_TABLE_DIR "/" #name ".tbl\"\n.previous\n")
#define PAL_VOCABULARY(name) \
    PAL_EMBED(name);         \
    extern "C" __attribute__((visibility("hidden"))) const std::byte pal_table_##name[]

PAL_EMBED(classes);
PAL_VOCABULARY(o200k_base);
PAL_VOCABULARY(cl100k_base);
PAL_VOCABULARY(p50k_base);
PAL_VOCABULARY(r50k_base);

namespace palimpsest {

const std::byte* vocabulary_table(std::string_view name) {
    if (name == "o200k_base") return pal_table_o200k_base;
    if (name == "cl100k_base") return pal_table_cl100k_base;
    if (name == "p50k_base") return pal_table_p50k_base;
    if (name == "r50k_base") return pal_table_r50k_base;
    return nullptr;
}

}  // namespace palimpsest

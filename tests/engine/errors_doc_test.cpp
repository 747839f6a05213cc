// docs/ERRORS.md says what the error table says.
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "palimpsest/error.h"

namespace palimpsest {
namespace {

TEST(errors_document, has_every_row_of_the_table_and_no_other) {
    std::ifstream file(PAL_SOURCE_DIR "/docs/ERRORS.md");
    std::ostringstream text;
    text << file.rdbuf();
    std::string table;
    for (const ErrorInfo& row : error_table())
        table += "| `" + std::string(row.name) + "` | " + std::to_string(row.http_status) + " | " +
                 std::to_string(row.exit_status) + " | " + (row.retry ? "yes" : "no") + " | " +
                 std::string(row.meaning) + " |\n";
    EXPECT_NE(text.str().find("| --- | --- | --- | --- | --- |\n" + table + "\n"),
              std::string::npos)
        << table;
}

}  // namespace
}  // namespace palimpsest

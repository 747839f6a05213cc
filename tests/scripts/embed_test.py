"""Another project can take this one in: add_subdirectory, then link its libraries."""
import os
import subprocess
import sys
import tempfile
import unittest

SOURCE = sys.argv[2]
PROJECT = """cmake_minimum_required(VERSION 3.25)
project(mine LANGUAGES CXX)
add_subdirectory("%s" palimpsest EXCLUDE_FROM_ALL)
add_executable(mine mine.cpp)
target_link_libraries(mine PRIVATE palimpsest::palimpsest palimpsest::conformance)
get_target_property(options mine COMPILE_OPTIONS)
message(STATUS "options of mine: ${options}")
""" % SOURCE


class Embedded(unittest.TestCase):
    def test_configures_and_leaves_the_other_project_alone(self):
        with tempfile.TemporaryDirectory() as folder:
            for name, text in {"CMakeLists.txt": PROJECT, "mine.cpp": "int main() {}\n"}.items():
                with open(os.path.join(folder, name), "w") as file:
                    file.write(text)
            # The downloads of this build are enough: nothing is fetched.
            cache = os.path.join(os.path.dirname(sys.argv[1]), "cache")
            done = subprocess.run(["cmake", "-G", "Ninja", "-S", folder, "-B", folder + "/build",
                                   "-DPAL_CACHE_DIR=" + cache], capture_output=True, text=True)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            self.assertIn("options of mine: options-NOTFOUND", done.stdout)
            targets = subprocess.run(["ninja", "-C", folder + "/build", "-t", "targets", "all"],
                                     capture_output=True, text=True).stdout
            self.assertIn("libpal_engine.a", targets)
            self.assertNotIn("engine_test", targets)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0]])

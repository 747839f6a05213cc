"""Help, completion, version and the generated documents agree with what the program takes."""
import re
import subprocess

from pal_run import SOURCE, PalTest, main

COMMANDS = ["serve", "chat", "append", "view", "sent", "log", "list", "show", "fork", "checkpoint",
            "checkpoints", "pin", "unpin", "retract", "undo", "compact", "simulate", "summary",
            "recall", "search", "reindex", "breakdown", "diff", "scrub", "erase",
            "import", "export", "copy", "backup", "keys", "doctor", "bench",
            "validate", "repair", "convert", "count", "encode", "decode", "help", "version",
            "completion"]


class Help(PalTest):
    def flags_of(self, command):
        """The flags that the program itself takes, by its completion table."""
        script = self.ok("completion", "bash").out
        line = re.search(rf"(?m)^ +{command}\) .*-W \"([^\"]*)\"", script)
        return line.group(1).split()

    def test_lists_every_command(self):
        text = self.ok("help").out
        self.assertEqual(re.findall(r"(?m)^  ([a-z]+) ?", text)[:len(COMMANDS)], COMMANDS)

    def test_names_every_flag_of_every_command(self):
        for command in COMMANDS:
            text = self.ok("help", command).out
            self.assertTrue(text.startswith(f"usage: pal {command}"), text)
            shown = re.findall(r"(?m)^  (--[a-z-]+)", text)
            self.assertEqual(sorted(shown + ["--help"]), sorted(self.flags_of(command)), command)

    def test_is_given_by_the_flag_too(self):
        for command in COMMANDS:
            self.assertEqual(self.ok(command, "--help").out, self.ok("help", command).out)
        self.assertEqual(self.ok("view", "-h").out, self.ok("help", "view").out)
        for words in (["--help"], ["-h"]):
            self.assertEqual(self.ok(*words).out, self.ok("help").out)

    def test_every_flag_has_help_and_fits_its_line(self):
        for command in COMMANDS:
            for line in self.ok("help", command).out.splitlines():
                if line.startswith("  --"):
                    self.assertRegex(line, r"\A  --[a-z-]+( [A-Z0-9=:|.]+)? +\S.{8,}\Z")

    def test_settings_are_the_document(self):
        with open(f"{SOURCE}/docs/SETTINGS.md") as file:
            self.assertEqual(self.ok("help", "settings").out, file.read())

    def test_errors_are_the_document(self):
        with open(f"{SOURCE}/docs/ERRORS.md") as file:
            documented = re.findall(r"(?m)^\| `([a-z_]+)` \| (\d+) \| (\d+) \|", file.read())
        shown = [tuple(line.split()[:3]) for line in self.ok("help", "errors").out.splitlines()[1:]]
        self.assertEqual(shown, documented)
        self.assertEqual(len(shown), 14)

    def test_stores(self):
        self.assertRegex(self.ok("help", "stores").out, r"(?m)^sqlite:")

    def test_the_kinds_of_imports_and_exports_are_named_and_documented(self):
        kinds = re.findall(r"(?m)^  ([a-z_]+)  +\S", self.ok("help", "export").out.split("kinds (")[1])
        self.assertEqual(len(kinds), 10)
        self.assertIn("promptkit_parts", kinds)
        self.assertIn(self.ok("help", "export").out.split("kinds (")[1].split("\n\n")[0],
                      self.ok("help", "import").out)
        with open(f"{SOURCE}/docs/IMPORT.md") as file:
            documented = re.findall(r"(?m)^\| `([a-z_]+)` \|", file.read())
        self.assertEqual(documented, kinds)

    def test_settings_that_cannot_be_read_do_not_stop_it(self):
        self.write("palimpsest.toml", "tennant = 'x'\n")
        self.fails(2, "invalid_request", "list")
        self.assertTrue(self.ok("help", "view").out.startswith("usage: pal view"))
        self.assertIn("version", self.ok("version", "--json").json())

    def test_is_given_as_json_too(self):
        self.assertEqual([row["command"] for row in self.ok("help", "--json").lines()], COMMANDS)
        view = self.ok("help", "view", "--json").json()
        self.assertIn("--at", [flag["flag"] for flag in view["flags"]])
        self.assertEqual(len(self.ok("help", "errors", "--json").lines()), 14)

    def test_version(self):
        number = self.ok("version", "--json").json()["version"]
        self.assertRegex(number, r"\A\d+\.\d+\.\d+\Z")
        self.assertEqual(self.ok("version").out, f"pal {number}\n")
        self.assertEqual(self.ok("--version").out, f"pal {number}\n")

    def test_completion_works_in_bash(self):
        script = self.ok("completion", "bash").out
        probe = script + ('COMP_WORDS=(pal check); COMP_CWORD=1; _pal; echo "${COMPREPLY[*]}"\n'
                          'COMP_WORDS=(pal view a --ex); COMP_CWORD=3; _pal; '
                          'echo "${COMPREPLY[*]}"\n')
        done = subprocess.run(["bash", "-c", probe], capture_output=True, text=True, check=True)
        self.assertEqual(done.stdout.splitlines(), ["checkpoint checkpoints", "--explain"])


if __name__ == "__main__":
    main()

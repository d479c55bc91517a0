"""The tool as a whole, of both languages: completion of every flag that help tells of, and JSON from every verb."""

import contextlib
import functools
import importlib.util
import io
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

import axion
from axiond_case import AXIOND, ROOT, AxiondCase
from axiond_process import PATIENCE_SECONDS, eventually

QUADRUPED = ROOT / "clients" / "examples" / "models" / "quadruped.xml"
VERBS_OF_PYTHON = ("view", "render", "replay", "train", "play")
HAS_EXTRAS = all(importlib.util.find_spec(name) for name in ("gymnasium", "imageio_ffmpeg", "matplotlib", "viser"))

if HAS_EXTRAS:
    from axion.tool import main
    from axion.viewing.until_interrupt import UntilInterrupt
    from pictures import read_movie


# A verb of Python whose first line is followed by Ctrl-C at a moment at which an exception would be lost.
INTERRUPTED_IN_A_FINALIZER = """
import os, signal, sys
from axion import tool

class Interrupts:
    def __del__(self):
        os.kill(os.getpid(), signal.SIGINT)
        [number for number in range(1000)]  # the interpreter looks for signals between these

class Output:
    def __init__(self, output):
        self.output, self.flush = output, output.flush
    def write(self, text):
        written = self.output.write(text)
        if text.endswith("\\n"):
            Interrupts()
        return written

signal.signal(signal.SIGINT, signal.default_int_handler)
sys.stdout = Output(sys.stdout)
sys.exit(tool.main())
"""

# A verb whose module drops what is raised while it tries what it might import, as some packages do.
INTERRUPTED_IN_AN_IMPORT = """
import pathlib, signal, sys
from axion import tool

pathlib.Path(sys.argv[1], "drops_exceptions.py").write_text('''
import os, signal
try:
    os.kill(os.getpid(), signal.SIGINT)
    [number for number in range(1000)]  # the interpreter looks for signals between these
except BaseException:
    pass
def run(given):
    return 0
''')
sys.path.insert(0, sys.argv[1])
signal.signal(signal.SIGINT, signal.default_int_handler)
tool._VERBS["view"] = ("drops_exceptions", "view")
tool.parser = lambda verb: __import__("argparse").ArgumentParser()
sys.exit(tool.main(["view"]))
"""


def tool(*arguments, timeout=PATIENCE_SECONDS):
    """Exit code, output and error output."""
    environment = {**os.environ, "AXION_PYTHON": sys.executable}
    done = subprocess.run([pathlib.Path(AXIOND).with_name("axion"), *map(str, arguments)], capture_output=True, text=True,
                          timeout=timeout, env=environment)
    return done.returncode, done.stdout, done.stderr


def tool_here(verb, *arguments):
    """As `tool`, where a verb of Python runs in this interpreter: another one takes a second to start."""
    if verb not in VERBS_OF_PYTHON:
        return tool(verb, *arguments)
    told, error = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(told), contextlib.redirect_stderr(error):
        try:
            code = main([verb, *map(str, arguments)])
        except SystemExit as end:  # of the parser
            code = end.code
    return code, told.getvalue(), error.getvalue()


@functools.cache
def help_of(*verb):
    """What the tool prints as help, about all of it or about a verb; asked for once, as an interpreter takes its time to start."""
    code, told, error = tool("help", *verb)
    assert code == 0, error
    return told


def verbs():
    """Every verb that help lists."""
    return re.findall(r"^  ([a-z]+) +\S", help_of(), re.MULTILINE)


def flags_of_help(verb):
    """Every flag that the help of a verb tells of: a line of it begins with the flag and its other names."""
    heads = re.findall(r"^  (-.*?)(?:  |$)", help_of(verb), re.MULTILINE)
    return {name for head in heads for name in re.findall(r"--[A-Za-z][A-Za-z0-9_-]*", head)} - {"--help"}


@unittest.skipUnless(AXIOND and HAS_EXTRAS, "AXION_AXIOND does not name the server's program, or extras are not installed")
class Completion(unittest.TestCase):
    def test_flags_of_every_verb_are_those_of_its_help(self):
        self.assertGreater(len(verbs()), 15)
        for verb in verbs():
            with self.subTest(verb=verb):
                code, told, error = tool("help", verb, "--json")
                self.assertEqual(code, 0, error)
                listed = json.loads(told)
                self.assertEqual(set(listed), {"verb", "arguments", "summary", "flags"})
                self.assertEqual(listed["verb"], verb)
                self.assertTrue(listed["summary"])
                names = {flag["name"] for flag in listed["flags"]} - {"--help"}
                self.assertEqual(names, flags_of_help(verb))
                self.assertIn("--json", names)
                for flag in listed["flags"]:
                    self.assertTrue(flag["help"], f"{verb} {flag['name']} says nothing of itself")
                if verb in ("render", "run"):  # of either language
                    for words in ([verb, "--help", "--json"], ["--json", verb, "--help"], ["--json", "help", verb],
                                  ["completion", "flags", verb, "--json"])[:: 1 if verb == "run" else 3]:
                        self.assertEqual(tool(*words), (0, told, ""), words)

    def test_help_of_all_and_the_version_are_documents_too(self):
        told = json.loads(tool("help", "--json")[1])
        self.assertEqual([command["verb"] for command in told["commands"]], verbs())
        self.assertIn("--server", [flag["name"] for flag in told["flags"]])
        self.assertEqual(tool("--help", "--json"), tool("--json", "help"))
        self.assertEqual(tool("--version")[1], f"axion {json.loads(tool('--version', '--json')[1])['version']}\n")

    def test_help_about_what_is_no_command_is_a_mistake(self):
        for words in (["help", "fly"], ["fly", "--help"], ["--server", "127.0.0.1:1", "help", "fly", "--json"]):
            code, told, error = tool(*words)
            self.assertEqual((code, told), (2, ""), words)
            self.assertIn("no command 'fly'", error)
        self.assertEqual(tool("help", "help"), (0, help_of(), ""))
        # The word is no question where it is a value or comes later.
        self.assertIn("UNAVAILABLE", tool("reset", "batches/1", "--keyframe", "help", "--server", "127.0.0.1:1")[2])

    def test_the_examples_are_the_same_verbs(self):
        for name, verb in (("train_quadruped", "train"), ("play_policy", "play")):
            done = subprocess.run([sys.executable, "-B", ROOT / "clients" / "examples" / "python" / f"{name}.py", "--help"],
                                  capture_output=True, text=True, timeout=PATIENCE_SECONDS)
            self.assertEqual((done.returncode, done.stdout), (0, help_of(verb)), done.stderr)

    def completed(self, *words, times=1):
        """What bash offers for the last of these words, asked for so many times."""
        with tempfile.TemporaryDirectory() as folder:
            (pathlib.Path(folder) / "axion").symlink_to(pathlib.Path(AXIOND).with_name("axion"))
            given = " ".join(f"'{word}'" for word in ("axion", *words))
            program = (f"compopt() {{ :; }}; source <(axion completion bash); COMP_WORDS=({given}); COMP_CWORD={len(words)}; "
                       f"{'COMPREPLY=(); _axion; ' * times} printf '%s\\n' \"${{COMPREPLY[@]}}\"")
            done = subprocess.run(["bash", "-c", program], capture_output=True, text=True, timeout=PATIENCE_SECONDS, cwd=folder,
                                  env={**os.environ, "PATH": f"{folder}:{os.environ['PATH']}", "AXION_PYTHON": sys.executable})
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return set(done.stdout.split())

    @unittest.skipUnless(shutil.which("bash"), "bash is not installed")
    def test_bash_offers_every_flag_of_every_verb(self):
        for verb in verbs():
            with self.subTest(verb=verb):
                self.assertEqual({word.rstrip("=") for word in self.completed(verb, "--")} - {"--help"}, flags_of_help(verb))
        self.assertEqual(self.completed("rend", times=2), {"render"})
        self.assertEqual(self.completed("train", "--rollout"), {"--rollout_steps="})

    @unittest.skipUnless(shutil.which("fish"), "fish is not installed")
    def test_fish_offers_every_flag_of_the_verbs_of_python(self):
        with tempfile.TemporaryDirectory() as folder:
            (pathlib.Path(folder) / "axion").symlink_to(pathlib.Path(AXIOND).with_name("axion"))
            for verb in ("view", "render", "train", "play", "run"):
                done = subprocess.run(["fish", "-c", f"axion completion fish | source; complete -C 'axion {verb} --'"], capture_output=True,
                                      text=True, timeout=PATIENCE_SECONDS, env={**os.environ, "PATH": f"{folder}:{os.environ['PATH']}",
                                                                   "AXION_PYTHON": sys.executable})
                offered = {line.split("\t")[0].rstrip("=") for line in done.stdout.splitlines()}
                self.assertEqual(offered - {"--help"}, flags_of_help(verb), verb)

    def test_flags_may_stand_before_every_verb(self):
        for verb, firsts in (("view", 1), ("info", 2)):
            for first in (["--tls", "--server", "127.0.0.1:1"], ["--server=127.0.0.1:1"])[:firsts]:
                with self.subTest(verb=verb, first=first):
                    self.assertEqual(tool(*first, verb, "--help"), (0, help_of(verb), ""))
        code, _, error = tool("--server", "127.0.0.1:1", "--json", "render", "batches/1", "--out=/tmp/never.png", "--worlds=0")
        self.assertNotEqual(code, 0)
        self.assertNotIn("first on the command line", error)

    def test_a_flag_that_would_have_no_effect_is_refused(self):
        for words in (["bench", "batches/1", "--seconds=1"], ["info", "--steps=3"], ["state", "batches/1", "--nokeep"],
                      ["step", "batches/1", "--worlds", "4"]):
            with self.subTest(words):
                code, told, error = tool(*words, "--server=127.0.0.1:1")
                self.assertEqual((code, told), (2, ""))
                self.assertRegex(error, f"^axion {words[0]}: --(seconds|steps|keep|worlds) is no flag of {words[0]}")

    def test_what_is_no_verb_has_no_flags(self):
        code, told, error = tool("completion", "flags", "fly")
        self.assertEqual((code, told), (2, ""))
        self.assertIn("'fly'", error)


@unittest.skipUnless(HAS_EXTRAS, "extras are not installed")
class Json(AxiondCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.folder = pathlib.Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        cls.model = cls.client.create_model(path=QUADRUPED)
        cls.batch = cls.client.create_batch(cls.model, 2)

    def good(self):
        """A command line of each verb, with what its JSON has."""
        kept = ["--keep=false", f"--out={self.folder / 'kept.snapshot'}"]
        policy = self.folder / "learned" / "quadruped-1.npz"
        with axion.RunLog(self.batch, self.folder / "run.mcap"):
            self.batch.step(steps=2)
        return {
            "info": ([], "version"), "models": ([], None), "batches": ([self.batch.name], "world_count"),
            "create": ([QUADRUPED, "--worlds=1"], "batch"), "delete": (["models/none"], None),
            "step": ([self.batch.name, "--steps=2", "--outputs=body_pose"], "outputs"),
            "run": ([QUADRUPED, "--seconds=0.05"], "world_steps"), "state": ([self.batch.name], "fields"),
            "reset": ([self.batch.name, "--only=1"], None), "contacts": ([self.batch.name], None), "stats": ([self.batch.name], "batch"),
            "watch": ([self.batch.name, "--count=1", "--interval=10ms"], "world_steps_per_second"),
            "bench": ([self.batch.name, "--calls=3"], "step_once"), "snapshot": (["save", self.batch.name, *kept], None),
            "render": ([self.batch.name, f"--out={self.folder / 'a.png'}", "--width=32", "--height=24"], "file"),
            "replay": ([self.folder / "run.mcap", "--at=1"], "sha256"),
            "train": (["example", "--worlds=4", "--steps=64", "--rollout_steps=8", "--no-pictures", f"--out={policy.parent}"], "policies"),
            "play": ([policy, "--worlds=2", "--seconds=1.2", "--command", 0.5, 0, 0], "commands"),
            "completion": (["bash"], "script"), "token": (["new", "--tenant=red"], "token"),
        }

    def test_every_verb_answers_with_one_document(self):
        lines = self.good()
        self.assertEqual(set(verbs()) - set(lines), {"view", "top", "drain"})  # which have tests of their own
        made = json.loads(tool("create", QUADRUPED, "--worlds=1", "--json", f"--server={self.target}")[1])
        lines["delete"] = ([made["batch"]], "deleted")
        for verb, (words, has) in lines.items():
            with self.subTest(verb=verb):
                code, told, error = tool(verb, *words, "--json", f"--server={self.target}")
                self.assertEqual(code, 0, error)
                document = json.loads(told)
                self.assertNotEqual(document, {})
                if has is not None:
                    self.assertIn(has, document)

    def test_a_page_is_told_by_one_document_and_ends_when_it_is_interrupted(self):
        # SIGINT is ignored by what is started in the background of a shell, and so by what that starts.
        handler = signal.signal(signal.SIGINT, signal.default_int_handler)
        self.addCleanup(signal.signal, signal.SIGINT, handler)
        program = subprocess.Popen([pathlib.Path(AXIOND).with_name("axion"), "view", self.batch.name, "--no-browser", "--json",
                                    f"--server={self.target}"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                   env={**os.environ, "AXION_PYTHON": sys.executable})
        self.addCleanup(program.communicate)
        self.addCleanup(program.kill)
        first = program.stdout.readline()
        program.send_signal(signal.SIGINT)
        rest, error = program.communicate(timeout=PATIENCE_SECONDS)
        self.assertEqual((program.returncode, rest, "Traceback" in error), (0, "", False), error)
        self.assertEqual(json.loads(first)["batch"], self.batch.name)

    def test_ctrl_c_after_the_line_of_a_page_ends_it_even_where_python_drops_exceptions(self):
        program = subprocess.Popen(
            [sys.executable, "-c", INTERRUPTED_IN_A_FINALIZER, "view", self.batch.name, "--no-browser", f"--server={self.target}"],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(program.communicate)
        self.addCleanup(program.kill)
        told, error = program.communicate(timeout=PATIENCE_SECONDS)
        self.assertEqual((program.returncode, error), (0, ""))
        self.assertRegex(told, "is shown at .*; Ctrl-C ends\n$")

    def test_ctrl_c_while_a_verb_is_imported_ends_it_at_once(self):
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run([sys.executable, "-c", INTERRUPTED_IN_AN_IMPORT, folder], capture_output=True, text=True,
                                  timeout=PATIENCE_SECONDS)
        self.assertEqual((done.returncode, done.stderr), (-signal.SIGINT, ""))

    def interrupted(self, *words, when=lambda made: True):
        """Ctrl-C in a command once the batch that it makes is there and as it is to be: exit code, output and error output."""
        handler = signal.signal(signal.SIGINT, signal.default_int_handler)
        self.addCleanup(signal.signal, signal.SIGINT, handler)
        before = {batch.name for batch in self.client.list_batches()}
        program = subprocess.Popen([pathlib.Path(AXIOND).with_name("axion"), *map(str, words), f"--server={self.target}"],
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                   env={**os.environ, "AXION_PYTHON": sys.executable})
        self.addCleanup(program.communicate)
        self.addCleanup(program.kill)
        self.assertTrue(eventually(lambda: any(name not in before for name in (batch.name for batch in self.client.list_batches()))))
        made, = (batch for batch in self.client.list_batches() if batch.name not in before)
        self.assertTrue(eventually(lambda: when(made)))
        program.send_signal(signal.SIGINT)
        told, error = program.communicate(timeout=PATIENCE_SECONDS)
        self.assertEqual({batch.name for batch in self.client.list_batches()}, before)
        return program.returncode, told, error

    def test_what_is_interrupted_takes_its_worlds_along(self):
        for words in (["run", QUADRUPED, "--seconds=100000"], ["bench", QUADRUPED, "--calls=1000000"]):
            code, told, error = self.interrupted(
                *words, when=lambda made, verb=words[0]: verb == "bench" or made.get_state("step_index").step_index[0] > 0)
            self.assertEqual((code, error.splitlines()[-1]), (130, f"axion {words[0]}: interrupted"))
            self.assertEqual(re.sub(r"^.* world-steps of 1 worlds(.*\n){2}", "", told), "")  # of a run, what it has seen until then

    @classmethod
    @functools.cache
    def trained_policy(cls):
        """The file of a policy that was trained for a moment."""
        out = cls.folder / "trained"
        code, _, error = tool("train", "example", "--worlds=4", "--steps=64", "--rollout_steps=8", "--no-pictures", f"--out={out}",
                              f"--server={cls.target}")
        assert code == 0, error
        return out / "quadruped-1.npz"

    def test_a_run_that_is_interrupted_writes_what_was_recorded_until_then(self):
        csv = self.folder / "cut.csv"
        code, told, error = self.interrupted(  # 64 worlds with all their poses: a call has not many records
            "run", QUADRUPED, "--seconds=100000", "--every=0.001", "--worlds=64", "--trace=body_pose:2", f"--csv={csv}",
            when=lambda made: made.get_state("step_index").step_index[0] > 1000)
        self.assertEqual((code, error.splitlines()[-1]), (130, "axion run: interrupted"), error)
        self.assertRegex(told, rf"wrote {csv}\n$")
        lines = csv.read_text().splitlines()
        self.assertEqual(lines[0], "time,world,body_pose:2")
        self.assertGreater(float(lines[-1].split(",")[0]), 0)

    def test_a_movie_of_a_policy_that_is_interrupted_has_what_was_seen_until_then(self):
        policy = self.trained_policy()
        movie = policy.with_name("cut.gif")
        code, told, error = self.interrupted("play", policy, "--seconds=1000", f"--movie={movie}",
                                             when=lambda made: made.get_state("step_index").step_index[0] > 10)
        self.assertEqual((code, error.splitlines()[-1]), (130, "axion play: interrupted"), error)
        self.assertEqual(told, f"Movie: {movie}\n")
        self.assertTrue(movie.read_bytes().startswith(b"GIF8"))

    def test_a_recording_that_is_interrupted_has_what_was_seen_until_then(self):
        for ending, begins in (("gif", b"GIF8"), ("mp4", b"\0\0\0 ftyp"), ("mcap", b"\x89MCAP0")):
            out = self.folder / f"cut.{ending}"
            code, told, error = self.interrupted("render", QUADRUPED, "--seconds=100000", "--width=32", "--height=24", f"--out={out}",
                                                 when=lambda made: made.get_state("step_index").step_index[0] > 20)
            self.assertEqual((code, error.splitlines()[-1]), (130, "axion render: interrupted"), error)
            frames = int(re.search(r"frames: (\d+)$", told).group(1))
            self.assertGreater(frames, 0)
            self.assertTrue(out.read_bytes().startswith(begins))
            if ending != "mcap":
                self.assertLessEqual(len(read_movie(out, 32, 24)), frames)  # frames that look alike are one in a .gif

    def test_a_frame_during_which_ctrl_c_comes_is_written_whole(self):
        handler = signal.signal(signal.SIGINT, signal.default_int_handler)
        self.addCleanup(signal.signal, signal.SIGINT, handler)
        for presses in (1, 2):
            written = []

            def write_frames():
                with counted as frames:
                    for frame in frames:
                        for _ in range(presses if frame == 2 else 0):
                            os.kill(os.getpid(), signal.SIGINT)
                        written.append(frame)

            counted = UntilInterrupt(iter(range(5)))
            with contextlib.nullcontext() if presses == 1 else self.assertRaises(KeyboardInterrupt):
                write_frames()
            self.assertEqual((written, counted.count, counted.is_cut), ([0, 1, 2] if presses == 1 else [0, 1], 3, True))
            self.assertIs(signal.getsignal(signal.SIGINT), signal.default_int_handler)

    def test_frames_end_with_ctrl_c_even_where_python_drops_its_exception(self):
        handler = signal.signal(signal.SIGINT, signal.default_int_handler)
        self.addCleanup(signal.signal, signal.SIGINT, handler)
        dropped = []
        self.addCleanup(setattr, sys, "unraisablehook", sys.unraisablehook)
        sys.unraisablehook = lambda lost: dropped.append(lost.exc_type)

        class Interrupts:
            def __del__(self):
                os.kill(os.getpid(), signal.SIGINT)
                [number for number in range(1000)]  # the interpreter looks for signals between these

        def frames():
            for frame in range(5):
                if frame == 2:
                    Interrupts()
                yield frame

        with UntilInterrupt(frames()) as seen:
            self.assertEqual(list(seen), [0, 1])
        self.assertEqual((dropped, seen.is_cut), ([KeyboardInterrupt], True))

    def test_errors_of_every_verb_are_words_on_the_error_output_alone(self):
        wrong = {"token": ["new"], "completion": ["csh"], "view": ["batches/none"], "render": ["batches/none", "--out=a.png"],
                 "play": [self.folder / "none.npz"], "replay": [self.folder / "none.mcap"], "train": ["Walking-v0"],
                 "snapshot": ["restore", "snapshots/none"], "models": ["models/none"]}
        for verb in verbs():
            with self.subTest(verb=verb):
                code, told, error = tool(verb, *wrong.get(verb, ["batches/none"]), "--json", f"--server={self.target}")
                self.assertIn(code, (1, 2))
                self.assertEqual(told, "")
                self.assertRegex(error, f"^axion {verb}: .+")
                self.assertNotIn("Traceback", error)

    def test_play_writes_several_files_and_one_document(self):
        policy = self.trained_policy()
        out = policy.parent
        code, told, error = tool("play", policy, "--seconds=0.2", f"--movie={out / 'a.gif'}", f"--picture={out / 'a.png'}", "--json",
                                 f"--server={self.target}")
        self.assertEqual(code, 0, error)
        self.assertEqual(json.loads(told), {"movie": str(out / "a.gif"), "picture": str(out / "a.png")})
        (out / "text.npz").write_text("no policy")
        for arguments, code, words in (([out / "text.npz"], 2, "is no policy"), ([policy, "--seconds=0.5"], 2, "seconds: 0.5"),
                                       ([policy, "--worlds=0"], 2, "worlds: 0"), ([policy, "--dt=0.015"], 2, "dt: 0.015")):
            found, _, error = tool_here("play", *arguments, f"--server={self.target}")
            self.assertEqual((found, words in error, "Traceback" in error), (code, True, False), error)


if __name__ == "__main__":
    unittest.main()
